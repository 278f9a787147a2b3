"""Formats derived from chat templates: equal to those written by hand, and right for invented
syntaxes.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from adapters.formats import OutputSpec, TextMarks, Tool, for_own_engine, get_format
from adapters.formats.output_spec import SPACED, JsonRules
from adapters.formats.tags import TagFamily
from app.conversation.derivation import Derivation, NotDerived
from app.conversation.pretrained import pretrained
from app.conversation.template import ChatTemplate, read_template
from engine import Compiled, Compiler, Matcher
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, saved, tokenizer_of
from tests.formats.cases import SPECIALS, STOPS
from tests.formats.harness import walk
from tests.turns import part

WALKS = 1_000 if os.environ.get("EVERY_TEMPLATE") else 12
TRIALS = 1_000 if os.environ.get("EVERY_TEMPLATE") else 8

#: by format: a chat template from which the same format is derived
EQUAL = {
    "apertus": "Apertus-8B-Instruct",
    "apriel": "unsloth-Apriel-1.5",
    "command_a": "Cohere2MoE",
    "command_r7b": "CohereForAI-c4ai-command-r7b-12-2024-tool_use",
    "deepseek_v3": "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",
    "deepseek_v31": "deepseek-ai-DeepSeek-V3.1",
    "deepseek_v32": "deepseek-ai-DeepSeek-V3.2",
    "deepseek_v4": "deepseek-ai-DeepSeek-V4",
    "firefunction_v2": "fireworks-ai-llama-3-firefunction-v2",
    "gemma_4": "google-gemma-4-31B-it",
    "gigachat_3": "GigaChat3-10B-A1.8B",
    "gigachat_31": "GigaChat3.1-10B-A1.8B",
    "glm_45": "GLM-4.6",
    "glm_47": "GLM-4.7-Flash",
    "hermes": "Qwen-Qwen3-0.6B",
    "hunyuan": "tencent-Hy3",
    "kimi_k2": "Kimi-K2-Instruct",
    "kimi_k3": "Kimi-K3",
    "lfm2": "LFM2.5-8B-A1B",
    "llama3_function": "meetkai-functionary-medium-v3.1",
    "minicpm_5": "openbmb-MiniCPM5-1B",
    "minimax_m1": "MiniMax-M1",
    "minimax_m2": "MiniMax-M2",
    "minimax_m3": "MiniMax-M3",
    "mistral_v3": "mistralai-Mistral-Nemo-Instruct-2407",
    "mistral_v11": "Mistral-Small-3.2-24B-Instruct-2506",
    "mistral_v13": "mistralai-Ministral-3-14B-Reasoning-2512",
    "nemotron_v2": "NVIDIA-Nemotron-Nano-v2",
    "qwen_coder": "Qwen3.5-4B",
    "seed_oss": "ByteDance-Seed-OSS",
    "solar": "upstage-Solar-Open-100B",
}

_WORDS = {"type": "string", "pattern": "^[a-z]{1,6}( [a-z]{1,6})?$"}
TOOLS = (
    Tool(
        "look_up",
        {
            "type": "object",
            "properties": {
                "city": _WORDS,
                "count": {"type": "integer", "minimum": -99, "maximum": 99},
                "exact": {"type": "boolean"},
                "names": {"type": "array", "items": _WORDS, "maxItems": 2},
                "place": {
                    "type": "object",
                    "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}},
                    "required": ["x"],
                    "additionalProperties": False,
                },
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    ),
    Tool("now", {"type": "object", "properties": {}, "additionalProperties": False}),
)
#: as prompts show JSON
_RULES = JsonRules(layout=SPACED, element_space=True)
OUTPUTS = {
    "required": OutputSpec(TOOLS, "required", json_rules=_RULES),
    "auto": OutputSpec(TOOLS, "auto", json_rules=_RULES),
    "one": OutputSpec(TOOLS, "named", "look_up", parallel_tool_calls=False, json_rules=_RULES),
}


def derivation_of(name: str) -> Derivation:
    """The derivation from the template of a format, with the special tokens of its models."""
    tokenizer = tokenizer_of(EQUAL[name])
    assert isinstance(tokenizer._template, ChatTemplate)
    special = {*tokenizer.special_texts, *SPECIALS[name]}
    return Derivation(tokenizer._template, special, STOPS[name])


def accepts(grammar: Compiled, ids: Sequence[int], *, whole: bool) -> bool:
    matcher = Matcher(grammar)
    taken = all(map(matcher.accept_token, ids))
    return taken and (not whole or matcher.can_stop() or matcher.is_terminated())


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize(("name", "output"), part([*product(EQUAL, OUTPUTS)]))
def test_the_derived_grammar_is_that_of_the_written_format(name: str, output: str) -> None:
    """Each answer drawn from one of the grammars is one of the other's, too."""
    tokenizer = tokenizer_of(EQUAL[name])
    family = derivation_of(name).family
    written = get_format(name)
    assert isinstance(written, TagFamily)
    # thoughts are looked for apart, and names of stop tokens are no part of the grammar
    pair = [replace(each, thinking=None) for each in (family, written)]
    compiler = Compiler(tokenizer.vocabulary)
    grammars = [
        compiler.compile_structural_tag(
            for_own_engine(each.plan(OUTPUTS[output], tokenizer.special_texts)).spec_json
        )
        for each in pair
    ]
    ends = np.array(
        [
            n
            for n, token in enumerate(tokenizer.vocabulary.tokens)
            if token in (b'"', b"}", b"]", b"<")
        ]
    )
    for drawn, other in (grammars, grammars[::-1]):
        for seed in range(WALKS):
            ids = walk(drawn, Random(f"{name} {seed}"), ends, patience=60, limit=300)
            whole = len(ids) < 300
            assert accepts(other, ids, whole=whole), b"".join(
                tokenizer.vocabulary.tokens[each] for each in ids
            )


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", EQUAL)
def test_the_template_passes_the_trial(name: str) -> None:
    derivation_of(name).tried(TRIALS, name)


