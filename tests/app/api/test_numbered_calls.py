"""Ids that number the calls of a conversation go on in each turn, in every API."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.app.conversation.kimi_templates import BY_ANSWER, OWN
from tests.app.gateway import Gateway, gateway_fixture
from tests.app.small_tokenizer import folder

gateway = gateway_fixture(format="kimi_k2")

SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}
#: ids of clients and other servers
FOREIGN = ("call_x", "toolu_01", "functions_look_up_7")


def chat(gateway: Gateway, foreign: Sequence[str] = FOREIGN) -> list[str]:
    """Return the ids of the calls of three turns behind three foreign calls."""
    messages: list[Any] = [{"role": "user", "content": "q"}]
    for number in foreign:
        call = {"id": number, "type": "function", "function": {"name": "old", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": number, "content": "r"})
    body = {
        "model": gateway.get("/v1/models").json()["data"][0]["id"],
        "tools": [{"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    ids = []
    for _ in range(3):
        answer = gateway.post(body | {"messages": messages}).json()["choices"][0]["message"]
        ids += [call["id"] for call in answer["tool_calls"]]
        messages += [answer, {"role": "tool", "tool_call_id": ids[-1], "content": "r"}]
    return ids


def responses(gateway: Gateway, foreign: Sequence[str] = FOREIGN) -> list[str]:
    """The same with stored responses, so that a request has only the newest result."""
    items: list[Any] = [{"role": "user", "content": "q"}]
    for number in foreign:
        call = {"type": "function_call", "call_id": number, "name": "old", "arguments": "{}"}
        items += [call, {"type": "function_call_output", "call_id": number, "output": "r"}]
    body: dict[str, Any] = {
        "tools": [{"type": "function", "name": "look_up", "parameters": SCHEMA}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    ids = []
    for _ in range(3):
        answer = gateway.post(body | {"input": items}, path="/v1/responses").json()
        (call,) = [item for item in answer["output"] if item["type"] == "function_call"]
        ids.append(call["call_id"])
        items = [{"type": "function_call_output", "call_id": ids[-1], "output": "r"}]
        body["previous_response_id"] = answer["id"]
    return ids


def messages(gateway: Gateway, foreign: Sequence[str] = FOREIGN) -> list[str]:
    """The same in Anthropic's API."""
    said: list[Any] = [{"role": "user", "content": "q"}]

    def add(call: Any) -> None:
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": "r"}
        said.append({"role": "assistant", "content": [call]})
        said.append({"role": "user", "content": [result]})

    for number in foreign:
        add({"type": "tool_use", "id": number, "name": "old", "input": {}})
    body = {
        "model": gateway.get("/v1/models").json()["data"][0]["id"],
        "max_tokens": 500,
        "tools": [{"name": "look_up", "input_schema": SCHEMA}],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
    }
    ids = []
    for _ in range(3):
        sent = gateway.post(body | {"messages": said}, path="/v1/messages").json()
        (call,) = [block for block in sent["content"] if block["type"] == "tool_use"]
        ids.append(call["id"])
        add(call)
    return ids


@pytest.mark.parametrize("ask", [chat, responses, messages])
def test_ids_go_on_from_the_calls_of_the_prompt(
    gateway: Gateway, ask: Callable[[Gateway], list[str]]
) -> None:
    """REGRESSION: a call could have the number, and so the id, of an earlier one."""
    ids = ask(gateway)
    assert ids == [f"functions.look_up:{number}" for number in (3, 4, 5)]


@pytest.mark.parametrize("ask", [chat, responses])
def test_no_call_gets_the_id_of_an_earlier_one(
    gateway: Gateway, ask: Callable[[Gateway, Sequence[str]], list[str]]
) -> None:
    """A client that has dropped the beginning of its history has ids of later numbers in it."""
    shortened = ("functions.look_up:3", "functions.look_up:4", "functions.look_up:9")
    ids = ask(gateway, shortened)
    assert len({*ids, *shortened}) == 6
    assert ids[2] == "functions.look_up:5"


@pytest.mark.parametrize(("template", "is_counted"), [(OWN, True), (BY_ANSWER, False)])
def test_ids_are_unique_whatever_the_template_counts(
    tmp_path: Path, template: str, is_counted: bool
) -> None:
    """A template that counts the calls of each answer has equal ids in all turns."""
    source = folder(tmp_path, template)
    with Gateway(tokenizer=source, model_name="m") as gateway:
        assert gateway.get("/v1/models/m").json()["format"] == "kimi_k2"
        ids = chat(gateway)
    assert len({*ids, *FOREIGN}) == 6
    assert json.dumps(ids).count("functions.") == 3 * is_counted
