"""A response template gives the family whose calls the chat template renders, or a reason."""

import copy
import json
import re
from functools import cache
from pathlib import Path
from random import Random
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from adapters.formats import (
    Elements,
    OutputSpec,
    PastCall,
    TagFamily,
    ThinkingMarks,
    for_own_engine,
    get_format,
)
from app.conversation.detection import _loops, _rendered
from app.conversation.made_family import MadeFamily
from app.conversation.pretrained import pretrained
from app.conversation.profile import TemplateError, profile_of
from app.conversation.response_templates import (
    UnusableTemplate,
    family_of,
    response_template_of,
    thinking_of,
)
from app.conversation.template import read_template
from engine import Compiler, Style, Vocabulary
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, saved, tokenizer_of
from tests.formats.cases import F, G
from tests.formats.harness import is_accepted, read
from tests.turns import part

from .response_templates import CALLS, CASES, FUNCTION, NAMED, Case, calls, template

SMOLLM = CASES["smollm"].template


def family(fields: Any, **more: Any) -> MadeFamily:
    return family_of(template(fields), **more)


def read_answer(wire: TagFamily, case: Case, text: str, choice: str) -> list[Any] | None:
    """Return the calls of an answer; None: the grammar refuses it."""
    plan = for_own_engine(wire.plan(OutputSpec((F, G), tool_choice=choice), case.specials))
    tokens = [*(bytes([byte]) for byte in range(256)), *(s.encode() for s in case.specials)]
    special = range(256, len(tokens))
    vocabulary = Vocabulary(tokens, stop_token_ids=special[-1:], special_token_ids=special)
    grammar = Compiler(vocabulary).compile_structural_tag(plan.spec_json)
    marks = "|".join(map(re.escape, case.specials))
    ids = [
        256 + case.specials.index(piece) if piece in case.specials else byte
        for piece in re.split(f"({marks})", text)
        for byte in ([0] if piece in case.specials else piece.encode())
    ]
    if not is_accepted(grammar, ids):
        return None
    return [(name, json.loads(arguments)) for name, arguments in read(plan, grammar, ids).calls]


# -- families --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("choice", ["required", "auto"])
def test_an_answer_as_models_write_it_is_accepted_and_read(name: str, choice: str) -> None:
    case = CASES[name]
    assert read_answer(case.family, case, case.answer, choice) == [("f", {"city": "Oslo"})]


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.rendered])
def test_the_family_writes_the_rendered_calls(name: str) -> None:
    """White space is that of the chat template, not only the marks."""
    case = CASES[name]
    wire = case.family
    assert wire.calls_text(CALLS if wire.is_parallel else CALLS[:1]) in case.rendered


@pytest.mark.parametrize("name", CASES)
def test_without_a_rendered_call_a_note_says_that_white_space_is_a_guess(name: str) -> None:
    case = CASES[name]
    found = family_of(case.template, stops=case.stops)
    assert "fields.tool_calls: the white space in calls is a guess" in found.notes
    for choice in ("required", "auto"):
        text = found.family.calls_text([PastCall("abcd", "f", '{"city": "Oslo"}')])
        assert read_answer(found.family, case, text, choice) == [("f", {"city": "Oslo"})]


#: families by hand whose syntax the response template describes
_BY_HAND = {
    "smollm": ("hermes",),
    "qwen serve": ("hermes",),
    "qwen trl": ("hermes",),
    "ernie": ("hermes",),
    "qwen coder": ("qwen_coder",),
    "qwen 3.5 serve": ("qwen_coder",),
    "glm trl": ("glm_45", "glm_47"),
    "lfm2": ("lfm2",),
    "gemma": ("gemma_4",),
    "mistral": ("mistral_v13",),
    "json id": ("mistral_v3",),
    "llama trl": ("llama3_json",),
}
_TEXTS = ("begin", "end", "section", "arguments")


def fitted(case: Case, name: str) -> TagFamily | None:
    """Return the family for a real chat template; None: it renders another call, or none."""
    chat = tokenizer_of(name)._template
    assert chat is not None
    for loop, past in _loops():
        try:
            shown = _rendered(chat, loop)
            if shown:
                stops = case.stops
                return family_of(case.template, stops=stops, rendered=shown, calls=past).family
        except (TemplateError, UnusableTemplate):
            continue
    return None


