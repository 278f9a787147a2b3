"""Ids of calls as a family numbers them: calls and results agree in the prompt."""

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.formats import OutputSpec, Tool
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, tokenizer_of
from tests.app.small_tokenizer import folder

TOOL = Tool("temp", {"type": "object", "properties": {"city": {"type": "string"}}})
_CALLS = (
    "{%% if tools %%}{{ tools | tojson }}{%% endif %%}{%% for m in messages %%}"
    "<|im_start|>{{ m.role }}\n"
    "{%% if m.role == 'tool' %%}## Return of {{ m.tool_call_id }}\n{%% endif %%}"
    "{{ m.content or '' }}"
    "{%% if m.tool_calls %%}<|tool_calls_section_begin|>{%% for c in m.tool_calls %%}"
    "<|tool_call_begin|>%s<|tool_call_argument_begin|>{{ c.function.arguments | tojson }}"
    "<|tool_call_end|>{%% endfor %%}<|tool_calls_section_end|>{%% endif %%}<|im_end|>\n"
    "{%% endfor %%}<|im_start|>assistant\n"
)
#: templates that print the id of a call, and that number the calls of each answer
OWN = _CALLS % "{{ c['id'] }}"
BY_ANSWER = _CALLS % "{{ 'functions.' + c.function.name + ':' + loop.index0 | string }}"


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


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_results_have_the_ids_of_their_calls_in_a_real_template() -> None:
    """REGRESSION: results had the client's ids."""
    calls, results = ids_in(tokenizer_of("moonshotai-Kimi-K2"))
    assert results == calls
