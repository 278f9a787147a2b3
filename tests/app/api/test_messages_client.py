"""POST /v1/messages as Anthropic's client for Python uses it: streams, parsed answers, tools."""

from collections.abc import Iterator
from typing import Any, Literal

import anthropic
import pytest
from anthropic.types import Message, MessageTokensCount, ThreadUnsupportedRequestErrorDetails
from anthropic.types.beta import BetaMessage
from pydantic import BaseModel

from tests.app.anthropic_messages import WEATHER
from tests.app.gateway import Gateway
from tests.app.wire import check

USER = {"role": "user", "content": "Hello"}
ASKED: dict[str, Any] = {"model": "noise", "max_tokens": 4000, "messages": [USER]}


class Light(BaseModel):
    on: bool
    room: Literal["hall", "attic"]


@anthropic.beta_tool
def weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: where
    """
    return f"It is warm in {city}."


@pytest.fixture(scope="module", params=["hermes", "harmony"])
def client(request: pytest.FixtureRequest) -> Iterator[anthropic.Anthropic]:
    with Gateway(format=request.param, reasoning="on") as running:
        yield anthropic.Anthropic(base_url=running.url, api_key="k", max_retries=0)


@pytest.mark.parametrize("tools", [[], [WEATHER]])
def test_a_streamed_answer_can_be_sent_back(client: anthropic.Anthropic, tools: list[Any]) -> None:
    for messages, kind in ((client.messages, Message), (client.beta.messages, BetaMessage)):
        asked: Any = ASKED | ({"tools": tools, "tool_choice": {"type": "any"}} if tools else {})
        with messages.stream(**asked, extra_body={"seed": 1}) as stream:
            message = stream.get_final_message()
        check(kind, message.to_dict())
        assert message.stop_reason == ("tool_use" if tools else "end_turn")
        assert message.model_dump() == {
            **messages.create(**asked, extra_body={"seed": 1}).model_dump(),
            "id": message.id,
            "content": [block.model_dump() for block in message.content],
        }
        said = {"role": "assistant", "content": message.content}
        again: Any = {**asked, "messages": [USER, said, USER], "max_tokens": 1}
        assert messages.create(**again).stop_reason == "max_tokens"


def test_parsed_answers_have_the_form_that_was_asked(client: anthropic.Anthropic) -> None:
    for messages in (client.messages, client.beta.messages):
        parsed: Any = messages.parse(**ASKED, output_format=Light)
        assert isinstance(parsed.parsed_output, Light)
        with messages.stream(**ASKED, output_format=Light) as stream:
            streamed: Any = stream.get_final_message()
        assert isinstance(streamed.parsed_output, Light)


@pytest.mark.parametrize("streams", [False, True])
def test_the_tool_runner_sends_the_whole_conversation(
    client: anthropic.Anthropic, streams: bool
) -> None:
    """REGRESSION: it leaves the history to a thread of the server, unless that refuses one."""
    choice = {"type": "any", "disable_parallel_tool_use": True}
    runner: Any = client.beta.messages.tool_runner(
        **ASKED, tools=[weather], tool_choice=choice, max_iterations=3, stream=streams
    )
    messages = [each.get_final_message() if streams else each for each in runner]
    prompts = [message.usage.input_tokens for message in messages]
    assert [message.stop_reason for message in messages] == ["tool_use"] * 3
    assert prompts == sorted(set(prompts))


def test_a_thread_is_refused_by_its_code(client: anthropic.Anthropic) -> None:
    thread = client.beta.messages.thread(model="noise", max_tokens=5)
    with pytest.raises(anthropic.BadRequestError) as caught:
        thread.send({"role": "user", "content": "Hello"})
    body: Any = caught.value.body
    assert body["error"]["message"].startswith("Unsupported parameter: 'thread'")
    check(ThreadUnsupportedRequestErrorDetails, body["error"]["details"])


def test_tokens_are_counted(client: anthropic.Anthropic) -> None:
    messages: Any = [USER]
    plain = client.messages.count_tokens(model="noise", messages=messages)
    tools: Any = [WEATHER]
    beta = client.beta.messages.count_tokens(
        model="noise", messages=messages, tools=tools, betas=["a-beta-2026-01-01"]
    )
    check(MessageTokensCount, plain.to_dict())
    assert 0 < plain.input_tokens < beta.input_tokens


def test_an_unknown_model_is_not_found(client: anthropic.Anthropic) -> None:
    for ask in (
        lambda: client.models.retrieve("other"),
        lambda: client.messages.create(model="other", max_tokens=5, messages=[USER]),  # type: ignore[list-item]
    ):
        with pytest.raises(anthropic.NotFoundError) as caught:
            ask()
        body: Any = caught.value.body
        assert caught.value.request_id and body["error"]["type"] == "not_found_error"
