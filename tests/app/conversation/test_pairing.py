"""Calls and results in whatever order clients send them back."""

import json
import random
from typing import Any

import pytest

from app.common_form import common_chat
from app.conversation.history import plain_messages
from app.conversation.pairing import MAX_UNANSWERED, NO_RESULT, History, paired
from app.errors import ApiError, bad_field
from app.protocol import MEDIA
from tests.app.bodies import parse_request

USER = {"role": "user", "content": "hi"}
NOTE = {"role": "system", "content": "note"}
END = {"role": "assistant", "content": "end"}


def caller(*numbers: str | None, name: str = "f") -> dict[str, Any]:
    """An answer with calls; None: a call without an id."""
    function = {"name": name, "arguments": "{}"}
    calls = [
        {"type": "function", "function": function, **({} if n is None else {"id": n})}
        for n in numbers
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(number: str | None, text: Any = None, **more: Any) -> dict[str, Any]:
    """A result; None: one without an id."""
    content = f"result {number}" if text is None else text
    return {
        "role": "tool",
        "content": content,
        **({} if number is None else {"tool_call_id": number}),
        **more,
    }


def history(*messages: dict[str, Any]) -> History:
    request = parse_request(json.dumps({"model": "m", "messages": messages}).encode())
    return paired(plain_messages(common_chat(request).messages))


def short(made: History) -> list[str]:
    """Messages as text: role, ids of calls or of the call, content."""
    lines = []
    for message in made.messages:
        ids = [call["id"] for call in message.get("tool_calls", ())]
        ids += [message["tool_call_id"]] if message["role"] == "tool" else []
        lines.append(" ".join([message["role"], *ids, message["content"] or ""]).strip())
    return lines


#: REGRESSION: all but the first three were refused, and with them each later turn of an agent.
#: (messages, the prompt's, numbers of the messages that they come from)
CASES: dict[str, tuple[list[dict[str, Any]], list[str], list[int]]] = {
    "in order": ([USER, caller("a"), result("a"), END],
        ["user hi", "assistant a", "tool a result a", "assistant end"], [0, 1, 2, 3]),
    "two calls, results in any order": ([caller("a", "b"), result("b"), result("a")],
        ["assistant a b", "tool a result a", "tool b result b"], [0, 2, 1]),
    "results in any order, a message between them":
        ([caller("a", "b", "c"), result("c"), USER, result("a"), result("b")],
        ["assistant a b c", "tool a result a", "tool b result b", "tool c result c", "user hi"],
        [0, 3, 4, 1, 2]),
    "an id is used again": ([caller("a"), result("a", "1"), caller("a"), result("a", "2")],
        ["assistant a", "tool a 1", "assistant a", "tool a 2"], [0, 1, 2, 3]),
    "messages before the result": ([caller("a"), USER, NOTE, result("a"), END],
        ["assistant a", "tool a result a", "user hi", "system note", "assistant end"],
        [0, 3, 1, 2, 4]),
    "messages between results": ([caller("a", "b"), result("a"), USER, result("b")],
        ["assistant a b", "tool a result a", "tool b result b", "user hi"], [0, 1, 3, 2]),
    "another call before the result": ([caller("a"), caller("b"), result("a"), result("b")],
        ["assistant a", "tool a result a", "assistant b", "tool b result b"], [0, 2, 1, 3]),
    "a result far behind": ([caller("a"), USER, END, USER, END, result("a")],
        ["assistant a", "tool a result a", "user hi", "assistant end", "user hi",
         "assistant end"], [0, 5, 1, 2, 3, 4]),
    "no result": ([caller("a"), USER], ["assistant a", f"tool a {NO_RESULT}", "user hi"],
        [0, 0, 1]),
    "one of two results": ([caller("a", "b"), result("b"), USER],
        ["assistant a b", f"tool a {NO_RESULT}", "tool b result b", "user hi"], [0, 0, 1, 2]),
    "the first use of an id has no result": ([caller("a"), USER, caller("a"), result("a")],
        ["assistant a", f"tool a {NO_RESULT}", "user hi", "assistant a", "tool a result a"],
        [0, 0, 1, 2, 3]),
    "a result without any call": ([USER, result("a")],
        ["user hi", "user Result of a tool:\nresult a"], [0, 1]),
    "a result of another call": ([caller("a"), result("b", name="g"), result("a")],
        ["assistant a", "tool a result a", "user Result of the tool g:\nresult b"], [0, 2, 1]),
    "a result before its call": ([result("a"), caller("a")],
        ["user Result of a tool:\nresult a", "assistant a", f"tool a {NO_RESULT}"], [0, 1, 1]),
    "a second result": ([caller("a"), result("a"), result("a", "more"), END],
        ["assistant a", "tool a result a", "user Result of the tool f:\nmore", "assistant end"],
        [0, 1, 2, 3]),
    "the same result again": ([caller("a"), result("a"), result("a"), END],
        ["assistant a", "tool a result a", "assistant end"], [0, 1, 3]),
    "two calls of one id": ([caller("a", "a", "a_1"), result("a", "1"), result("a", "2")],
        ["assistant a a_1_ a_1", "tool a 1", "tool a_1_ 2", f"tool a_1 {NO_RESULT}"],
        [0, 1, 2, 0]),
    "the first of two calls in a row with one id has no result":
        ([caller("a"), caller("a"), result("a")],
        ["assistant a", f"tool a {NO_RESULT}", "assistant a", "tool a result a"], [0, 0, 1, 2]),
    "no ids": ([caller(None, None), result(None, "1"), result(None, "2"), END],
        ["assistant call_0 call_1", "tool call_0 1", "tool call_1 2", "assistant end"],
        [0, 1, 2, 3]),
    "no ids, calls in a row": ([caller(None), caller(None), result(None, "1"), result(None, "2")],
        ["assistant call_0", "tool call_0 1", "assistant call_0", "tool call_0 2"], [0, 2, 1, 3]),
    "no ids, several turns": (
        [caller(None), USER, caller(None), result(None, "1"), caller(None), result(None, "2")],
        ["assistant call_0", f"tool call_0 {NO_RESULT}", "user hi", "assistant call_0",
         "tool call_0 1", "assistant call_0", "tool call_0 2"], [0, 0, 1, 2, 3, 4, 5]),
    "no ids, more results than calls": ([caller(None), result(None, "1"), result(None, "2")],
        ["assistant call_0", "tool call_0 1", "user Result of a tool:\n2"], [0, 1, 2]),
    "calls without ids": ([caller(None, "call_0"), result("x", "1"), result("call_0", "2")],
        ["assistant call_0_ call_0", "tool call_0_ 1", "tool call_0 2"], [0, 1, 2]),
    "results without ids": (
        [caller("a", "b", "c"), result(None, "2"), result("b"), result("", "3")],
        ["assistant a b c", "tool a 2", "tool b result b", "tool c 3"], [0, 1, 2, 3]),
    "results with names instead of ids": (
        [caller(None), caller(None, name="g"), result(None, "g", name="g"), result(None, "f")],
        ["assistant call_0", "tool call_0 f", "assistant call_0", "tool call_0 g"], [0, 3, 1, 2]),
    "a result without an id, of another tool": ([caller("a"), result(None, "1", name="g")],
        ["assistant a", f"tool a {NO_RESULT}", "user Result of the tool g:\n1"], [0, 0, 1]),
    "an empty id": ([caller("", ""), result("", "1"), result("", "2")],
        ["assistant call_0 call_1", "tool call_0 1", "tool call_1 2"], [0, 1, 2]),
    "an empty result": ([caller("a"), {**result("a"), "content": None}],
        ["assistant a", "tool a"], [0, 1]),
}  # fmt: skip


@pytest.mark.parametrize(("messages", "shown", "places"), CASES.values(), ids=CASES.keys())
def test_each_result_follows_its_call(
    messages: list[dict[str, Any]], shown: list[str], places: list[int]
):
    made = history(*messages)
    assert short(made) == shown
    assert made.places == places


def test_whatever_the_order_each_call_has_one_result_and_no_message_is_lost():
    """1,000 shuffled conversations: the results behind calls are theirs, in their order.

    REGRESSION: templates without ids gave the model the results of parallel calls swapped.
    """
    rng = random.Random(1)
    for _ in range(1000):
        numbers = [f"c{n}" for n in range(rng.randint(1, 6))]
        messages = [caller(*numbers[:3]), caller(*numbers[3:]) if numbers[3:] else END]
        others = [result(n) for n in numbers if rng.random() < 0.8] + [USER, END] * 2
        rng.shuffle(others)
        made = history(*messages, *others)
        for at, message in enumerate(made.messages):
            wanted = [call["id"] for call in message.get("tool_calls", ())]
            behind = made.messages[at + 1 : at + 1 + len(wanted)]
            assert [each["tool_call_id"] for each in behind] == wanted
            assert all(each["content"].endswith((each["tool_call_id"], "]")) for each in behind)
        kept = [each for each in made.messages if each["content"] != NO_RESULT]
        assert len(kept) == len(messages) + len(others)


def test_an_error_names_the_message_of_the_request():
    made = history(caller("a"), USER, result("a"), END)
    error = bad_field("Bad '{at}'.", ("messages", 1, "content")).moved(made.path)
    assert error.param == "messages[2].content"
    assert error.message == "Bad 'messages[2].content'."
    assert ApiError(400, "Bad.", param="tools[1]").moved(made.path).param == "tools[1]"


def test_calls_without_results_have_a_bound():
    """At the bound they are answered by a note, one more is refused."""
    numbers = [str(n) for n in range(MAX_UNANSWERED)]
    assert len(history(caller(*numbers)).messages) == 1 + MAX_UNANSWERED
    with pytest.raises(ApiError, match="got 2,049") as caught:
        history(caller(*numbers), caller("x"))
    assert (caught.value.status, caught.value.param) == (400, "messages")


@pytest.mark.parametrize("kind", MEDIA)
def test_a_text_stands_for_media_in_a_result(kind: str):
    """REGRESSION: a tool that returned one image ended the session."""
    parts = [{"type": "text", "text": "a"}, {"type": kind, kind: {"url": "x"}}]
    messages = [caller("a"), {**result("a"), "content": parts}]
    request = parse_request(json.dumps({"model": "m", "messages": messages}).encode())
    common = common_chat(request)
    assert f"[{kind}: not shown" in plain_messages(common.messages)[1]["content"]