# -- invented syntaxes -----------------------------------------------------------------------------

#: texts around an answer in a prompt
FRAMES = {
    "chatml": ("<|im_start|>{role}\n", "<|im_end|>\n"),
    "tokens": ("<|{role}|>", "<|eot|>"),
    "words": ("### {role}:\n", "\n\n"),
    "next": ("<|{role}|>\n", ""),
}
#: how calls are written: before all, before each, between name and arguments, behind each, between
#: two, behind all
CALLS = {
    "json in a tag": ("", '<call>{"tool": "', '", "input": ', "}</call>", "\n", ""),
    "json list": ("<|calls|>[", '{"name": "', '", "args": ', "}", ", ", "]<|/calls|>"),
    "json key": ("<use>", '{"', '": ', "}", ";", "</use>"),
    "lines": ("<tools>\n", "call ", " with ", "\n", "", "</tools>"),
    "name in a tag": ("", "<invoke:", ">", "</invoke>", "", ""),
    "name behind an id": (
        "<|begin|>",
        "<|call|>{id}<|name|>",
        "<|args|>",
        "<|end|>",
        "",
        "<|done|>",
    ),
    "numbers": ("<|begin|>", "<|call {number}|>", "<|args|>", "<|end|>", "", "<|done|>"),
    "id at the end": ("[CALLS][", '{"name": "', '", "arguments": ', ', "id": "{id}"}', ", ", "]"),
    "text alone": ("", "CALL ", " ", "", "\n", ""),
}
ARGUMENTS = {
    "json": "{{ call.arguments | tojson }}",
    "elements": (
        '{% for key, value in call.arguments.items() %}<arg name="{{ key }}">'
        "{{ value if value is string else value | tojson }}</arg>\n{% endfor %}"
    ),
    "key elements": (
        "{% for key, value in call.arguments.items() %}<{{ key }}>"
        "{{ value if value is string else value | tojson }}</{{ key }}>{% endfor %}"
    ),
    "pairs": (
        "{% for key, value in call.arguments.items() %}<k>{{ key }}</k><v>"
        "{{ value if value is string else value | tojson }}</v>\n{% endfor %}"
    ),
    "typed": (
        '{% for key, value in call.arguments.items() %}<p k="{{ key }}" s='
        "{{ '1' if value is string else '0' }}>"
        "{{ value if value is string else value | tojson }}</p>{% endfor %}"
    ),
    "python": (
        "({% for key, value in call.arguments.items() %}{{ ', ' if not loop.first }}{{ key }}="
        "{{ value | tojson if value is string else value }}{% endfor %})"
    ),
}


def template_of(frame: tuple[str, str], calls: tuple[str, ...], arguments: str) -> str:
    """Return a chat template that writes calls in this syntax."""
    begin, end = frame
    before, first, middle, last, between, behind = calls
    role = "{{ m.role }}"
    written = (
        f"{before}{{% for each in m.tool_calls %}}{{% set call = each.function %}}"
        f"{{{{ {between!r} if not loop.first }}}}"
        + first.replace("{id}", "{{ each.id }}").replace("{number}", "{{ loop.index0 }}")
        + "{{ call.name }}"
        + middle
        + arguments
        + last.replace("{id}", "{{ each.id }}")
        + "{% endfor %}"
        + behind
    )
    return (
        "{% if tools %}{{ tools | tojson }}\n{% endif %}{% for m in messages %}"
        + begin.replace("{role}", role)
        + "{{ m.content or '' }}{% if m.tool_calls %}"
        + written
        + "{% endif %}"
        + end
        + "{% endfor %}"
        + begin.replace("{role}", "assistant")
    )


