"""LangChain over the Messages API: bound tools in a loop, an agent, structured output, thoughts."""

from typing import Any, Literal

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
)
from pydantic import BaseModel, ConfigDict

from ..served import Served
from ..shapes import PROMPT, STRICT_SHAPES
from .langchain_tools import TOOLS, called

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "max_tokens": 20_000,
    "temperature": 0.2,
    "top_p": 0.9,
    "top_k": 40,
    "stop_sequences": ["Observation:"],
    "betas": ["a-beta-2026-01-01"],
    "reasoning_effort": "medium",
    "stream_usage": True,
}


class Light(BaseModel):
    """A type that Anthropic's client sends whole: without bounds, which it would move."""

    model_config = ConfigDict(extra="forbid")
    is_on: bool
    room: Literal["hall", "attic"]


def model(served: Served, seed: int | None = None, **options: Any) -> ChatAnthropic:
    more = {} if seed is None else {"model_kwargs": {"extra_body": {"seed": seed}}}
    return ChatAnthropic(
        base_url=served.address, api_key="none", model="noise", max_retries=0,
        **OPTIONS | options, **more,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_loop_of_bound_tools(served: Served, seed: int, is_streamed: bool) -> None:
    chat, tools = model(served, seed), list(TOOLS.values())
    turns = [
        chat.bind_tools(tools, tool_choice="any"),
        chat.bind_tools(tools, tool_choice="locate", parallel_tool_calls=False, strict=True),
        chat.bind_tools(tools, tool_choice={"type": "none"}),
    ]
    messages: list[BaseMessage] = [SystemMessage("Be brief."), HumanMessage(PROMPT)]
    for turn in turns[:-1]:
        answer = added(turn.stream(messages)) if is_streamed else turn.invoke(messages)
        messages += [answer, *called(answer)]
    final = turns[-1].invoke(messages)
    assert isinstance(final, AIMessage)
    assert final.text
    assert final.usage_metadata
    assert final.response_metadata["stop_reason"] == "end_turn"


def added(chunks: Any) -> AIMessageChunk:
    """A stream as one message."""
    first, *rest = chunks
    for chunk in rest:
        first += chunk
    assert first.usage_metadata
    return first


@pytest.mark.parametrize("shape", STRICT_SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_structured_output_of_a_tool(served: Served, seed: int, shape: type[BaseModel]) -> None:
    chat = model(served, seed).with_structured_output(shape, include_raw=True)
    answer = chat.invoke(PROMPT)
    assert isinstance(answer, dict)
    assert answer["parsing_error"] is None
    assert isinstance(answer["parsed"], shape)


@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
async def test_streamed_structured_output(served: Served, method: Any) -> None:
    chat = model(served, 4).with_structured_output(Light, method=method)
    parts = [part async for part in chat.astream(PROMPT)]
    assert isinstance(parts[-1], Light)


@pytest.mark.parametrize(
    "thinking", [{"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive"}]
)
def test_thoughts_go_back_to_the_model(served: Served, thinking: dict[str, Any]) -> None:
    chat = model(served, thinking=thinking, temperature=1.0, top_p=None, top_k=None)
    bound = chat.bind_tools(list(TOOLS.values()), tool_choice="auto")
    messages: list[BaseMessage] = [HumanMessage(PROMPT)]
    for _ in range(4):
        answer = added(bound.stream(messages))
        assert isinstance(answer, AIMessage)
        messages += [answer, *(called(answer) if answer.tool_calls else [HumanMessage("And now?")])]
    kinds = {block["type"] for message in messages for block in message.content_blocks}
    assert "reasoning" not in kinds or served.thinks


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_an_agent_ends_with_its_type(served: Served, strategy: Any) -> None:
    """Noise may call the tools before it answers; the graph bounds how often."""
    agent = create_agent(model(served), list(TOOLS.values()), response_format=strategy(Light))
    state = agent.invoke({"messages": [HumanMessage(PROMPT)]}, {"recursion_limit": 60})
    assert isinstance(state["structured_response"], Light)
