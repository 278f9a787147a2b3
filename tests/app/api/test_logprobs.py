"""Log probabilities through the API, as the official client reads them."""

import math
from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionTokenLogprob
from openai.types.chat.chat_completion import ChoiceLogprobs

from app.generation.sampling import MAX_LOGPROBS_KEPT
from tests.app.examples import ALARM, TOOLS, body, json_schema
from tests.app.gateway import Gateway

#: what was asked for besides log probabilities, and whether the content is complete JSON
ASKED: dict[str, dict[str, Any]] = {
    "text": {"max_completion_tokens": 80},
    "three choices": {"max_completion_tokens": 80, "n": 3},
    "a stop string": {"max_completion_tokens": 400, "stop": ["e", "th"]},
    "a schema": {"response_format": json_schema(ALARM)},
    "text or a call": {"tools": TOOLS, "max_completion_tokens": 200},
}


def added_up(
    client: openai.OpenAI, asked: dict[str, Any]
) -> dict[int, list[ChatCompletionTokenLogprob]]:
    """The tokens of each choice of a stream; checks that they come with content."""
    found: dict[int, list[ChatCompletionTokenLogprob]] = {}
    for chunk in client.chat.completions.create(**asked, stream=True):
        for choice in chunk.choices:
            if choice.delta.content:
                assert choice.logprobs is not None and choice.logprobs.content is not None
                found.setdefault(choice.index, []).extend(choice.logprobs.content)
            else:
                assert choice.logprobs is None
    return found


@pytest.mark.parametrize("top", [None, 0, 1, 20])
@pytest.mark.parametrize("name", ASKED)
def test_streamed_and_whole_answers_list_the_same_tokens(
    client: openai.OpenAI, name: str, top: int | None
) -> None:
    asked = body(**{"max_completion_tokens": 1500, **ASKED[name]}, logprobs=True, top_logprobs=top)
    answer: ChatCompletion = client.chat.completions.create(**asked)
    streamed = added_up(client, asked)
    for choice in answer.choices:
        if choice.message.content is None:
            assert choice.logprobs is None
            continue
        assert choice.logprobs is not None
        assert choice.logprobs.refusal is None
        tokens = choice.logprobs.content or []
        assert tokens == streamed.get(choice.index, [])
        check(choice.message.content, tokens, top or 0)


def check(content: str, tokens: list[ChatCompletionTokenLogprob], top: int) -> None:
    spelt = b"".join(bytes(token.bytes or ()) for token in tokens)
    assert content.encode() in spelt
    for token in tokens:
        assert token.token == bytes(token.bytes or ()).decode(errors="replace")
        assert -math.log(512) <= token.logprob <= 0
        assert len(token.top_logprobs) <= top
        assert sum(math.exp(other.logprob) for other in token.top_logprobs) <= 1 + 1e-9


def test_calls_and_reasoning_have_no_log_probabilities(client: openai.OpenAI) -> None:
    asked = body(tools=TOOLS, tool_choice="required", logprobs=True, top_logprobs=2)
    assert client.chat.completions.create(**asked).choices[0].logprobs is None
    for chunk in client.chat.completions.create(**asked, stream=True):
        assert [choice.logprobs for choice in chunk.choices] == [None]


@pytest.mark.parametrize("fields", [{}, {"logprobs": False}, {"logprobs": None, "top_logprobs": 0}])
def test_without_asking_there_are_none(client: openai.OpenAI, fields: dict[str, Any]) -> None:
    answer = client.chat.completions.create(**body(max_completion_tokens=5, **fields))
    assert answer.choices[0].logprobs is None


def test_an_empty_answer_has_an_empty_list(client: openai.OpenAI) -> None:
    """A stop string at the beginning leaves nothing."""
    plain = client.chat.completions.create(**body(max_completion_tokens=40))
    stop = (plain.choices[0].message.content or "")[:1]
    answer = client.chat.completions.create(**body(stop=stop, logprobs=True)).choices[0]
    assert answer.message.content == ""
    assert answer.logprobs == ChoiceLogprobs(content=[], refusal=None)


def test_the_number_of_log_probabilities_of_a_whole_answer_is_bounded(gateway: Gateway) -> None:
    """At the bound, and one past it; a stream has none."""
    most = MAX_LOGPROBS_KEPT // 20
    asked = {"logprobs": True, "top_logprobs": 19, "max_completion_tokens": most, "stop": "e"}
    assert gateway.post(body(**asked)).status_code == 200
    asked |= {"max_completion_tokens": most + 1}
    error = gateway.post(body(**asked)).json()["error"]
    assert (error["param"], error["code"]) == ("top_logprobs", "invalid_value")
    assert f"{MAX_LOGPROBS_KEPT:,}" in error["message"]
    assert gateway.post(body(**asked, stream=True)).status_code == 200


@pytest.mark.parametrize(
    "more",
    [
        {"include": ["message.output_text.logprobs"]},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 3},
        {"top_logprobs": 20},
    ],
)
def test_responses_have_those_of_chat_completions(client: openai.OpenAI, more: dict[str, Any]):
    """One seed: the same tokens in the answer, its stored form, the deltas and the done events."""
    top = more.get("top_logprobs")
    chat = client.chat.completions.create(
        **body(max_completion_tokens=60, seed=5), logprobs=True, top_logprobs=top
    )
    assert chat.choices[0].logprobs is not None
    expected = [each.model_dump() for each in chat.choices[0].logprobs.content or ()]
    assert expected
    asked: dict[str, Any] = {
        "model": "noise",
        "input": body()["messages"],
        "max_output_tokens": 60,
        "extra_body": {"seed": 5},
        **more,
    }
    response = client.responses.create(**asked)
    assert response.top_logprobs == (top or 0)
    assert response.output_text == chat.choices[0].message.content
    for found in (response, client.responses.retrieve(response.id)):
        (message,) = [item.model_dump() for item in found.output if item.type == "message"]
        assert message["content"][0]["logprobs"] == expected
    events = [event.model_dump() for event in client.responses.create(**asked, stream=True)]
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    (done,) = [event for event in events if event["type"] == "response.output_text.done"]
    assert [each for event in deltas for each in event["logprobs"]] == done["logprobs"] == expected
    assert "".join(event["delta"] for event in deltas) == response.output_text


def test_a_response_has_none_unless_asked(client: openai.OpenAI):
    response = client.responses.create(model="noise", input="a", max_output_tokens=20)
    (message,) = [item.model_dump() for item in response.output if item.type == "message"]
    assert message["content"][0]["logprobs"] == []


@pytest.mark.parametrize("stream", [False, True])
def test_the_kept_ones_of_a_response_are_bounded(client: openai.OpenAI, stream: bool):
    """The last event of a stream has all of them."""
    most = MAX_LOGPROBS_KEPT // 21 + 1
    with pytest.raises(openai.BadRequestError) as caught:
        client.responses.create(
            model="noise", input="a", max_output_tokens=most, top_logprobs=20, stream=stream
        )
    assert caught.value.param in ("top_logprobs", "max_output_tokens", "include")