#: models whose calls differ from those of a format by hand in white space alone, or in what ends an
#: answer
_ALIKE = {
    "axolotl-llama4": "llama3_json",
    "Reka-Edge": "hermes",
    "StepFun3.5-Flash": "qwen_coder",
    "axolotl-exaone4": "hermes",
    "inclusionai-ling-3.0-flash": "glm_45",
}
#: models that write nothing between two elements, which a call with one does not show
_UNSEEN_SPACE = {"inclusionai-ling-3.0-flash"}


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", part(TEMPLATES))
def test_with_a_real_chat_template_the_family_is_the_one_by_hand(name: str) -> None:
    """Every response template fits the models of its syntax, with their white space, and no
    other.
    """
    evidence = tokenizer_of(name).evidence
    by_hand = _ALIKE.get(name, evidence.format)
    wire = evidence.family or get_format(by_hand)
    for case_name, case in CASES.items():
        found = fitted(case, name)
        is_shown = evidence.basis in ("call", "derived")
        is_one = is_shown and by_hand in _BY_HAND.get(case_name, ())
        assert (found is not None) == is_one, case_name
        if found is not None:
            same = [getattr(found, t) == getattr(wire, t) for t in _TEXTS]
            assert all(same) == (name not in _UNSEEN_SPACE)


#: the chat template of the model in the documentation, whose calls no format writes
_CHAT = (
    "{% for tool in tools or [] %}<|tools|>{{ tool | tojson }}\n{% endfor %}"
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ '\\n' if not loop.first }}<|tool|>{{ c.function.name }}\n"
    "{% for key, value in c.function.arguments.items() %}"
    '<arg name="{{ key }}">{{ value if value is string else value | tojson }}</arg>\n{% endfor %}'
    "<|/tool|>{% endfor %}<|end|>{% endfor %}<|bot|>"
)


def _documented() -> tuple[str, Any]:
    """Return the section of the documentation, and its response template."""
    text = (Path(__file__).parents[4] / "docs" / "formats.md").read_text("utf-8")
    section = text.partition("## Response templates")[2].partition("\n## ")[0]
    return section, json.loads(section.partition("```json\n")[2].partition("```")[0])


def test_the_profile_of_a_chat_template_has_the_derived_syntax(tmp_path: Path) -> None:
    """Prompts show past calls as the grammar has them, and also those that are written as text."""
    chat, _ = read_template(pretrained(saved(_CHAT, str(tmp_path / "model"))))
    assert chat is not None
    loop, past = next(_loops())
    shown = _rendered(chat, loop)
    assert shown is not None
    wire = family_of(_documented()[1], rendered=shown, calls=past).family
    assert wire.calls_text(past) in shown
    profile = profile_of(chat, wire.as_text)
    assert (profile.call_syntax, profile.call_space) == ("format", "format")
    assert profile.parallel_calls and profile.tools and profile.calls
    assert profile_of(chat, get_format("hermes").as_text).call_syntax == "other"


def test_the_example_in_the_documentation() -> None:
    section, example = _documented()
    shown = dedent(section.partition("was trained on:\n\n")[2].partition("\n\n")[0])
    found = family_of(example, rendered=shown, calls=CALLS[:1])
    wire = found.family
    assert not found.notes
    assert (wire.begin, wire.end, wire.trigger) == ("<|tool|>{name}\n", "<|/tool|>", "<|tool|>")
    assert wire.arguments == Elements(Style('<arg name="{key}">', "</arg>"), after="\n")
    assert wire.stop_texts == ("<|end|>",)
    assert wire.calls_text(CALLS[:1]) == shown


# -- reasons and notes -----------------------------------------------------------------------------