def template(tmp_path: Path, source: str) -> tuple[ChatTemplate, Sequence[str]]:
    """A template, and the special tokens of its tokenizer."""
    tokenizer = pretrained(saved(source, str(tmp_path)))
    made, _ = read_template(tokenizer)
    assert made is not None
    return made, [*tokenizer.get_added_vocab()]


@pytest.mark.parametrize(
    ("frame", "calls", "arguments"), part([*product(FRAMES, CALLS, ARGUMENTS)])
)
def test_an_invented_syntax(frame: str, calls: str, arguments: str, tmp_path: Path) -> None:
    source = template_of(FRAMES[frame], CALLS[calls], ARGUMENTS[arguments])
    derived = Derivation(*template(tmp_path, source), ()).tried(TRIALS, f"{frame} {calls}")
    assert derived.notes == () or arguments == "python"


_CONTENT = "{{ m.content or '' }}"
_CHAT = template_of(FRAMES["chatml"], CALLS["json in a tag"], ARGUMENTS["json"])
_ONE_CALL = ("m.tool_calls %}{% set call", "m.tool_calls[:1] %}{% set call")
_COUNTED = "{% set ns = namespace(n=0) %}"
_IN_ANSWERS = "{% if m.role == 'assistant' %}"


def _marked(begin: str) -> str:
    """A template of calls of JSON in a tag, with another begin of each."""
    calls = ("", f'{begin}{{"tool": "', *CALLS["json in a tag"][2:])
    return template_of(FRAMES["chatml"], calls, ARGUMENTS["json"])


#: templates, and fields of the family derived from each
REGRESSION = {
    "tools behind all messages": (
        _CHAT.removesuffix("<|im_start|>assistant\n").replace("{{ tools | tojson }}", "")
        + "{{ tools | tojson if tools }}<|im_start|>assistant\n",
        {"begin": '<call>{"tool": "{name}", "input": ', "text": None},
    ),
    "results in the turn of calls": (
        _CHAT.replace("<|im_end|>\n{% endfor", "{{ '<|im_end|>' if not m.tool_calls }}\n{% endfor"),
        {"end": "}</call>", "separator": "\n"},
    ),
    "calls begin like results": (
        template_of(
            ("<|{role}|>", ""), ("", '<|tool|>{"tool": "', '", "input": ', "}", "", ""), "{}"
        ).replace("{}", ARGUMENTS["json"]),
        {"begin": '<|tool|>{"tool": "{name}", "input": ', "stop_texts": ()},
    ),
    "a number in the first mark": (
        _COUNTED + _marked("<call {{ ns.n }}>{% set ns.n = ns.n + 1 %}"),
        {"begin": '<call {id}>{"tool": "{name}", "input": ', "trigger": "<call "},
    ),
    "marks of content behind a line feed": (
        _CHAT.replace(
            _CONTENT,
            _IN_ANSWERS + "<text>{{ m.content }}</text>{% else %}{{ m.content }}{% endif %}",
        ),
        {"text": TextMarks(begin="<text>", end="</text>", is_beside_calls=True)},
    ),
    "tools without a description are refused": (
        _CHAT.replace(
            "{{ tools | tojson }}",
            "{% for t in tools %}{{ t.function.description + '.' }}"
            "{% for p in t.function.parameters.properties.values() %}{{ p.description + '.' }}"
            "{% endfor %}{% endfor %}",
        ),
        {"begin": '<call>{"tool": "{name}", "input": '},
    ),
}


@pytest.mark.parametrize("case", REGRESSION)
def test_the_fields_of_a_derived_family(case: str, tmp_path: Path) -> None:
    source, fields = REGRESSION[case]
    derived = Derivation(*template(tmp_path, source), ()).tried(TRIALS)
    assert {name: getattr(derived.family, name) for name in fields} == fields


