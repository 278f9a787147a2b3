"""Streams: events in OpenAI's order, which add up to the message of the same answer."""

import json
from typing import Any

import openai
import pytest
from fastapi import Depends, Request

from app.api.answering import _DirectRoute
from tests.app.examples import ALARM, LIGHT, MESSAGES, TOOLS, body, json_schema, tool
from tests.app.gateway import Gateway
from tests.app.messages import added_up, events, whole

ASKED: dict[str, dict[str, Any]] = {
    "text": {"max_completion_tokens": 300},
    "three texts": {"max_completion_tokens": 100, "n": 3},
    "auto": {"tools": TOOLS, "max_completion_tokens": 600},
    "required": {"tools": TOOLS, "tool_choice": "required"},
    "required, one call": {
        "tools": TOOLS,
        "tool_choice": "required",
        "parallel_tool_calls": False,
    },
    "required, cut off": {"tools": TOOLS, "tool_choice": "required", "max_completion_tokens": 9},
    "named": {
        "tools": TOOLS,
        "tool_choice": {"type": "function", "function": {"name": "set_alarm"}},
    },
    "a schema": {"response_format": json_schema(ALARM)},
    "a schema and tools": {"response_format": json_schema(LIGHT), "tools": TOOLS},
    "free strings": {
        "tools": [tool("say", {"properties": {"text": {"type": "string"}}, "required": ["text"]})],
        "tool_choice": "required",
    },
    "a stop string": {"stop": ["e", "a", "\n"], "max_completion_tokens": 300},
    "one token": {"max_completion_tokens": 1},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_stream_adds_up_to_the_message(gateway: Gateway, asked: dict[str, Any], seed: int):
    request = {**body(**asked), "seed": seed}
    message = gateway.post(request).json()
    streamed = events(gateway.post({**request, "stream": True}).text)
    assert added_up(streamed, asked.get("n", 1)) == whole(message)


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
def test_the_order_of_events_is_openais(gateway: Gateway, asked: dict[str, Any]):
    response = gateway.post(body(**asked, stream=True))
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["x-accel-buffering"] == "no"
    chunks = events(response.text)
    constant = {
        (chunk["id"], chunk["created"], chunk["model"], chunk["system_fingerprint"])
        for chunk in chunks
    }
    assert len(constant) == 1
    assert all(chunk["object"] == "chat.completion.chunk" for chunk in chunks)
    assert all("usage" not in chunk for chunk in chunks)
    for number in range(asked.get("n", 1)):
        own = [c["choices"][0] for c in chunks if c["choices"][0]["index"] == number]
        check_choice(own)


#: REGRESSION: without the keys, ``delta.reasoning_content`` is an AttributeError of OpenAI's client
NO_REASONING = {"reasoning_content": None, "reasoning": None}


def check_choice(own: list[dict[str, Any]]) -> None:
    first, *middle, last = own
    assert first["delta"]["role"] == "assistant"
    assert set(first["delta"]) == {"role", "content", *NO_REASONING}
    assert (last["delta"], last["finish_reason"] is not None) == (NO_REASONING, True)
    assert all(choice["finish_reason"] is None for choice in own[:-1])
    for choice in middle:
        assert choice["delta"].keys() >= NO_REASONING.keys()
        (key, value), *_ = choice["delta"].items()
        assert key in ("content", "tool_calls", "reasoning_content")
        assert value
    only_calls = middle and all("tool_calls" in choice["delta"] for choice in middle)
    assert first["delta"]["content"] == (None if only_calls else "")


def test_usage_comes_last_and_is_null_before(gateway: Gateway):
    asked = body(max_completion_tokens=40, n=2)
    wanted = gateway.post(asked).json()["usage"]
    options = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = events(gateway.post({**asked, **options}).text)
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"] == wanted
    assert all(chunk["usage"] is None for chunk in chunks[:-1])


def test_the_official_client_reads_streams(client: openai.OpenAI):
    with client.chat.completions.stream(
        model="noise", messages=MESSAGES, tools=TOOLS, tool_choice="required", seed=1,
        max_completion_tokens=8000,
    ) as stream:  # fmt: skip
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert "tool_calls.function.arguments.delta" in kinds
    assert final.choices[0].finish_reason == "tool_calls"
    for call in final.choices[0].message.tool_calls or []:
        assert isinstance(json.loads(call.function.arguments), dict)


async def test_the_official_async_client_reads_streams(async_client: openai.AsyncOpenAI):
    stream = await async_client.chat.completions.create(
        model="noise", messages=MESSAGES, stream=True, seed=1, max_completion_tokens=50
    )
    text = ""
    async for chunk in stream:
        delta: Any = chunk.choices[0].delta
        assert (delta.reasoning_content, delta.reasoning) == (None, None)
        text += delta.content or ""
    plain = await async_client.chat.completions.create(
        model="noise", messages=MESSAGES, seed=1, max_completion_tokens=50
    )
    assert text == plain.choices[0].message.content


def test_an_error_before_the_first_byte_is_an_ordinary_error(client: openai.OpenAI):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(
            model="noise", messages=MESSAGES, stream=True,
            tools=[tool("f", {"properties": {"a": {"type": "nonsense"}}})],  # type: ignore[list-item]
        )  # fmt: skip
    assert caught.value.param == "tools[0].function.parameters"
    assert "/properties/a" in caught.value.message


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_ends_the_workers_generations(stream: bool):
    endless = {"type": "array", "items": {"const": 1}, "minItems": 100_000}
    asked = body(
        response_format=json_schema({**LIGHT, "properties": {"on": endless}}),
        stream=stream,
        max_completion_tokens=32_000,
        n=8,
    )
    # of its own: what other tests left running would be counted, too
    with Gateway() as gateway:
        with gateway.raw_request(asked):
            gateway.eventually(lambda: running(gateway) == 8)
        gateway.eventually(lambda: gateway.metric("switchyard_client_disconnects_total") == 1)
        gateway.eventually(lambda: running(gateway) == 0)


def running(gateway: Gateway) -> float:
    return gateway.metric("switchyard_workers_running", what="0:noise")


def test_dependencies_of_generating_routes_are_refused():
    """They would not be called, and a check that is not called is none."""

    def create(request: Request) -> None: ...

    with pytest.raises(ValueError, match="would not be called"):
        _DirectRoute("/x", create, dependencies=[Depends(create)])