_OPEN = {"open": "<call>", "close": "</call>"}
_XML = {"content": "xml-inline", "transform": NAMED, "open_pattern": "<call (?P<name>.+?)>"}
#: a field of calls, and the reason for which it has no family
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no begin": ({"content": "json"}, "open: missing, or without text"),
    "a begin of white space": ({"open": " \n"}, "open: does not begin with fixed text"),
    "a begin without width": ({"open_pattern": "^|$"}, "open: missing, or without text"),
    "free text in the begin": (
        {"open_pattern": r"(?:<\|message_model\|>)?[^<]*<\|tool\|>"},
        "open: does not begin with fixed text",
    ),
    "free text behind the begin": (
        {"open_pattern": r"to=(?P<name>\w+).*?<\|message\|>", "transform": NAMED},
        "open_pattern: has text that is neither fixed nor the name or the id",
    ),
    "an unused group": (
        {"open_pattern": r"<(?P<kind>\w+) (?P<name>\w+)>", "transform": NAMED},
        "open_pattern: has text that is neither fixed nor the name or the id",
    ),
    "no such group": ({**_OPEN, "transform": NAMED}, "transform: names {name}, which the open"),
    "a group at the end": (
        {"open": "<call>", "close_pattern": r"</(?P<name>\w+)>", "transform": NAMED},
        "close_pattern: has text that is not fixed",
    ),
    "both": ({**_OPEN, "open_pattern": "<call>"}, "open: excludes open_pattern"),
    "no transform": ({**_OPEN, "transform": None}, "transform: must be an object with the key"),
    "no name": (
        {**_OPEN, "transform": {"function": {"arguments": "{content}"}}},
        "transform: None is no placeholder",
    ),
    "the content as name": (
        {**_OPEN, "transform": {"function": {"name": "{content}", "arguments": "{content.a}"}}},
        "transform: takes the name out of the whole content",
    ),
    "the name in the arguments": (
        {**_OPEN, "transform": {"function": {"name": "{content.n}", "arguments": "{content}"}}},
        "transform: takes the name out of the arguments",
    ),
    "one member for both": (
        {**_OPEN, "transform": {"function": {"name": "{content.a}", "arguments": "{content.a.b}"}}},
        "transform: takes two values out of one",
    ),
    "another key": (
        {**_OPEN, "transform": {"function": "{content}", "extra": 1}},
        "transform: has keys besides",
    ),
    "text in the placeholder": (
        {**_OPEN, "transform": {"function": {"name": "f_{content.a}", "arguments": "{content.b}"}}},
        "transform: 'f_{content.a}' is no placeholder",
    ),
    "numbers": ({**_OPEN, "content": "int"}, "content: 'int' is no notation of arguments"),
    "an unknown option": (
        {**_OPEN, "content_args": {"prefix": "{"}},
        "content_args.prefix: unknown",
    ),
    "an unknown key": ({**_OPEN, "closes": "x"}, "closes: unknown"),
    "bare keys alone": ({**_OPEN, "content_args": {"unquoted_keys": True}}, "content_args: string"),
    "marked strings alone": (
        {**_OPEN, "content_args": {"string_delims": [["<s>", "<s>"]]}},
        "content_args: string_delims need unquoted_keys",
    ),
    "marked strings with two marks": (
        {**_OPEN, "content_args": {"unquoted_keys": True, "string_delims": [["<s>", "</s>"]]}},
        "content_args: string_delims must be one mark, twice",
    ),
    "elements without a pattern": (
        {**_XML},
        "content_args.tag_pattern: must be a string, got None",
    ),
    "elements without a value": (
        {**_XML, "content_args": {"tag_pattern": "<(?P<key>.+?)>"}},
        "content_args.tag_pattern: is no fixed text around a group 'key'",
    ),
    "elements with a closed set of values": (
        {**_XML, "content_args": {"tag_pattern": "<(?P<key>.+?)>(?P<value>[a-z]*)</>"}},
        "content_args.tag_pattern: is no fixed text around a group 'key'",
    ),
    "Python's values in elements": (
        {
            **_XML,
            "content_args": {
                "tag_pattern": "<(?P<key>.+?)>(?P<value>.*?)</>",
                "value_parser": {"name": "json", "args": {"string_delims": [["'", "'"]]}},
            },
        },
        "content_args.value_parser: must allow text that is no JSON",
    ),
    "a placeholder in a mark": ({"open": "<call {name}>"}, "its marks contain one of"),
    "a list of other calls": (
        {
            **_OPEN,
            "content": "python-call-list",
            "transform_each": True,
            "transform": {"function": {"name": "{tool}", "arguments": "{arguments}"}},
        },
        "transform: must take {name} and {arguments} of each call",
    ),
    "a flag": ({**_OPEN, "repeats": "yes"}, "repeats: must be true or false, got 'yes'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_without_a_grammar_is_refused_with_a_reason(name: str) -> None:
    fields, why = REFUSED[name]
    with pytest.raises(UnusableTemplate) as caught:
        family({"tool_calls": {"content": "json", "transform": FUNCTION, **fields}})
    assert str(caught.value).startswith("fields.tool_calls")
    assert why in str(caught.value)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "must be an object, got None"),
        ("{}", "must be an object, got '{}'"),
        ([], "must be an object, got list"),
        ({}, "fields: must be an object of 1 to 32 fields"),
        ({"fields": []}, "fields: must be an object of 1 to 32 fields"),
        ({"fields": {"x": {}}, "version": 2}, "version: must be 1, got 2"),
        ({"fields": {"x": {}}, "version": True}, "version: must be 1, got True"),
        ({"fields": {"x": 1}}, "fields.x: must be an object, got 1"),
        ({"fields": {"x": {}}, "x-regex": ""}, "x-regex: unknown"),
        ({"fields": {"content": {}}}, "fields.tool_calls: missing, so the syntax of calls is"),
        ({"fields": {f"f{n}": {} for n in range(33)}}, "fields: must be an object of 1 to 32"),
    ],
)
def test_a_template_of_another_form_is_refused(value: Any, why: str) -> None:
    with pytest.raises(UnusableTemplate, match=re.escape(why)):
        family_of(value)


