"""Chat templates that change lists write the prompts that they wrote where they may change them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

from adapters.formats import OutputSpec, Tool
from app.conversation.list_changes import without_list_changes
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import FETCH, FOLDER, TEMPLATES, tokenizer_of
from tests.app.gateway import Gateway
from tests.app.small_tokenizer import folder

#: templates written for llama.cpp
CHANGING = ["Kimi-K2-Instruct", "Kimi-K2-Thinking"]


def calls(*names: str) -> list[dict[str, Any]]:
    """An answer with calls of these tools, and their results."""
    made = [
        {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}
        for n, name in enumerate(names)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"call_{n}", "name": name, "content": f"result of {name}"}
        for n, name in enumerate(names)
    ]
    return [{"role": "assistant", "content": "", "tool_calls": made}, *results]


MESSAGES = [
    {"role": "user", "content": "q"},
    *calls("a", "b"),
    *calls("c"),
    {"role": "assistant", "content": "An answer."},
    {"role": "user", "content": "And now?"},
    *calls("a", "a", "b"),
]


def rendered(kind: type[SandboxedEnvironment], source: str) -> str:
    environment = kind(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(source).render(messages=MESSAGES, add_generation_prompt=True)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", CHANGING)
def test_a_rewritten_template_writes_the_same_prompt(name: str) -> None:
    source = (FOLDER / f"{name}.jinja").read_text("utf-8")
    changed = without_list_changes(source)
    assert rendered(ImmutableSandboxedEnvironment, changed) == rendered(
        SandboxedEnvironment, source
    )


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", CHANGING)
def test_calls_and_results_have_the_same_ids(name: str) -> None:
    """REGRESSION: calls were written as text, and all results had the id of the first call."""
    tokenizer = tokenizer_of(name)
    assert (tokenizer.evidence.format, tokenizer.evidence.basis) == ("kimi_k2", "call")
    tool = Tool("a", {"type": "object"})
    ids = tokenizer.render(MESSAGES, (tool,), OutputSpec((tool,))).prompt
    assert isinstance(ids, list)
    prompt = tokenizer.decode(ids)
    numbered = [f"functions.{each}" for each in ("a:0", "b:1", "c:2", "a:3", "a:4", "b:5")]
    for place in (r"<\|tool_call_begin\|>(\S+?)<\|", r"## Return of (\S+)"):
        assert re.findall(place, prompt) == numbered


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("{%- set _ = ns.l.append(f(1) + ' )') -%}", "[5, 6, '1 )']"),
        ("{% set _ = ns.l.append((1, [2])) %}", "[5, 6, (1, [2])]"),
        ("{% set x = ns.l.pop(0) %}{{ x }} ", "5 [6]"),
        ("{%- set x = ns.l.pop() -%}{{ x }} ", "6 [5]"),
    ],
)
def test_a_change_of_a_list_becomes_a_new_list(change: str, text: str) -> None:
    source = f"{{% set ns = namespace(l=[5, 6]) %}}{change}{{{{ ns.l }}}}"
    for kind, given in (
        (SandboxedEnvironment, source),
        (ImmutableSandboxedEnvironment, without_list_changes(source)),
    ):
        assert kind().from_string(given).render(f=str) == text


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content }} append(1) .pop(0)",
        "{% set _ = calls.append(1) %}",
        "{% set x = ns.l.pop(1) %}",
        "{{ ns.l.append(1) }}",
    ],
)
def test_everything_else_stays(source: str) -> None:
    assert without_list_changes(source) == source


#: appends to a variable, which no assignment in a loop can replace
FAILING = (
    "{% set l = [] %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{% set _ = l.append(1) %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n'
    "</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{{ tools | tojson }}<|im_start|>assistant\n"
)


def test_a_template_that_fails_at_calls_is_named_at_the_start(tmp_path: Path) -> None:
    """REGRESSION: nothing said that calls are written as text."""
    source = folder(tmp_path, FAILING)
    assert HuggingFaceTokenizer(source).evidence.basis == "marks"
    with Gateway(tokenizer=source, model_name="m") as gateway:
        (warning,) = [line for line in gateway.lines() if "fails at tool calls" in line["event"]]
        shown = gateway.get("/v1/models/m").json()["format_evidence"]
    assert shown["failure"] == warning["error"]
    assert "'append'" in warning["error"]
