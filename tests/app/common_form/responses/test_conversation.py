"""Items as messages."""

from typing import Any

import pytest

from app.common_form.responses.conversation import Conversation
from app.conversation.history import plain_messages
from app.protocol.responses.items import ITEMS

USER = {"role": "user", "content": "hi"}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text}


def thought(text: str) -> dict[str, Any]:
    return {"type": "reasoning", "content": [{"type": "reasoning_text", "text": text}]}


def call(number: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": number, "name": "f", "arguments": "{}"}


def output(number: str, text: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": number, "output": text}


def conversation(items: list[dict[str, Any]]) -> Conversation:
    made = Conversation()
    made.add((f"input[{n}]", item) for n, item in enumerate(ITEMS.validate_python(items)))
    made.close()
    return made


def short(made: Conversation) -> list[str]:
    """Messages as text: role, content, reasoning, calls."""
    lines = []
    for message in plain_messages(made.messages):
        parts = [message["role"], str(message["content"])]
        parts.append(message.get("reasoning_content") or "")
        parts += [each["id"] for each in message.get("tool_calls", ())]
        lines.append(" ".join(part for part in parts if part))
    return lines


#: (items, messages, numbers of the items that they name)
CASES: dict[str, tuple[list[dict[str, Any]], list[str], list[int]]] = {
    "roles": (
        [USER, {**USER, "role": "system"}, {**USER, "role": "developer"}],
        ["user hi", "system hi", "developer hi"],
        [0, 1, 2],
    ),
    "parts": (
        [{**USER, "content": [{"type": "input_text", "text": each} for each in "ab"]}],
        ["user ab"],
        [0],
    ),
    "a refusal": (
        [{**said(""), "content": [{"type": "refusal", "refusal": "no"}]}],
        ["assistant no"],
        [0],
    ),
    "one turn": (
        [thought("t"), said("a"), call("1"), call("2"), output("2"), output("1"), said("b")],
        ["assistant a t 1 2", "tool done", "tool done", "assistant b"],
        [0, 4, 5, 6],
    ),
    "text around a call is one message": (
        [said("a"), call("1"), said("b"), output("1")],
        ["assistant ab 1", "tool done"],
        [0, 3],
    ),
    "a message after a message is a turn of its own": (
        [said("a"), said("b")],
        ["assistant a", "assistant b"],
        [0, 1],
    ),
    "thoughts of one turn": (
        [thought("t"), said("a"), thought("u"), said("b")],
        ["assistant ab tu"],
        [0],
    ),
    "calls one after the other": (
        [call("1"), output("1"), call("1"), output("1")],
        ["assistant None 1", "tool done", "assistant None 1", "tool done"],
        [0, 1, 2, 3],
    ),
    "a summary": (
        [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]}, USER],
        ["assistant None s", "user hi"],
        [0, 1],
    ),
    "reasoning without text": ([{"type": "reasoning", "id": "rs"}, USER], ["user hi"], [1]),
    "an output of parts": (
        [call("1"), output("1", [{"type": "input_text", "text": "x"}] * 2)],
        ["assistant None 1", "tool xx"],
        [0, 1],
    ),
}


@pytest.mark.parametrize(("items", "messages", "places"), CASES.values(), ids=CASES.keys())
def test_items_become_messages(items: list[dict[str, Any]], messages: list[str], places: list[int]):
    made = conversation(items)
    assert short(made) == messages
    assert made.places == [f"input[{n}]" for n in places]


#: REGRESSION: these ended the session, since agents send their whole history with each request
INTERLEAVED: dict[str, tuple[list[dict[str, Any]], list[str], list[int]]] = {
    "a call without an output": ([call("1")], ["assistant None 1"], [0]),
    "a message before the output": (
        [call("1"), USER, output("1"), said("b")],
        ["assistant None 1", "user hi", "tool done", "assistant b"],
        [0, 1, 2, 3],
    ),
    "reasoning before the output is no turn of its own": (
        [call("1"), USER, thought("t"), output("1"), said("b")],
        ["assistant None 1", "user hi", "tool done", "assistant b t"],
        [0, 1, 3, 2],
    ),
    "an output without a call": ([output("1"), USER], ["tool done", "user hi"], [0, 1]),
    "two calls of one id": ([call("1"), call("1")], ["assistant None 1 1"], [0]),
    "a null output": ([call("1"), output("1", None)], ["assistant None 1", "tool "], [0, 1]),
}


@pytest.mark.parametrize(
    ("items", "messages", "places"), INTERLEAVED.values(), ids=INTERLEAVED.keys()
)
def test_items_in_any_order_become_messages(
    items: list[dict[str, Any]], messages: list[str], places: list[int]
):
    made = conversation(items)
    assert [line.rstrip() for line in short(made)] == [line.rstrip() for line in messages]
    assert made.places == [f"input[{n}]" for n in places]


def test_an_output_without_a_call_id_keeps_the_name_of_its_tool():
    """REGRESSION: agents add such texts themselves, and send them with every later request."""
    goal = {"type": "function_call_output", "name": "goal", "namespace": "agent", "output": "x"}
    made = Conversation(lambda namespace, name: f"{namespace}__{name}")
    made.add([("input[0]", ITEMS.validate_python([goal])[0])])
    assert made.messages[0].name == "agent__goal"


def test_what_messages_do_not_show_is_named():
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    made = conversation(
        [
            {"type": "reasoning", "summary": [], "encrypted_content": "x"},
            call("1"),
            output("1", [{"type": "input_text", "text": "a"}, image]),
        ]
    )
    assert made.ignored == ["input/0 encrypted_content"]
    assert short(made)[1].startswith("tool a[input_image: not shown")