#: templates from which nothing is derived, and why
NOT_DERIVED = {
    "no calls": (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|e|>{% endfor %}<|assistant|>",
        "shows no calls",
    ),
    "no names": (_CHAT.replace("{{ call.name }}", "a tool"), "shows no calls"),
    "JSON in a string": (
        _CHAT.replace("arguments | tojson", "arguments | tojson | tojson"),
        "neither JSON nor elements",
    ),
    "a name twice": (_CHAT.replace("{{ call.name }}", "{{ call.name }}/{{ call.name }}"), "twice"),
    "other letters": (_CHAT.replace("tojson }}", "tojson | upper }}"), "shows no calls"),
    "half of the values": (
        _CHAT.replace("{{ call.arguments | tojson }}", "{{ (call.arguments | tojson)[:40] }}"),
        "no known notation",
    ),
    "only short values": (
        _CHAT.replace("{{ call.arguments | tojson }}", "{{ (call.arguments | tojson)[:60] }}"),
        "the family reads",
    ),
    "a part of an id": (
        _marked("<call>{{ each.id[:9] }} ").replace(*_ONE_CALL),
        "the family reads",
    ),
    "a number of one call": (
        _COUNTED + _marked("<call {{ ns.n }}>{% set ns.n = ns.n + 1 %}").replace(*_ONE_CALL),
        "the family reads",
    ),
    "a number of answers": (
        _COUNTED
        + _marked("<call {{ ns.n }}>").replace(
            "{% if m.tool_calls %}", "{% if m.tool_calls %}{% set ns.n = ns.n + 1 %}"
        ),
        "the family reads",
    ),
    "a text in place of content": (
        _CHAT.replace(_CONTENT, "{{ m.content or 'I call a tool.' }}"),
        "the family reads 'wordsaid",
    ),
    "empty thoughts between unknown marks": (
        _CHAT.replace(_CONTENT, _IN_ANSWERS + "<ponder></ponder>{% endif %}" + _CONTENT),
        "the family reads '<ponder>",
    ),
    "calls that begin with a name": (
        template_of(FRAMES["chatml"], ("", "", " ", "", "\n", ""), ARGUMENTS["json"]),
        "nothing but a name",
    ),
    "texts like calls": (
        _CHAT.replace(
            _CONTENT,
            "{% if m.content and m.role == 'assistant' %}<call>{{ m.content }}</call>"
            "{% else %}{{ m.content }}{% endif %}",
        ),
        "begin with the same marks",
    ),
    "thoughts like calls": (
        _CHAT.replace(
            _CONTENT,
            "{{ '<call>' ~ m.reasoning_content ~ '</call>' if m.reasoning_content }}" + _CONTENT,
        ),
        "thoughts begin with the same marks",
    ),
    "a long call": (_marked("<call>{{ 'ab ' * 10000 }}"), "more than 20000 characters"),
    "long texts between turns": (
        _CHAT.replace("<|im_end|>", "{{ 'ab<a>\n' * 100000 }}<|im_end|>"),
        "more than 2000 characters",
    ),
    "no answers": (
        "{% for m in messages if m.role != 'tool' %}"
        "{{ raise_exception('no') if m.role == 'assistant' }}{{ m.content }}{% endfor %}",
        "refuses a conversation: no",
    ),
}


@pytest.mark.parametrize("case", NOT_DERIVED)
def test_what_is_not_derived(case: str, tmp_path: Path) -> None:
    source, reason = NOT_DERIVED[case]
    with pytest.raises(NotDerived, match=reason):
        Derivation(*template(tmp_path, source), ()).tried(TRIALS)


#: templates with thoughts: the text before an answer, and the marks of thoughts; None: unknown
THOUGHTS = {
    "tags": ("<muse>\n{{ m.reasoning_content }}\n</muse>\n", ("<muse>", "</muse>")),
    "tokens": ("<|mull|>{{ m.thinking }}<|/mull|>", ("<|mull|>", "<|/mull|>")),
    "upper case": ("<muse>{{ m.reasoning_content | upper }}</muse>", None),
    "the marks of a turn": ("<|im_end|>{{ m.reasoning_content }}<|im_end|>", None),
    "one mark": ("{{ m.reasoning_content }}</muse>", None),
}


@pytest.mark.parametrize("case", THOUGHTS)
def test_marks_of_thoughts_are_tried(case: str, tmp_path: Path) -> None:
    written, marks = THOUGHTS[case]
    name = "thinking" if "thinking" in written else "reasoning_content"
    shown = f"{{% if m.{name} %}}{written}{{% endif %}}{{{{ m.content or '' }}}}"
    source = _CHAT.replace("{{ m.content or '' }}", shown)
    try:
        thinking = Derivation(*template(tmp_path, source), ("<|im_end|>",)).tried(4).family.thinking
    except NotDerived:
        assert marks is None
        return
    assert (thinking and (thinking.begin, thinking.end)) == marks


def test_a_fence_of_code_opens_calls_with_a_name_only(tmp_path: Path) -> None:
    calls = ("```json\n[", '{"name": "', '", "arguments": ', "}", ", ", "]\n```")
    source = template_of(FRAMES["chatml"], calls, ARGUMENTS["json"])
    section = Derivation(*template(tmp_path, source), ()).tried(4).family.section
    assert section is not None
    assert section.trigger == '```json\n[{"name": "{name}"'