def test_the_old_response_schema_is_refused() -> None:
    """It has regular expressions for the whole answer, in a JSON Schema."""
    schema = {"x-regex": "<tool_call>(?P<calls>.*)", "type": "object", "properties": {}}
    with pytest.raises(UnusableTemplate, match=r"(x-regex|type|properties): unknown"):
        family_of(schema)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.rendered])
def test_a_chat_template_that_renders_another_call_decides(name: str) -> None:
    other = '<fn>{"fn": "wordtool", "args": {"city": "wordargument0"}}</fn>'
    with pytest.raises(UnusableTemplate, match="the chat template renders another call"):
        family_of(CASES[name].template, stops=CASES[name].stops, rendered=other, calls=CALLS)


def test_a_member_that_the_template_does_not_name_is_another_call() -> None:
    """Cohere's calls begin with their number, which its response template leaves out."""
    shown = '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "wordtool", "parameters": '
    shown += '{"city": "wordargument0"}}\n]<|END_ACTION|>'
    with pytest.raises(UnusableTemplate, match="the chat template renders another call"):
        family_of(CASES["list"].template, rendered=shown, calls=CALLS[:1])


def test_arguments_as_text_are_json_with_a_note() -> None:
    field = calls(open_pattern="<f (?P<name>.+?)>", close="</f>", content="text", transform=NAMED)
    found = family({"tool_calls": field, "content": {}})
    assert (found.family.begin, found.family.end) == ("<f {name}>", "</f>")
    assert "fields.tool_calls: arguments are text to transformers; here they are JSON" in (
        found.notes
    )


def test_other_fields_and_thoughts_without_marks_are_named() -> None:
    fields = dict(SMOLLM["fields"], citations={"open": "<co>", "close": "</co>"})
    fields["thinking"] = {"open_pattern": "(?=.*?</think>)", "close": "</think>"}
    found = family(fields)
    assert found.family.thinking is None
    assert found.notes[:1] == ("fields.thinking: thoughts without a text before and behind them",)
    assert "fields.citations: its text is content" in found.notes


def test_notes_name_what_the_grammar_does_not_have() -> None:
    fields = copy.deepcopy(SMOLLM["fields"])
    fields["thinking"] |= {"close": ["</think>", "<answer>"], "repeats": True, "join": ""}
    fields["tool_calls"] |= {"open": ["<tool_call>", "<call>"], "optional": False}
    fields["content"] = {"close": ["<|im_end|>", "<|end|>"]}
    found = family(fields, rendered=CASES["smollm"].rendered, calls=CALLS)
    assert found.notes == (
        "fields.thinking.close: one of 2 texts is written",
        "fields.thinking: is written once",
        "fields.tool_calls.open: one of 2 texts is written",
        "fields.tool_calls: answers need not have it",
    )
    assert found.family.stop_texts == ("<|im_end|>", "<|end|>")


def test_a_field_that_does_not_repeat_is_one_call() -> None:
    fields = copy.deepcopy(SMOLLM["fields"])
    del fields["tool_calls"]["repeats"]
    assert not family(fields).family.is_parallel
    assert family(SMOLLM["fields"]).family.is_parallel
    # a region without an end runs to the end of the answer
    open_end = {"tool_calls": calls(open="<tool_call>"), "content": {}}
    assert not family(open_end).family.is_parallel


def test_a_text_that_answers_contain_opens_a_call_only_with_a_name() -> None:
    wire = CASES["llama trl"].family
    assert wire.triggers(["f", "g"]) == ['{"name": "f"', '{"name": "g"']
    assert CASES["smollm"].family.triggers(["f", "g"]) == ["<tool_call>"]
    assert CASES["beam"].family.triggers(["f"]) == [" to=f<"]


# -- thoughts --------------------------------------------------------------------------------------


def test_the_marks_of_thoughts() -> None:
    marks = {"open": "<th>", "close": ["</th>", "</thoughts>"]}
    fields = {"reasoning": marks, "content": {}}
    wide = ThinkingMarks(begin="<th>", end="</th>", inner_newlines=1, outer_newlines=2)
    assert thinking_of(template(fields)) == wide
    fields["reasoning"] = {**marks, "content_args": {"strip": False}}
    assert thinking_of(template(fields)) == ThinkingMarks(begin="<th>", end="</th>")
    assert thinking_of(template({"content": {}})) is None


