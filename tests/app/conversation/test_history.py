"""Messages whose fields fit each other, and the plain form that prompts are made from."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from app.common_form import common_chat
from app.conversation.history import plain_messages
from app.errors import ApiError
from app.generation import Message
from tests.app.bodies import parse_request

USER = {"role": "user", "content": "hi"}


def call(number: str) -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def caller(*numbers: str) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [call(n) for n in numbers]}


def result(number: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "content": "42"}


def request(*messages: dict[str, Any]) -> Sequence[Message]:
    body = json.dumps({"model": "m", "messages": messages}).encode()
    return common_chat(parse_request(body)).messages


GOOD = {
    "plain": [USER],
    "a call and its result": [USER, caller("a"), result("a"), USER],
    "two calls, results in any order": [USER, caller("a", "b"), result("b"), result("a")],
    "calls one after the other": [USER, caller("a"), result("a"), caller("a"), result("a")],
    "an answer between": [USER, caller("a"), result("a"), {"role": "assistant", "content": "x"}],
    "a thought alone": [USER, {"role": "assistant", "content": None, "reasoning": "hm"}, USER],
    "a call of a custom tool": [
        USER,
        {
            "role": "assistant",
            "tool_calls": [
                call("b"),
                {"id": "a", "type": "custom", "custom": {"name": "g", "input": ""}},
            ],
        },
        result("a"),
        result("b"),
    ],
    "an answer whose thought the client dropped": [
        USER,
        {"role": "assistant", "content": None},
        USER,
    ],
    "a refusal": [USER, {"role": "assistant", "refusal": "no"}, USER],
}


@pytest.mark.parametrize("messages", GOOD.values(), ids=GOOD.keys())
def test_conversations_that_are_complete_pass(messages: list[dict[str, Any]]):
    request(*messages)


def test_the_plain_form_has_text_only():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [
        {"role": "developer", "content": parts, "name": "boss"},
        {"role": "assistant", "content": None, "refusal": "no"},
        {**caller("x"), "reasoning_content": "hm"},
        result("x"),
    ]
    assert plain_messages(request(*messages)) == [
        {"role": "developer", "content": "ab", "name": "boss"},
        {"role": "assistant", "content": "no"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [call("x")],
            "reasoning_content": "hm",
        },
        {"role": "tool", "content": "42", "tool_call_id": "x"},
    ]


def test_a_refusal_stands_behind_content():
    """REGRESSION: it was dropped where there was any content."""
    message = {"role": "assistant", "content": "Well. ", "refusal": "No."}
    (_, plain) = plain_messages(request(USER, message))
    assert plain["content"] == "Well. No."


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_comes_back_under_either_name(key: str):
    message = {"role": "assistant", "content": "x", key: "hm"}
    (_, plain) = plain_messages(request(USER, message))
    assert plain["reasoning_content"] == "hm"


@pytest.mark.parametrize(
    "thinking", ["hm, well", [{"type": "text", "text": "hm, "}, {"type": "text", "text": "well"}]]
)
def test_parts_that_are_thoughts_are_reasoning(thinking: Any):
    parts = [{"type": "thinking", "thinking": thinking}, {"type": "text", "text": "yes"}]
    (_, plain) = plain_messages(request(USER, {"role": "assistant", "content": parts}))
    assert (plain["content"], plain["reasoning_content"]) == ("yes", "hm, well")


def test_only_answers_have_thoughts():
    parts = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": "hm"}]
    with pytest.raises(ApiError) as caught:
        request({"role": "user", "content": parts})
    assert (caught.value.status, caught.value.param) == (400, "messages[0].content[1]")


@pytest.mark.parametrize("text", ["", 'a"b\n\\', "é😀<tool_call>"])
def test_a_custom_call_has_its_input_as_the_only_argument(text: str):
    """Prompts show a past call of a custom tool as models write it."""
    own = {"id": "a", "type": "custom", "custom": {"name": "run", "input": text}, "more": 1}
    messages = [USER, {"role": "assistant", "tool_calls": [own]}, result("a")]
    (made,) = plain_messages(request(*messages))[1]["tool_calls"]
    assert (made["id"], made["type"], made["function"]["name"]) == ("a", "function", "run")
    assert json.loads(made["function"]["arguments"]) == {"input": text}
