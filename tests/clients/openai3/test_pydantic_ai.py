"""Pydantic AI: an agent with tools, its three modes of output, streams, and thinking."""

from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ModelSettings, NativeOutput, PromptedOutput, ToolOutput, UsageLimits
from pydantic_ai.messages import ModelResponse, ThinkingPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from ..served import Served
from ..shapes import PROMPT, SHAPES, Place, Short, Sky, Weather

#: what users set; nothing of it may be refused
OPTIONS = OpenAIChatModelSettings(
    temperature=0.2,
    top_p=0.9,
    frequency_penalty=0.1,
    presence_penalty=0.1,
    max_tokens=30_000,
    stop_sequences=["Observation:"],
    parallel_tool_calls=True,
    openai_user="someone",
    openai_store=False,
    extra_body={"top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1},
)
#: without a seed noise says something else in every turn, so it ends long before
LIMITS = UsageLimits(request_limit=50)


def model(served: Served) -> OpenAIChatModel:
    # without a profile, Pydantic AI drops ``thinking`` for models that it does not know
    return OpenAIChatModel(
        "noise",
        provider=OpenAIProvider(base_url=served.url, api_key="none"),
        profile=OpenAIModelProfile(supports_thinking=True),
    )


def settings(**more: Any) -> ModelSettings:
    return ModelSettings(**{**OPTIONS, **more})  # type: ignore[typeddict-item]


def guide(served: Served, output: Any = str, chosen: Model | None = None) -> Agent[None, Any]:
    """An agent without retries: what noise writes must fit at the first try."""
    agent = Agent(chosen or model(served), output_type=output, instructions="Be brief.", retries=0)

    @agent.tool_plain
    def locate(name: Short, country: str | None = None) -> str:
        """Say where a place is."""
        return f"{name} lies north of {country}"

    @agent.tool_plain
    def report(place: Place, sky: Sky, celsius: float) -> dict[str, Any]:
        """Note the weather of a place."""
        return {"sky": sky.value, "celsius": celsius, "name": place.name}

    return agent


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", [ToolOutput, NativeOutput])
async def test_output_of_a_type(served: Served, mode: Any, shape: type[BaseModel]) -> None:
    result = await guide(served, mode(shape)).run(
        PROMPT, model_settings=settings(), usage_limits=LIMITS
    )
    assert isinstance(result.output, shape)


async def test_prompted_output(served: Served) -> None:
    """The server sees no schema but ``json_object``: a type that every object is of."""

    class Anything(BaseModel):
        pass

    agent = Agent(model(served), output_type=PromptedOutput(Anything), retries=0)
    result = await agent.run(PROMPT, model_settings=settings(), usage_limits=LIMITS)
    assert isinstance(result.output, Anything)


@pytest.mark.parametrize("mode", [ToolOutput, NativeOutput])
async def test_streamed_output(served: Served, mode: Any) -> None:
    async with guide(served, mode(Weather)).run_stream(
        PROMPT, model_settings=settings(), usage_limits=LIMITS
    ) as stream:
        assert isinstance(await stream.get_output(), Weather)
    assert stream.usage.output_tokens > 0


@pytest.mark.parametrize("thinking", [False, True, "minimal", "low", "high", "xhigh", "max"])
async def test_thoughts_go_back_to_the_model(served: Served, thinking: Any) -> None:
    """All that was said is sent again with every run, thoughts included."""
    history: Any = None
    for _ in range(4):
        result = await guide(served, ToolOutput(Weather)).run(
            PROMPT,
            message_history=history,
            model_settings=settings(thinking=thinking),
            usage_limits=LIMITS,
        )
        history = result.all_messages()
    parts = [part for message in history for part in message.parts]
    assert any(isinstance(part, ToolReturnPart) for part in parts)
    answers = [message for message in history if isinstance(message, ModelResponse)]
    assert {answer.model_name for answer in answers} == {"noise"}
    has_thoughts = any(isinstance(part, ThinkingPart) for part in parts)
    assert not has_thoughts or (served.thinks and thinking is not False)


@pytest.mark.parametrize("shape", SHAPES)
async def test_output_of_a_type_over_messages(served: Served, shape: type[BaseModel]) -> None:
    """All that was said is sent again, thoughts with their seals included."""
    provider = AnthropicProvider(base_url=served.address, api_key="none")
    agent = guide(served, ToolOutput(shape), AnthropicModel("noise", provider=provider))
    options = AnthropicModelSettings(max_tokens=20_000, parallel_tool_calls=True)
    history: Any = None
    for _ in range(3):
        result = await agent.run(
            PROMPT, message_history=history, model_settings=options, usage_limits=LIMITS
        )
        history = result.all_messages()
        assert isinstance(result.output, shape)
    async with agent.run_stream(PROMPT, model_settings=options, usage_limits=LIMITS) as stream:
        assert isinstance(await stream.get_output(), shape)
