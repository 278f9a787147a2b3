"""GET /v1/responses/{id}?stream=true: the events of a stored response, with the official client."""

from typing import Any

import httpx
import openai
import pytest

from tests.app.examples import LIGHT
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture
from tests.app.wire import check_event

#: two clients by key; answers may have reasoning
gateway = gateway_fixture(format="harmony", reasoning="on", api_keys="one,two")

TOOLS: list[Any] = [
    {"type": "function", "name": "set_light", "parameters": LIGHT},
    {"type": "custom", "name": "note"},
    {
        "type": "namespace",
        "name": "home",
        "description": "d",
        "tools": [{"type": "function", "name": "lamp", "parameters": LIGHT}],
    },
]
ASKED: dict[str, dict[str, Any]] = {
    "text": {},
    "cut": {"max_output_tokens": 4},
    "log probabilities": {"top_logprobs": 2},
    "seals": {"include": ["reasoning.encrypted_content"]},
    "calls": {"tools": TOOLS, "tool_choice": "required", "max_output_tokens": 300},
    "a custom call": {"tools": TOOLS, "tool_choice": {"type": "custom", "name": "note"}},
}


def client_of(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return client_of(gateway)


def joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events without their numbers, and the pieces of each text as one."""
    whole: list[dict[str, Any]] = []
    for each in events:
        event = {name: value for name, value in each.items() if name != "sequence_number"}
        if whole and "delta" in event and event["type"] == whole[-1]["type"]:
            for name in ("delta", "logprobs"):
                if name in event:
                    whole[-1][name] += event[name]
        else:
            whole.append(event)
    return whole


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("more", ASKED.values(), ids=ASKED.keys())
def test_the_events_are_those_of_the_first_stream(
    client: openai.OpenAI, seed: int, more: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"model": "noise", "input": "Hello", "max_output_tokens": 200, **more}
    stream = client.responses.create(**asked, extra_body={"seed": seed}, stream=True)
    first = [event.to_dict() for event in stream]
    last: Any = first[-1]["response"]
    again = list(client.responses.retrieve(last["id"], stream=True))
    for event in again:
        check_event(event.to_dict())
    assert [event.sequence_number for event in again] == list(range(len(again)))
    assert joined([event.to_dict() for event in again]) == joined(first)
    for after in (0, 3, len(again) - 1):
        rest = client.responses.retrieve(last["id"], stream=True, starting_after=after)
        assert list(rest) == again[after + 1 :]
    if last["status"] == "completed":
        with client.responses.stream(response_id=last["id"]) as helper:
            final, whole = helper.get_final_response(), client.responses.retrieve(last["id"])
        assert final.output_text == whole.output_text
        assert [item.id for item in final.output] == [item.id for item in whole.output]


def test_an_event_beyond_the_last_one_is_refused(client: openai.OpenAI) -> None:
    response = client.responses.create(model="noise", input="Hello", max_output_tokens=5)
    last = len(list(client.responses.retrieve(response.id, stream=True))) - 1
    for after in (last + 1, 10**12):  # REGRESSION: the latter was said to be no integer
        with pytest.raises(openai.BadRequestError) as caught:
            client.responses.retrieve(response.id, stream=True, starting_after=after)
        assert caught.value.param == "starting_after"
        assert f"number {last}, got {after}" in caught.value.message


def test_a_client_finds_its_own_only(gateway: Gateway, client: openai.OpenAI) -> None:
    response = client.responses.create(model="noise", input="Hello", max_output_tokens=5)
    with pytest.raises(openai.NotFoundError):
        client_of(gateway, "two").responses.retrieve(response.id, stream=True)


def test_the_bytes_are_those_of_a_stream(gateway: Gateway, client: openai.OpenAI) -> None:
    response = client.responses.create(model="noise", input="Hello", max_output_tokens=5)
    url = f"{gateway.url}/v1/responses/{response.id}?stream=true"
    answer = httpx.get(url, headers={"Authorization": "Bearer one"}, **OPTIONS)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert answer.text.startswith('event: response.created\ndata: {"type":"response.created",')
    assert answer.text.endswith("}\n\n") and "[DONE]" not in answer.text
