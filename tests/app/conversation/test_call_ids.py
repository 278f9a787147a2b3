"""Ids of calls as a family numbers them: calls and results agree in the prompt."""

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.formats import OutputSpec, Tool
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, tokenizer_of
from tests.app.conversation.kimi_templates import BY_ANSWER, BY_CONVERSATION, OWN
from tests.app.small_tokenizer import folder

TOOL = Tool("temp", {"type": "object", "properties": {"city": {"type": "string"}}})


def call(name: str, identity: str, city: str) -> dict[str, Any]:
    function = {"name": name, "arguments": f'{{"city": "{city}"}}'}
    return {"id": identity, "type": "function", "function": function}


def result(identity: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": text}


MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [call("temp", "call_x", "Oslo"), call("wind", "call_y", "Rome")],
    },
    result("call_x", "cold"),
    result("call_y", "mild"),
    {"role": "assistant", "content": None, "tool_calls": [call("temp", "call_x", "Bonn")]},
    result("call_x", "warm"),
]


def ids_in(tokenizer: HuggingFaceTokenizer) -> tuple[list[str], list[str]]:
    """Return the ids of calls and those of results in a prompt."""
    ids = tokenizer.render(MESSAGES, (TOOL,), OutputSpec((TOOL,))).prompt
    assert isinstance(ids, list)
    text = tokenizer.decode(ids)
    return (
        re.findall(r"<\|tool_call_begin\|>(.*?)<\|tool_call_argument_begin\|>", text),
        re.findall(r"## Return of (functions\.\w+:\d+)", text),
    )


def test_a_template_that_prints_the_ids_of_calls_is_known(tmp_path: Path) -> None:
    """REGRESSION: its syntax was unknown, so requests with tools were refused."""
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, OWN))
    assert (tokenizer.evidence.format, tokenizer.evidence.basis) == ("kimi_k2", "call")
    assert tokenizer.profile is not None
    assert tokenizer.profile.ids == "numbered"
    numbered = ["functions.temp:0", "functions.wind:1", "functions.temp:2"]
    assert ids_in(tokenizer) == (numbered, numbered)


def test_a_template_that_numbers_the_calls_of_each_answer_gets_these_ids(tmp_path: Path) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, BY_ANSWER))
    assert (tokenizer.evidence.format, tokenizer.evidence.basis) == ("kimi_k2", "call")
    assert tokenizer.profile is not None
    assert tokenizer.profile.ids == "numbered_by_answer"
    numbered = ["functions.temp:0", "functions.wind:1", "functions.temp:0"]
    assert ids_in(tokenizer) == (numbered, numbered)


#: without the ids of results
BARE = "## Return of {{ m.tool_call_id }}"


@pytest.mark.parametrize(
    ("template", "kind", "calls"),
    [
        (OWN.replace(BARE, "## Return"), "numbered", (0, 1, 2)),
        (BY_ANSWER.replace(BARE, "## Return"), "numbered_by_answer", (0, 1, 0)),
        (BY_CONVERSATION, "numbered", (0, 1, 2)),
        (BY_CONVERSATION.replace(BARE, "## Return"), "any", (0, 1, 2)),
    ],
)
def test_the_grammar_counts_as_the_template(
    tmp_path: Path, template: str, kind: str, calls: tuple[int, ...]
) -> None:
    """REGRESSION: results without ids hid what the calls count."""
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, template))
    assert tokenizer.evidence.format == "kimi_k2"
    assert tokenizer.profile is not None
    assert tokenizer.profile.ids == kind
    names = [f"functions.{name}" for name in ("temp", "wind", "temp")]
    numbered = [f"{name}:{number}" for name, number in zip(names, calls, strict=True)]
    found, results = ids_in(tokenizer)
    assert found == numbered
    assert results == (numbered if BARE in template else [])
    rendered = tokenizer.render(MESSAGES, (TOOL,), OutputSpec((TOOL,)))
    assert rendered.calls_before == (0 if kind == "numbered_by_answer" else 3)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_results_have_the_ids_of_their_calls_in_a_real_template() -> None:
    """REGRESSION: results had the client's ids."""
    calls, results = ids_in(tokenizer_of("moonshotai-Kimi-K2"))
    assert results == calls


def test_calls_that_are_written_as_text_are_numbered_too(tmp_path: Path) -> None:
    """REGRESSION: each answer began with 0, while the next call gets the number behind all."""
    silent = re.sub(r"{% if m.tool_calls %}.*?{% endif %}<", "<", OWN).replace(
        "{% for m in", "{# <|tool_calls_section_begin|> #}{% for m in"
    )
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, silent))
    assert tokenizer.profile is not None
    assert (tokenizer.evidence.basis, tokenizer.profile.calls) == ("marks", False)
    output = OutputSpec((TOOL,))
    rendered = tokenizer.render(MESSAGES, (TOOL,), output)
    text = tokenizer.decode(rendered.prompt)
    shown = re.findall(r"<\|tool_call_begin\|>(.*?)<\|tool_call_argument_begin\|>", text)
    assert shown == ["functions.temp:0", "functions.wind:1", "functions.temp:2"]
    assert rendered.calls_before == 3
