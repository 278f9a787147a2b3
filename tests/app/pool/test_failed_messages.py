"""The Messages API when workers are late, fail or are busy, as Anthropic's client sees it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest
from anthropic.types import BetaErrorResponse

from tests.app.anthropic_messages import assembled, events_of
from tests.app.gateway import OPTIONS, Gateway
from tests.app.pool.gateways import gateway_of
from tests.app.wire import check
from tests.campaigns.workers.fake import Reply

#: seconds until a slow worker's first token
LATE_S = 0.3
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
ASKED: dict[str, Any] = {
    "model": "fake",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "number 7"}],
    "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
}


async def late(reply: Reply) -> None:
    await asyncio.sleep(LATE_S)
    await reply.answer()


async def broken(reply: Reply) -> None:
    await reply.whole(500, b"{}")


async def broken_in_the_middle(reply: Reply) -> None:
    await reply.begin()
    await reply.tokens(3)
    reply.writer.transport.abort()


async def late_and_broken(reply: Reply) -> None:
    await asyncio.sleep(LATE_S)
    await broken(reply)


async def never(reply: Reply) -> None:
    await asyncio.Event().wait()


def post(gateway: Gateway, **body: Any) -> httpx.Response:
    return httpx.post(gateway.url + "/v1/messages", json=ASKED | body, **OPTIONS)


def client_of(gateway: Gateway, retries: int = 0) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=gateway.url, api_key="k", max_retries=retries)


def test_a_silent_stream_is_kept_open_by_pings(folder: Path) -> None:
    with gateway_of(folder, 4096, act=late) as (gateway, _):
        read = events_of(post(gateway, stream=True))
        with client_of(gateway).messages.stream(**ASKED) as stream:
            message = stream.get_final_message()
    pings = [number for number, each in enumerate(read) if each["type"] == "ping"]
    assert len(pings) > 1
    plain = [each for number, each in enumerate(read) if number not in pings]
    assert assembled([plain[0], {"type": "ping"}, *plain[1:]])["content"][0]["text"] == '{"n": 7}'
    assert message.content[0].to_dict() == {"type": "text", "text": '{"n": 7}'}


@pytest.mark.parametrize("act", [broken_in_the_middle, late_and_broken])
def test_a_stream_that_fails_ends_with_an_error_event(folder: Path, act: Any) -> None:
    with gateway_of(folder, 4096, act=act) as (gateway, _):
        answer = post(gateway, stream=True)
        with (
            pytest.raises(anthropic.APIStatusError) as caught,
            client_of(gateway).messages.stream(**ASKED) as stream,
        ):
            stream.until_done()
        assert gateway.metric("switchyard_stream_errors_total") == 2
    assert answer.status_code == 200
    name, data = answer.text.strip().split("\n\n")[-1].split("\n")
    body = json.loads(data.removeprefix("data: "))
    check(BetaErrorResponse, body)
    assert name == "event: error" and body["request_id"] == answer.headers["request-id"]
    assert body["error"]["type"] in ("api_error", "overloaded_error")
    assert "message_stop" not in answer.text
    assert caught.value.body["error"]["type"] == body["error"]["type"]  # type: ignore[index]


def test_a_request_that_no_worker_answers_is_overloaded(folder: Path) -> None:
    with gateway_of(folder, 4096, act=broken, stream_comment_seconds=0) as (gateway, (worker,)):
        for stream in (False, True):
            answer = post(gateway, stream=stream)
            assert answer.status_code == 529
            assert answer.json()["error"]["type"] == "overloaded_error"
            assert answer.headers["retry-after"] == "1"
        worker.fault = None
        gateway.eventually(lambda: post(gateway).status_code == 200)


def test_the_official_client_retries_an_overload(folder: Path) -> None:
    settings = {"act": never, "max_running": 1, "max_queued": 0}
    with gateway_of(folder, 4096, **settings) as (gateway, (worker,)):
        chat = {"model": "fake", "messages": ASKED["messages"]}
        with gateway.raw_request(chat):
            gateway.eventually(lambda: worker.attempts == 1)
            with pytest.raises(anthropic.APIStatusError) as caught:
                client_of(gateway, retries=1).messages.create(**ASKED)
            assert caught.value.status_code == 529
        reason = {"reason": "queue_full"}
        assert gateway.metric("switchyard_admission_refused_total", **reason) == 2
