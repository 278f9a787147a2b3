"""The official Python client on responses: parsed and streamed answers, tool loops, chains."""

from typing import Any

import openai
import pytest
from pydantic import BaseModel

from ..served import Served
from ..shapes import PROMPT, SHAPES, Place, Weather

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "instructions": "Be brief.",
    "temperature": 0.2,
    "top_p": 0.9,
    "max_output_tokens": 30_000,
    "metadata": {"run": "1"},
    "service_tier": "auto",
    "safety_identifier": "someone",
    "prompt_cache_key": "weather",
    "truncation": "disabled",
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "high", "summary": "auto"},
}
TOOLS: list[Any] = [
    openai.pydantic_function_tool(Weather, name="report"),
    openai.pydantic_function_tool(Place, name="locate"),
]
TYPES: dict[str, type[BaseModel]] = {"report": Weather, "locate": Place}
#: the turns of a loop: a call, a certain call, an answer
TURNS: tuple[Any, ...] = ("required", {"type": "function", "name": "locate"}, "none")


@pytest.fixture
def client(served: Served) -> openai.OpenAI:
    return openai.OpenAI(base_url=served.url, api_key="none", max_retries=0)


def seeded(seed: int) -> dict[str, Any]:
    return {"model": "noise", "extra_body": {"seed": seed, "top_k": 40}, **OPTIONS}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_parse_gives_the_model(client: openai.OpenAI, shape: type[BaseModel], seed: int) -> None:
    response = client.responses.parse(input=PROMPT, text_format=shape, **seeded(seed))
    assert isinstance(response.output_parsed, shape)


@pytest.mark.parametrize("is_stored", [False, True])
@pytest.mark.parametrize("is_streamed", [False, True])
def test_a_loop_of_parsed_calls(client: openai.OpenAI, is_stored: bool, is_streamed: bool) -> None:
    """Items go back as the client made them, or the gateway has them."""
    tools = [{"type": "function", **tool["function"]} for tool in TOOLS]
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    previous = None
    for seed, choice in enumerate(TURNS):
        asked: dict[str, Any] = {
            "input": items, "tools": tools, "tool_choice": choice, "store": is_stored,
            **seeded(seed),
        }  # fmt: skip
        if previous:
            asked["previous_response_id"] = previous
        if is_streamed:
            with client.responses.stream(**asked) as stream:
                response = stream.get_final_response()
        else:
            response = client.responses.parse(**asked)
        outputs = [answered(item) for item in response.output if item.type == "function_call"]
        assert bool(outputs) == (choice != "none")
        previous = response.id if is_stored else None
        items = outputs if is_stored else [*items, *response.output, *outputs]
    assert response.output_text


def answered(call: Any) -> dict[str, Any]:
    """The output for a call, whose arguments must be what its tool takes."""
    TYPES[call.name].model_validate_json(call.arguments)
    return {"type": "function_call_output", "call_id": call.call_id, "output": "ok"}


def test_errors_have_their_place_and_their_class(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(model="noise", input=PROMPT, prompt={"id": "p"})
    assert (refused.value.param, refused.value.code) == ("prompt", "unsupported_parameter")
    with pytest.raises(openai.BadRequestError) as missing:
        client.responses.create(model="noise", input=PROMPT, previous_response_id="resp_1")
    assert missing.value.code == "previous_response_not_found"
