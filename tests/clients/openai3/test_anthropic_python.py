"""Anthropic's client for Python: messages, streams, parsed answers, tools, counts and models."""

import json
from typing import Any, Literal

import anthropic
import pytest
from pydantic import BaseModel, ConfigDict

from ..served import Served
from ..shapes import PROMPT, SHAPES, Place, Weather

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "model": "noise",
    "max_tokens": 20_000,
    "stop_sequences": ["\n\nObservation:"],
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "metadata": {"user_id": "someone"},
    "service_tier": "auto",
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}
#: what the client no longer knows, but the API does
SAMPLING = {"temperature": 0.2, "top_p": 0.9, "top_k": 40}
USER: Any = {"role": "user", "content": PROMPT}
TYPES: dict[str, type[BaseModel]] = {"report": Weather, "locate": Place}
TOOLS: Any = [
    {"name": name, "input_schema": shape.model_json_schema()} for name, shape in TYPES.items()
]
#: the turns of a loop: a call, a certain call, an answer
TURNS: tuple[Any, ...] = ({"type": "any"}, {"type": "tool", "name": "locate"}, {"type": "none"})


class Light(BaseModel):
    """A type that Anthropic's client sends whole: without bounds, which it would move."""

    model_config = ConfigDict(extra="forbid")
    is_on: bool
    room: Literal["hall", "attic"]
    level: int
    next: "Light | None"


@pytest.fixture
def client(served: Served) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=served.address, api_key="none", max_retries=0)


def seeded(seed: int, **more: Any) -> dict[str, Any]:
    return {"messages": [USER], "extra_body": {"seed": seed, **SAMPLING}, **OPTIONS, **more}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_a_schema_is_enforced(
    client: anthropic.Anthropic, shape: type[BaseModel], seed: int
) -> None:
    output = {"type": "json_schema", "schema": shape.model_json_schema()}
    message = client.messages.create(**seeded(seed, output_config={"format": output}))
    assert isinstance(shape.model_validate_json(text_of(message)), shape)


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


@pytest.mark.parametrize("seed", range(3))
def test_parse_gives_the_model(client: anthropic.Anthropic, seed: int) -> None:
    for messages in (client.messages, client.beta.messages):
        parsed: Any = messages.parse(**seeded(seed), output_format=Light)
        assert isinstance(parsed.parsed_output, Light)
        with messages.stream(**seeded(seed), output_format=Light) as stream:
            assert stream.get_final_message().parsed_output == parsed.parsed_output


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("seed", range(3))
async def test_a_loop_of_calls(served: Served, seed: int, is_streamed: bool) -> None:
    """The answers go back as the client made them, with their thoughts."""
    messages: list[Any] = [USER]
    async with anthropic.AsyncAnthropic(base_url=served.address, auth_token="none") as client:
        for choice in TURNS:
            asked = seeded(seed, messages=messages, tools=TOOLS, tool_choice=choice)
            if is_streamed:
                async with client.messages.stream(**asked) as stream:
                    written = "".join([text async for text in stream.text_stream])
                    message = await stream.get_final_message()
                assert written == text_of(message)
            else:
                message = await client.messages.create(**asked)
            assert message.usage.output_tokens > 0
            answered = results(message)
            assert bool(answered) == (choice != {"type": "none"})
            assert message.stop_reason == ("tool_use" if answered else "end_turn")
            messages += [{"role": "assistant", "content": message.content}]
            messages += [{"role": "user", "content": answered}] if answered else []


def results(message: Any) -> list[Any]:
    """Blocks for calls, whose inputs must be what their tool takes."""
    calls = [block for block in message.content if block.type == "tool_use"]
    for call in calls:
        TYPES[call.name].model_validate_json(json.dumps(call.input))
    return [{"type": "tool_result", "tool_use_id": call.id, "content": "ok"} for call in calls]


@pytest.mark.parametrize("is_streamed", [False, True])
def test_the_tool_runner(client: anthropic.Anthropic, is_streamed: bool) -> None:
    called = []

    @anthropic.beta_tool
    def locate(place: Place, is_near: bool) -> str:
        """Say where a place is.

        Args:
            place: to find
            is_near: the sea
        """
        called.append(place)
        return f"It lies north, {is_near}."

    more = {"tool_choice": {"type": "any"}, "max_iterations": 3, "stream": is_streamed}
    runner: Any = client.beta.messages.tool_runner(
        **OPTIONS, messages=[USER], tools=[locate], **more
    )
    messages = [each.get_final_message() if is_streamed else each for each in runner]
    assert [message.stop_reason for message in messages] == ["tool_use"] * 3
    assert len(called) >= 3


def test_events_can_be_put_together_by_hand(client: anthropic.Anthropic) -> None:
    texts: dict[int, str] = {}
    asked = seeded(5, tools=TOOLS, tool_choice={"type": "any"})
    for event in client.messages.create(**asked, stream=True):
        if event.type == "content_block_start" and event.content_block.type == "tool_use":
            texts[event.index] = ""
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            texts[event.index] += event.delta.partial_json
    assert texts
    assert all(isinstance(json.loads(text), dict) for text in texts.values())


def test_thoughts_come_back_and_go_back(client: anthropic.Anthropic, served: Served) -> None:
    """A thought that only its seal holds is a part of the next prompt."""
    messages: list[Any] = [USER]
    thoughts: list[bool] = []
    for seed in served.seeds(thoughts):
        thinking = {"type": "adaptive", "display": "omitted"}
        asked = {"thinking": thinking, "tools": TOOLS, "tool_choice": {"type": "any"}}
        message = client.messages.create(**seeded(seed, messages=messages, **asked))
        thoughts.append(message.content[0].type == "thinking")
        messages += [{"role": "assistant", "content": message.content}]
        messages += [{"role": "user", "content": results(message)}]
    assert any(thoughts) == served.thinks


def test_tokens_are_counted(client: anthropic.Anthropic) -> None:
    asked: Any = {"model": "noise", "messages": [USER], "tools": TOOLS}
    counted = client.messages.count_tokens(**asked)
    message = client.messages.create(**asked, max_tokens=1)
    assert counted.input_tokens == message.usage.input_tokens


def test_errors_have_their_class_and_their_place(client: anthropic.Anthropic) -> None:
    tool: Any = {"name": "f", "input_schema": {"type": "objekt"}}
    with pytest.raises(anthropic.BadRequestError, match=r"tools\[0\].input_schema: at /type"):
        client.messages.create(**seeded(1, tools=[tool]))
    with pytest.raises(anthropic.NotFoundError) as missing:
        client.messages.create(**seeded(1, model="another"))
    assert missing.value.request_id


def test_models_are_listed(client: anthropic.Anthropic) -> None:
    assert [model.id for model in client.models.list()] == ["noise"]
    assert client.models.retrieve("noise").display_name
