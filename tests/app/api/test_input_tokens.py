"""POST /v1/responses/input_tokens, with the official client."""

from typing import Any

import openai
import pytest

from tests.app.examples import LIGHT
from tests.app.gateway import Gateway, gateway_fixture

gateway = gateway_fixture(format="hermes", reasoning="on")

USER: Any = {"role": "user", "content": "Hello"}
FUNCTION: Any = {"type": "function", "name": "set_light", "parameters": LIGHT}
PROMPTS: dict[str, dict[str, Any]] = {
    "text": {"input": "Hello"},
    "instructions": {"input": [USER], "instructions": "Be short.", "reasoning": {"effort": "low"}},
    "tools": {"input": [USER], "tools": [FUNCTION], "tool_choice": "required"},
    "no thought": {"input": [USER], "extra_body": {"enable_thinking": False}},
    "a schema": {
        "input": "As JSON.",
        "text": {
            "format": {"type": "json_schema", "name": "light", "schema": LIGHT},
            "verbosity": "low",
        },
    },
}


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="-", max_retries=0)


@pytest.mark.parametrize("asked", PROMPTS.values(), ids=PROMPTS.keys())
def test_a_count_is_the_usage_of_the_same_response(
    client: openai.OpenAI, asked: dict[str, Any]
) -> None:
    counted = client.responses.input_tokens.count(model="noise", **asked)
    assert counted.model_dump().keys() == {"object", "input_tokens"}
    assert counted.object == "response.input_tokens"
    response = client.responses.create(model="noise", max_output_tokens=1, **asked)
    assert response.usage and counted.input_tokens == response.usage.input_tokens


def test_a_count_has_the_conversation_that_it_continues(client: openai.OpenAI) -> None:
    first = client.responses.create(model="noise", max_output_tokens=5, input="Hello")
    more: Any = {"model": "noise", "input": "And?", "previous_response_id": first.id}
    counted = client.responses.input_tokens.count(**more)
    response = client.responses.create(**more, max_output_tokens=1)
    assert response.usage and counted.input_tokens == response.usage.input_tokens
    assert counted.input_tokens > client.responses.input_tokens.count(input="And?").input_tokens


def test_what_a_count_leaves_out_is_named(gateway: Gateway, client: openai.OpenAI) -> None:
    items: Any = [{"type": "web_search_call", "id": "ws_1", "status": "completed"}, USER]
    tools: Any = [{"type": "web_search"}]
    raw = client.responses.input_tokens.with_raw_response
    answer = raw.count(input=items, tools=tools, personality="friendly")
    assert answer.headers["x-switchyard-ignored"] == "input/0 web_search_call, tools/0 web_search"
    assert answer.parse() == client.responses.input_tokens.count(input=[USER])
    assert gateway.metric("switchyard_ignored_parts_total", kind="web_search_call") == 1


#: (fields, param)
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "input"),
    ({"input": "x", "personality": "x" * 65}, "personality"),
    ({"input": "x", "extra_body": {"inpt": 1}}, "inpt"),
    ({"previous_response_id": "resp_1", "conversation": "conv_1"}, "conversation"),
    ({"input": "x", "tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice"),
]


@pytest.mark.parametrize(("asked", "param"), REFUSED)
def test_mistakes_are_named(client: openai.OpenAI, asked: dict[str, Any], param: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.input_tokens.count(**asked)
    assert caught.value.param == param
