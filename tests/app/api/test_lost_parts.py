"""Null where a history has lost a text, an id or a list: read as an empty one, in each API."""

from typing import Any

import pytest

from tests.app.gateway import Gateway, gateway_fixture

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
LONG = "é" * 1_025
USER: Any = {"role": "user", "content": "Hello"}

gateway = gateway_fixture(format="hermes", reasoning="on")


def read(number: str | None, arguments: Any = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": number, "name": "read", "arguments": arguments}


def output(number: str | None, text: str | None) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": number, "output": text}


def use(number: str | None) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": number, "name": "read", "input": {}}],
    }


def result(number: str | None) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": number, "content": "x"}],
    }


#: (path, history with losses, the same history with empty values in their place)
LOSSES: dict[str, tuple[str, list[Any], list[Any]]] = {
    "content of a user": (CHAT, [{"role": "user", "content": None}], [{**USER, "content": ""}]),
    "content of a system": (
        CHAT,
        [{"role": "system", "content": None}, USER],
        [{"role": "system", "content": ""}, USER],
    ),
    "text of a part": (
        CHAT,
        [{"role": "user", "content": [{"type": "text", "text": None}]}],
        [{**USER, "content": ""}],
    ),
    "content of a result": (
        CHAT,
        [USER, {"role": "tool", "tool_call_id": "1"}],
        [USER, {"role": "tool", "tool_call_id": "1", "content": ""}],
    ),
    "content of an item": (
        RESPONSES,
        [{"role": "user", "content": None}, {"type": "message", "role": "assistant"}],
        [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}],
    ),
    "text of an item's part": (
        RESPONSES,
        [{"role": "user", "content": [{"type": "input_text", "text": None}]}],
        [{"role": "user", "content": ""}],
    ),
    "arguments, and an output": (
        RESPONSES,
        [USER, read("1", None), {"type": "function_call_output", "call_id": "1"}],
        [USER, read("1", "{}"), output("1", "")],
    ),
    "arguments kept as an object": (
        RESPONSES,
        [USER, read("1", {"a": 1}), output("1", "x")],
        [USER, read("1", '{"a": 1}'), output("1", "x")],
    ),
    "ids of calls": (
        RESPONSES,
        [USER, read(None), output(None, "x")],
        [USER, read("1"), output("1", "x")],
    ),
    "long ids": (
        RESPONSES,
        [{**USER, "id": LONG}, {**read(LONG), "id": LONG}, {**output(LONG, "x"), "id": ""}],
        [USER, read("1"), output("1", "x")],
    ),
    "a summary": (
        RESPONSES,
        [USER, {"type": "reasoning", "summary": None, "content": None}, read("1")],
        [USER, read("1")],
    ),
    "ids of uses": (MESSAGES, [USER, use(None), result(None)], [USER, use("1"), result("1")]),
    "long ids of uses": (MESSAGES, [USER, use(LONG), result(LONG)], [USER, use("1"), result("1")]),
}


def tokens(gateway: Gateway, path: str, history: list[Any]) -> int:
    field = "input" if path == RESPONSES else "messages"
    limit = "max_output_tokens" if path == RESPONSES else "max_tokens"
    answer = gateway.post({"model": "noise", field: history, limit: 1}, path=path)
    assert answer.status_code == 200, answer.text
    used = answer.json()["usage"]
    count: int = used.get("prompt_tokens", used.get("input_tokens"))
    return count


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_is_an_empty_value(gateway: Gateway, name: str) -> None:
    """REGRESSION: an agent that kept null in its history was refused from then on."""
    path, lost, empty = LOSSES[name]
    assert tokens(gateway, path, lost) == tokens(gateway, path, empty)


def test_a_stored_response_lists_ids_that_the_api_can_have(gateway: Gateway) -> None:
    items = [{**USER, "id": LONG}, read(LONG, None)]
    made = gateway.post({"model": "noise", "input": items, "max_output_tokens": 1}, path=RESPONSES)
    listed = gateway.get(f"{RESPONSES}/{made.json()['id']}/input_items").json()["data"]
    assert [item["id"][:3] for item in listed] == ["fc_", "msg"]
    assert listed[0]["arguments"] == ""
