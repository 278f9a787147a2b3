"""The official Python client: whole, streamed and parsed answers, and tool loops by hand."""

import json
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel

from ..served import Served
from ..shapes import PROMPT, SHAPES, Place, Weather

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "frequency_penalty": 0.1,
    "presence_penalty": -0.1,
    "max_completion_tokens": 30_000,
    "stop": ["\n\nObservation:"],
    "logprobs": False,
    "user": "someone",
    "metadata": {"run": "1"},
    "store": False,
    "service_tier": "auto",
    "prompt_cache_key": "weather",
    "extra_body": {
        "top_k": 40,
        "min_p": 0.05,
        "repetition_penalty": 1.1,
        "chat_template_kwargs": {"enable_thinking": True},
    },
}
ASKED: list[ChatCompletionMessageParam] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": PROMPT},
]
TOOLS: list[Any] = [
    openai.pydantic_function_tool(Weather, name="report"),
    openai.pydantic_function_tool(Place, name="locate"),
]
TYPES: dict[str, type[BaseModel]] = {"report": Weather, "locate": Place}
#: the turns of a loop: a call, a certain call, an answer
TURNS: tuple[Any, ...] = (
    "required",
    {"type": "function", "function": {"name": "locate"}},
    "none",
)


@pytest.fixture
def client(served: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=served.url, api_key="none", max_retries=0)


@pytest.mark.parametrize("effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"])
def test_usual_options_are_taken(client: openai.OpenAI, effort: Any) -> None:
    answer = client.chat.completions.create(
        model="noise", messages=ASKED, tools=TOOLS, tool_choice="auto", parallel_tool_calls=True,
        reasoning_effort=effort, seed=1, **OPTIONS,
    )  # fmt: skip
    assert answer.choices[0].finish_reason in ("stop", "tool_calls", "length")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_parse_gives_the_model(client: openai.OpenAI, shape: type[BaseModel], seed: int) -> None:
    answer = client.chat.completions.parse(
        model="noise", messages=ASKED, response_format=shape, seed=seed
    )
    assert isinstance(answer.choices[0].message.parsed, shape)


async def test_parse_gives_the_model_to_the_async_client(served: Served) -> None:
    async with openai.AsyncOpenAI(base_url=served.url, api_key="none", max_retries=0) as client:
        answer = await client.chat.completions.parse(
            model="noise", messages=ASKED, response_format=Weather, n=2, seed=3
        )
    assert [type(choice.message.parsed) for choice in answer.choices] == [Weather, Weather]


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_adds_up_to_the_model(client: openai.OpenAI, seed: int) -> None:
    with client.chat.completions.stream(
        model="noise", messages=ASKED, response_format=Weather, seed=seed,
        stream_options={"include_usage": True},
    ) as stream:  # fmt: skip
        events = list(stream)
        final = stream.get_final_completion()
    done = [event.parsed for event in events if event.type == "content.done"]
    assert done == [final.choices[0].message.parsed]
    assert isinstance(done[0], Weather)
    assert final.usage
    assert final.usage.completion_tokens > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_loop_of_parsed_calls(client: openai.OpenAI, seed: int) -> None:
    """The answers go back as the client made them, with what it added."""
    messages: list[Any] = list(ASKED)
    for choice in TURNS:
        answer = client.chat.completions.parse(
            model="noise", messages=messages, tools=TOOLS, tool_choice=choice, seed=seed
        )
        message = answer.choices[0].message
        messages += [message, *results(message.tool_calls)]
    assert message.content
    assert message.tool_calls is None


@pytest.mark.parametrize("seed", range(3))
async def test_a_loop_of_streamed_calls(served: Served, seed: int) -> None:
    messages: list[Any] = list(ASKED)
    async with openai.AsyncOpenAI(base_url=served.url, api_key="none", max_retries=0) as client:
        for choice in TURNS:
            async with client.chat.completions.stream(
                model="noise", messages=messages, tools=TOOLS, tool_choice=choice, seed=seed
            ) as stream:
                kinds = {event.type async for event in stream}
                message = (await stream.get_final_completion()).choices[0].message
            called = "tool_calls.function.arguments.done" in kinds
            assert called == (choice != "none")
            messages += [message, *results(message.tool_calls)]
    assert message.content


def test_chunks_can_be_put_together_by_hand(client: openai.OpenAI) -> None:
    """Every chunk has what users read from it without looking: ids come once, numbers always."""
    calls: dict[int, list[str]] = {}
    for chunk in client.chat.completions.create(
        model="noise", messages=ASKED, tools=TOOLS, tool_choice="required", stream=True, seed=5
    ):
        for call in chunk.choices[0].delta.tool_calls or ():
            assert call.function
            if call.id:
                calls[call.index] = [call.function.name or "", ""]
            calls[call.index][1] += call.function.arguments or ""
    assert calls
    for name, arguments in calls.values():
        TYPES[name].model_validate_json(arguments)


def test_thoughts_come_back_and_go_back(client: openai.OpenAI, served: Served) -> None:
    """As users of thinking models do it: the message as a dict, with everything that it holds."""
    messages: list[Any] = list(ASKED)
    thoughts: list[Any] = []
    for seed in served.seeds(thoughts):
        answer = client.chat.completions.create(
            model="noise", messages=messages, tools=TOOLS, tool_choice="required", seed=seed,
            reasoning_effort="high",
        )  # fmt: skip
        message = answer.choices[0].message.model_dump()
        thoughts.append(message.get("reasoning_content"))
        messages += [message, *results(answer.choices[0].message.tool_calls)]
    assert any(thoughts) == served.thinks


def test_errors_have_their_place_and_their_class(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="noise", messages=ASKED, top_logprobs=3)
    assert (refused.value.param, refused.value.code) == ("top_logprobs", None)
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="another", messages=ASKED)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(
            model="noise", messages=ASKED, response_format=Weather, max_tokens=2
        )


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["noise"]
    assert client.models.retrieve("noise").id == "noise"


def results(calls: Any) -> list[Any]:
    """Tool messages for calls, whose arguments must be what their tool takes."""
    found = []
    for call in calls or ():
        value = TYPES[call.function.name].model_validate_json(call.function.arguments)
        parsed = getattr(call.function, "parsed_arguments", None)
        assert parsed is None or parsed == value
        content = json.dumps({"ok": True})
        found.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return found
