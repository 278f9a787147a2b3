"""LiteLLM between the APIs: each of its functions with each API of the gateway behind it."""

import json
from typing import Any

import litellm
import pytest
from pydantic import BaseModel

from ..served import Served
from ..shapes import PROMPT, SHAPES, Place, Weather

TYPES: dict[str, type[BaseModel]] = {"report": Weather, "locate": Place}
SCHEMAS = {name: shape.model_json_schema() for name, shape in TYPES.items()}
USER: Any = {"role": "user", "content": PROMPT}
#: what LiteLLM speaks to the gateway, by the name of the model
BEHIND = {
    "chat completions": "openai/noise",
    "chat completions as of vLLM": "hosted_vllm/noise",
    "responses": "openai/responses/noise",
    "messages": "anthropic/noise",
}
# LiteLLM's own types are such that Pydantic warns of them
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
    pytest.mark.parametrize("behind", BEHIND),
]


@pytest.fixture
def asked(served: Served, behind: str) -> dict[str, Any]:
    """Return the arguments of every call."""
    base = served.address if behind == "messages" else served.url
    return {"model": BEHIND[behind], "api_base": base, "api_key": "none", "num_retries": 0}


def check(name: str, arguments: str) -> None:
    """Check that the arguments of a call are what its tool takes."""
    TYPES[name].model_validate_json(arguments)


# -- litellm.completion ----------------------------------------------------------------------------


async def completed(asked: dict[str, Any], is_streamed: bool, **more: Any) -> Any:
    answer: Any = await litellm.acompletion(stream=is_streamed, max_tokens=20_000, **more, **asked)
    if is_streamed:
        answer = litellm.stream_chunk_builder([chunk async for chunk in answer])
    return answer.choices[0].message


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_loop_of_completions(asked: dict[str, Any], is_streamed: bool) -> None:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name, schema in SCHEMAS.items()
    ]
    messages: list[Any] = [USER]
    for choice in ("required", {"type": "function", "function": {"name": "locate"}}):
        message = await completed(
            asked, is_streamed, messages=messages, tools=tools, tool_choice=choice
        )
        assert message.tool_calls
        messages.append(message)
        for call in message.tool_calls:
            check(call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "ok"})
    final = await completed(asked, is_streamed, messages=messages, tools=tools, tool_choice="none")
    assert isinstance(final.content, str)
    assert not final.tool_calls


@pytest.mark.parametrize(
    ("shape", "is_streamed"), [(Weather, True), *((shape, False) for shape in SHAPES)]
)
async def test_a_response_format(
    asked: dict[str, Any], shape: type[BaseModel], is_streamed: bool
) -> None:
    """REGRESSION: LiteLLM's references to definitions have no "#" in Anthropic's API."""
    message = await completed(asked, is_streamed, messages=[USER], response_format=shape)
    assert isinstance(shape.model_validate_json(message.content), shape)


# -- litellm.responses -----------------------------------------------------------------------------


async def responded(asked: dict[str, Any], is_streamed: bool, **more: Any) -> Any:
    answer: Any = await litellm.aresponses(
        stream=is_streamed, max_output_tokens=20_000, **more, **asked
    )
    if is_streamed:
        events = [event async for event in answer]
        assert events[-1].type == "response.completed"
        answer = events[-1].response
    return answer.output


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_loop_of_responses(asked: dict[str, Any], is_streamed: bool) -> None:
    tools = [
        {"type": "function", "name": name, "parameters": schema, "strict": False}
        for name, schema in SCHEMAS.items()
    ]
    items: list[Any] = [USER]
    for choice in ("required", {"type": "function", "name": "locate"}):
        output = await responded(asked, is_streamed, input=items, tools=tools, tool_choice=choice)
        calls = [item for item in output if item.type == "function_call"]
        assert calls
        items += [item.model_dump(exclude_none=True) for item in output]
        for call in calls:
            check(call.name, call.arguments)
            item = {"type": "function_call_output", "call_id": call.call_id, "output": "ok"}
            items.append(item)
    final = await responded(asked, is_streamed, input=items, tools=tools, tool_choice="none")
    assert {item.type for item in final} <= {"message", "reasoning"}


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_text_format(asked: dict[str, Any], is_streamed: bool) -> None:
    form = {"type": "json_schema", "name": "weather", "schema": SCHEMAS["report"]}
    output = await responded(asked, is_streamed, input=PROMPT, text={"format": form})
    (message,) = [item for item in output if item.type == "message"]
    Weather.model_validate_json(message.content[0].text)


# -- litellm.anthropic_messages --------------------------------------------------------------------


async def said(asked: dict[str, Any], is_streamed: bool, **more: Any) -> list[Any]:
    """Return the blocks of a message."""
    answer: Any = await litellm.anthropic_messages(
        stream=is_streamed, max_tokens=20_000, **more, **asked
    )
    if not is_streamed:
        return list(answer["content"])
    chunks = [chunk async for chunk in answer]
    lines = b"".join(chunks).decode().splitlines()
    return added([json.loads(line[5:]) for line in lines if line.startswith("data:")])


def added(events: list[Any]) -> list[Any]:
    """Put the blocks of a stream together."""
    blocks: dict[int, Any] = {}
    inputs: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = event["content_block"]
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            if delta["type"] == "input_json_delta":
                inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
            else:
                name = delta["type"].removesuffix("_delta")
                block[name] = block.get(name, "") + delta[name]
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text)
    return list(blocks.values())


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_loop_of_messages(asked: dict[str, Any], is_streamed: bool) -> None:
    tools = [{"name": name, "input_schema": schema} for name, schema in SCHEMAS.items()]
    messages: list[Any] = [USER]
    for choice in ({"type": "any"}, {"type": "tool", "name": "locate"}):
        blocks = await said(asked, is_streamed, messages=messages, tools=tools, tool_choice=choice)
        calls = [block for block in blocks if block["type"] == "tool_use"]
        assert calls
        results = []
        for call in calls:
            check(call["name"], json.dumps(call["input"]))
            results.append({"type": "tool_result", "tool_use_id": call["id"], "content": "ok"})
        messages += [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    none = {"type": "none"}
    final = await said(asked, is_streamed, messages=messages, tools=tools, tool_choice=none)
    assert "tool_use" not in {block["type"] for block in final}


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_an_output_format(asked: dict[str, Any], is_streamed: bool) -> None:
    form = {"type": "json_schema", "schema": SCHEMAS["report"]}
    output = {"output_config": {"format": form}}
    blocks = await said(asked, is_streamed, messages=[USER], **output)
    (text,) = [block["text"] for block in blocks if block["type"] == "text"]
    Weather.model_validate_json(text)