# -- hostile templates -----------------------------------------------------------------------------


def _deep(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


_HOSTILE = (
    *(None, True, 0, -1, 10**5000, 1.5, float("nan"), "", " ", "\ud800", "{name}", "a" * 100_000),
    *([], {}, [[]], [""], ["a"] * 1000, {"a": {}}, _deep(5000), "(" * 1000, "(?:" * 500, "(a+)+$"),
    *("[", "a{1000000000}", "(?P<name>", "x|" * 500, "(a|b)" * 50, "\\", "(?i)a", "(?<!a)b", ".*"),
    *("{content." * 100, "{content}", "json", "xml-inline", "kv-lines", "python-call-list", "text"),
)


def _changed(value: Any, chance: Random) -> Any:
    """Return a template with one part in another form, or without it."""
    if not isinstance(value, dict) or not value or chance.random() < 0.15:
        return chance.choice(_HOSTILE)
    key = chance.choice([*value])
    if chance.random() < 0.1:
        return {k: v for k, v in value.items() if k != key}
    if chance.random() < 0.1:
        return {**value, chance.choice([*value, "open", "close_pattern", "x"]): value[key]}
    return {**value, key: _changed(value[key], chance)}


@cache
def _compiler() -> Compiler:
    tokens = [*(bytes([byte]) for byte in range(256)), b"<e>"]
    return Compiler(Vocabulary(tokens, stop_token_ids=[256], special_token_ids=[256]))


def _outcome(value: Any, case: Case, rendered: str) -> TagFamily | str:
    """Return the family, or the reason against one."""
    try:
        return family_of(value, stops=case.stops, rendered=rendered, calls=CALLS).family
    except UnusableTemplate as error:
        return str(error)


@pytest.mark.parametrize("name", CASES)
def test_any_template_gives_a_family_or_a_short_reason(name: str) -> None:
    case, chance = CASES[name], Random(name)
    for _ in range(300):
        value = case.template
        for _ in range(chance.randint(1, 3)):
            value = _changed(value, chance)
        for rendered in ("", case.rendered):
            found = _outcome(value, case, rendered)
            if isinstance(found, str):
                assert len(found) < 300
            else:
                spec = for_own_engine(found.plan(OutputSpec((F, G)), ["<e>"])).spec_json
                _compiler().compile_structural_tag(spec)


def test_the_bound_of_readings() -> None:
    """Each text that opens a call goes with each text that closes one."""

    def made(begins: int, ends: int) -> MadeFamily:
        texts = {
            "open": [f"<b{n}>" for n in range(begins)],
            "close": [f"</e{n}>" for n in range(ends)],
        }
        return family({"tool_calls": calls(**texts), "content": {}})

    assert made(8, 8).family.begin.startswith("<b0>")
    with pytest.raises(UnusableTemplate, match="more than 64 calls"):
        made(13, 5)
    with pytest.raises(UnusableTemplate, match="must have 1 to 32 strings, got 33"):
        made(33, 1)


def test_a_long_text_beside_the_call_costs_no_more_than_its_bound() -> None:
    """Only the first 10,000 characters and 64 places of a rendered conversation are searched."""
    case = CASES["smollm"]
    with pytest.raises(UnusableTemplate):
        family_of(case.template, rendered="x" * 10_000 + case.rendered, calls=CALLS)
    with pytest.raises(UnusableTemplate):
        family_of(case.template, rendered="<tool_call>" * 64 + case.rendered, calls=CALLS)
    shown = "<tool_call>" * 63 + case.rendered
    assert family_of(case.template, rendered=shown, calls=CALLS).family == case.family


# -- tokenizers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [SMOLLM, 5, "text", [1], {}], ids=["template", *"itld"])
def test_a_tokenizer_keeps_its_response_template(value: Any, tmp_path: Path) -> None:
    folder = Path(saved("{{ messages }}", str(tmp_path / "model")))
    config = folder / "tokenizer_config.json"
    data = json.loads(config.read_text("utf-8"))
    config.write_text(json.dumps({**data, "response_template": value}), "utf-8")
    assert response_template_of(pretrained(str(folder))) == value


def test_other_tokenizers_have_none() -> None:
    assert response_template_of(object()) is None
    older = SimpleNamespace(init_kwargs={"response_template": SMOLLM})
    assert response_template_of(older) == SMOLLM
