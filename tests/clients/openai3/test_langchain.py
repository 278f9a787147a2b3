"""LangChain: bound tools in a loop, an agent, and structured output by every method."""

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

from ..served import Served
from ..shapes import PROMPT, SHAPES, STRICT_SHAPES, Weather
from .langchain_tools import TOOLS, called

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "frequency_penalty": 0.1,
    "presence_penalty": 0.1,
    "max_tokens": 30_000,
    "stop": ["Observation:"],
    "n": 1,
    "logprobs": False,
    "reasoning_effort": "medium",
    "stream_usage": True,
    "model_kwargs": {"user": "someone"},
    "extra_body": {"top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1},
}
#: LangChain puts "anything" in place of a type that holds itself, where it makes a function of it
METHODS = [
    *(("function_calling", shape) for shape in STRICT_SHAPES),
    *(("json_schema", shape) for shape in SHAPES),
    ("json_mode", Weather),
]


def model(served: Served, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(base_url=served.url, api_key="none", model="noise", max_retries=0, **options)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_loop_of_bound_tools(served: Served, seed: int, is_streamed: bool) -> None:
    chat = model(served, seed=seed, **OPTIONS)
    tools = list(TOOLS.values())
    turns = [
        chat.bind_tools(tools, tool_choice="required"),
        chat.bind_tools(tools, tool_choice="locate", parallel_tool_calls=False, strict=True),
        chat.bind_tools(tools, tool_choice="none"),
    ]
    messages: list[BaseMessage] = [HumanMessage(PROMPT)]
    for turn in turns[:-1]:
        answer = added(turn.stream(messages)) if is_streamed else turn.invoke(messages)
        messages += [answer, *called(answer)]
    final = turns[-1].invoke(messages)
    assert final.text
    assert isinstance(final, AIMessage)
    assert final.usage_metadata
    assert final.response_metadata["finish_reason"] in ("stop", "length")


def added(chunks: Any) -> AIMessageChunk:
    """A stream as one message."""
    first, *rest = chunks
    for chunk in rest:
        first += chunk
    assert first.usage_metadata
    return first


@pytest.mark.parametrize(("method", "shape"), METHODS)
def test_structured_output(served: Served, method: Any, shape: type[BaseModel]) -> None:
    """``json_mode`` shows the server no schema: any object is right."""
    for seed in range(3):
        chat = model(served, seed=seed).with_structured_output(
            shape, method=method, include_raw=True
        )
        answer = chat.invoke(PROMPT)
        assert isinstance(answer, dict)
        if method == "json_mode":
            assert answer["raw"].text.lstrip().startswith("{")
        else:
            assert answer["parsing_error"] is None
            assert isinstance(answer["parsed"], shape)


# LangChain serialises a parsed message with a type that lacks the parsed field
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
@pytest.mark.parametrize("strict", [None, True])
async def test_streamed_structured_output(served: Served, method: Any, strict: Any) -> None:
    chat = model(served, seed=4).with_structured_output(Weather, method=method, strict=strict)
    parts = [part async for part in chat.astream(PROMPT)]
    assert isinstance(parts[-1], Weather)


@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_an_agent_ends_with_its_type(served: Served, strategy: Any) -> None:
    """Noise may call the tools before it answers; the graph bounds how often."""
    agent = create_agent(model(served), list(TOOLS.values()), response_format=strategy(Weather))
    state = agent.invoke({"messages": [HumanMessage(PROMPT)]}, {"recursion_limit": 60})
    assert isinstance(state["structured_response"], Weather)
