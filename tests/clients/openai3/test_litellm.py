"""LiteLLM: completions with tools and response formats, whole and streamed."""

import json
from typing import Any

import litellm
import pytest
from pydantic import BaseModel

from ..served import Served
from ..shapes import PROMPT, SHAPES, Place, Weather

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "max_tokens": 30_000,
    "frequency_penalty": 0.1,
    "presence_penalty": 0.1,
    "stop": ["Observation:"],
    "user": "someone",
    "extra_body": {"top_k": 40, "min_p": 0.05, "repetition_penalty": 1.1},
}
TYPES: dict[str, type[BaseModel]] = {"report": Weather, "locate": Place}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": shape.model_json_schema()}}
    for name, shape in TYPES.items()
]
# LiteLLM's own types are such that Pydantic warns of them
pytestmark = pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier")
TURNS = ("required", {"type": "function", "function": {"name": "locate"}}, "none")


@pytest.fixture
def asked(served: Served) -> dict[str, Any]:
    """Return the arguments of every call."""
    return {"model": "openai/noise", "api_base": served.url, "api_key": "none", "num_retries": 0}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_a_response_format(asked: dict[str, Any], seed: int, shape: type[BaseModel]) -> None:
    answer = litellm.completion(
        messages=[{"role": "user", "content": PROMPT}], response_format=shape, seed=seed,
        **OPTIONS, **asked,
    )  # fmt: skip
    assert isinstance(shape.model_validate_json(answer.choices[0].message.content), shape)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_loop_of_calls(asked: dict[str, Any], seed: int, is_streamed: bool) -> None:
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    for choice in TURNS:
        answer = litellm.completion(
            messages=messages, tools=TOOLS, tool_choice=choice, seed=seed, stream=is_streamed,
            **OPTIONS, **asked,
        )  # fmt: skip
        if is_streamed:
            answer = litellm.stream_chunk_builder(list(answer), messages=messages)
        message = answer.choices[0].message
        messages += [message, *results(message.tool_calls)]
    assert message.content
    assert not message.tool_calls


async def test_thoughts_come_back(asked: dict[str, Any], served: Served) -> None:
    thoughts: list[str | None] = []
    for seed in served.seeds(thoughts):
        answer = await litellm.acompletion(
            messages=[{"role": "user", "content": PROMPT}], tools=TOOLS, tool_choice="required",
            seed=seed, **asked,
        )  # fmt: skip
        thoughts.append(getattr(answer.choices[0].message, "reasoning_content", None))
    assert any(thoughts) == served.thinks


def results(calls: Any) -> list[Any]:
    """Tool messages for calls, whose arguments must be what their tool takes."""
    found = []
    for call in calls or ():
        TYPES[call.function.name].model_validate_json(call.function.arguments)
        content = json.dumps({"ok": True})
        found.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return found
