"""Tools that the client runs, over HTTP: offered, called, streamed and replayed."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseInputItem
from pydantic import TypeAdapter

from app.protocol.responses.client_tools import CLIENT_TOOLS
from tests.app.gateway import Gateway
from tests.app.wire import check, check_event

ITEM: TypeAdapter[Any] = TypeAdapter(ResponseInputItem)
FORMATS = ("hermes", "llama4_pythonic", "qwen_coder")


@pytest.fixture(scope="module", params=FORMATS)
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A gateway for each notation of arguments: JSON, Python literals, elements.

    In any order, noise would write more of the optional arguments, and texts that hardly ever end.
    """
    with Gateway(format=request.param, argument_order="schema") as running:
        yield running


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="k", max_retries=0)


def only(kind: str) -> dict[str, Any]:
    """The choice of a tool; OpenAI's types have no choice of local_shell but this one."""
    if kind != "local_shell":
        return {"type": kind}
    return {"type": "allowed_tools", "mode": "required", "tools": [{"type": kind}]}


def asked(kind: str, seed: int, **more: Any) -> dict[str, Any]:
    return {
        "model": "noise",
        "input": "Do it.",
        "tools": [{"type": "function", "name": "f"}, {"type": kind}],
        "tool_choice": only(kind),
        "parallel_tool_calls": False,
        "max_output_tokens": 8000,
        "extra_body": {"seed": seed},
        **more,
    }


def without_ids(response: Response) -> list[dict[str, Any]]:
    return [{**each.to_dict(), "id": 0, "call_id": 0} for each in response.output]


#: texts in elements end at a tag, which noise hardly ever writes
CASES = [(f, k) for f in FORMATS for k in CLIENT_TOOLS if (f, k) != ("qwen_coder", "apply_patch")]


@pytest.mark.parametrize("seed", [4, 5])
@pytest.mark.parametrize(("gateway", "kind"), CASES, indirect=["gateway"])
def test_calls_have_the_clients_own_types(client: openai.OpenAI, kind: str, seed: int):
    """Whole and streamed, no field is missing or unknown; the replayed call is accepted."""
    whole = client.responses.create(**asked(kind, seed))
    (call,) = whole.output
    assert (call.type, whole.status) == (CLIENT_TOOLS[kind].call, "completed")
    check(Response, whole.to_dict())
    assert [tool.type for tool in whole.tools] == ["function", kind]
    events = list(client.responses.create(**asked(kind, seed), stream=True))
    for event in events:
        check_event(event.to_dict())
    assert [event.sequence_number for event in events] == list(range(len(events)))
    added, done = (e for e in events if e.type.startswith("response.output_item"))
    assert (added.item.status, done.item.status) == ("in_progress", "completed")
    assert added.item.id == done.item.id
    last = events[-1].response
    assert last.output == [done.item]
    assert without_ids(last) == without_ids(whole)
    replayed = call.to_dict()
    ITEM.validate_python(replayed)
    result = {"type": f"{call.type}_output", "call_id": call.call_id, "output": "ok"}
    history = [{"role": "user", "content": "Do it."}, replayed, result]
    again = client.responses.create(**asked(kind, seed, input=history, tool_choice="none"))
    assert again.status == "completed"
    continued = {"previous_response_id": whole.id, "input": [result], "tool_choice": "none"}
    assert client.responses.create(**asked(kind, seed, **continued)).status == "completed"
    assert client.responses.retrieve(whole.id).output == whole.output


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_events_of_commands_add_up_to_the_action(client: openai.OpenAI, seed: int):
    commands: list[str] = []
    ended: list[str] = []
    events = list(client.responses.create(**asked("shell", seed), stream=True))
    for event in events:
        match event.type:
            case "response.shell_call_command.added":
                assert event.command_index == len(commands) == len(ended)
                commands.append("")
            case "response.shell_call_command.delta":
                assert event.delta
                commands[event.command_index] += event.delta
            case "response.shell_call_command.done":
                assert event.command_index == len(ended)
                ended.append(event.command)
    (call,) = events[-1].response.output
    assert commands == ended == call.action.commands
