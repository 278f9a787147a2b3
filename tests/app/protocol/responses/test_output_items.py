"""The events of output items add up to the items, whatever the model writes."""

import re
from pathlib import Path
from typing import Any

import pytest

from adapters.formats import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolArguments,
    ToolInput,
    ToolStart,
)
from app.protocol.responses.client_tools import CLIENT_TOOLS
from app.protocol.responses.ids import item_id, new_response_id, response_of
from app.protocol.responses.items import KINDS
from app.writers.response_items import OutputItems

ROOT = Path(__file__).parents[4]
CALL: list[Delta] = [ToolStart(0, "f", "1"), ToolArguments(0, '{"a":'), ToolArguments(0, "1}")]

#: deltas, and the items that they make: type and text
CASES: dict[str, tuple[list[Delta], list[tuple[str, str]]]] = {
    "nothing": ([], [("message", "")]),
    "text": ([ContentDelta("a"), ContentDelta("b", True)], [("message", "ab")]),
    "a thought alone": ([ReasoningDelta("t")], [("reasoning", "t")]),
    "all": (
        [ReasoningDelta("t"), ContentDelta("a"), *CALL, ToolStart(1, "g"), ContentDelta("b")],
        [
            ("reasoning", "t"),
            ("message", "a"),
            ("function_call", '{"a":1}'),
            ("function_call", ""),
            ("message", "b"),
        ],
    ),
    "thoughts between texts": (
        [ContentDelta("a"), ReasoningDelta("t"), ContentDelta("b")],
        [("message", "a"), ("reasoning", "t"), ("message", "b")],
    ),
}


def text_of(item: dict[str, Any]) -> str:
    if item["type"] == "function_call":
        return str(item["arguments"])
    (part,) = item["content"]
    return str(part["text"])


@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize(("deltas", "expected"), CASES.values(), ids=CASES.keys())
def test_events_add_up_to_the_items(
    deltas: list[Delta], expected: list[tuple[str, str]], status: Any
):
    items = OutputItems(new_response_id())
    events = [*items.add(deltas), *items.end(status)]
    assert [(item["type"], text_of(item)) for item in items.items] == expected
    assert [item["status"] for item in items.items[:-1]] == ["completed"] * (len(expected) - 1)
    assert items.items[-1]["status"] == status
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == items.items
    for number, item in enumerate(items.items):
        own = [event for event in events if event["output_index"] == number]
        assert own[0]["item"]["id"] == item["id"]
        assert own[0]["item"]["status"] == "in_progress"
        pieces = [event["delta"] for event in own if event["type"].endswith(".delta")]
        assert "".join(pieces) == text_of(item)
        (whole,) = (
            event.get("text", event.get("arguments"))
            for event in own
            if event["type"].endswith((".output_text.done", "_text.done", "arguments.done"))
        )
        assert whole == text_of(item)


def test_arguments_of_a_call_that_is_not_open_are_a_fault():
    items = OutputItems(new_response_id())
    with pytest.raises(RuntimeError, match="call 1"):
        list(items.add([ToolStart(0, "f"), ToolArguments(1, "{}")]))
    with pytest.raises(RuntimeError, match="no call is open"):
        list(items.add([ContentDelta("a"), ToolArguments(0, "{}")]))


def test_the_id_of_an_item_names_its_response():
    number = new_response_id()
    for kind in set(KINDS) - {"item_reference", "compaction_trigger"}:
        assert response_of(item_id(kind, number, "o", 12)) == number
    for other in ("", "msg_1", "msg_" + "0" * 32, f"{number}o1", "\n".join(["msg_1", number])):
        assert response_of(other) is None


def test_the_documented_events_are_those_of_the_code():
    """docs/api.md lists every event of items; those of the response are tested with the writer."""
    text = (ROOT / "docs/api.md").read_text().partition("### Events of a response")[2]
    documented = set(re.findall(r"`(response\.[a-z_.]+)`", text.partition("\n### ")[0]))
    items = OutputItems(new_response_id(), lambda name: CLIENT_TOOLS.get(name, {"name": name}))
    custom = [ToolStart(1, "g", "2", is_custom=True), ToolInput(1, "text")]
    shell = [ToolStart(2, "shell", "3"), ToolArguments(2, '{"commands": ["ls"]}')]
    deltas: list[Delta] = [ReasoningDelta("t"), ContentDelta("a"), *CALL, *custom, *shell]
    written = {event["type"] for event in [*items.add(deltas), *items.end("completed")]}
    whole = {"created", "queued", "in_progress", "completed", "incomplete", "failed"}
    written.add("response.compaction.compacting")
    assert documented == written | {f"response.{each}" for each in whole}
