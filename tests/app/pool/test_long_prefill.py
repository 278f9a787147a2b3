"""Answers that begin late, prompts that do not fit, and what usage says of both.

The workers are fakes that speak SGLang's wire over real sockets: a real one can't be made slow on
demand.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.app.gateway import OPERATOR, Gateway
from tests.app.pool.gateways import gateway_of
from tests.campaigns.workers.fake import Reply

#: seconds until a slow worker's first token
LATE_S = 0.5
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASKED: dict[str, Any] = {
    "model": "fake",
    "messages": [{"role": "user", "content": "number 7"}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
}


async def late(reply: Reply) -> None:
    await asyncio.sleep(LATE_S)
    await reply.answer()


async def late_and_broken(reply: Reply) -> None:
    await asyncio.sleep(LATE_S)
    await reply.whole(500, b"{}")


async def never(reply: Reply) -> None:
    await asyncio.Event().wait()


async def cached(reply: Reply) -> None:
    await reply.begin()
    last = reply.state(reply.ids, {"type": "stop"}, prompt_tokens=40, cached_tokens=32)
    await reply.event(last)
    await reply.piece(b"data: [DONE]\n\n")
    await reply.end()


def lines_of(gateway: Gateway) -> tuple[int, list[str]]:
    """The status and the lines of a streamed answer."""
    answer = gateway.post(ASKED | {"stream": True})
    return answer.status_code, [line for line in answer.text.split("\n") if line]


def test_a_stream_begins_before_its_first_token(folder: Path) -> None:
    with gateway_of(folder, 4096, act=late) as (gateway, _):
        status, lines = lines_of(gateway)
    assert status == 200 and lines[-1] == "data: [DONE]"
    first = next(n for n, line in enumerate(lines) if line.startswith("data: "))
    assert first > 1 and set(lines[:first]) == {": keep-alive"}
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[first:-1]]
    text = "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)
    assert text == '{"n": 7}'


def test_the_official_client_reads_on_over_comments(folder: Path) -> None:
    with gateway_of(folder, 4096, act=late) as (gateway, _):
        client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none")
        with client.chat.completions.create(**ASKED, stream=True) as stream:
            text = "".join(c.choices[0].delta.content or "" for c in stream)
    assert text == '{"n": 7}'


def test_a_failure_after_the_beginning_is_an_event(folder: Path) -> None:
    with gateway_of(folder, 4096, act=late_and_broken) as (gateway, _):
        status, lines = lines_of(gateway)
        assert gateway.metric("switchyard_stream_errors_total") == 1
    assert status == 200 and lines[0] == ": keep-alive" and "data: [DONE]" not in lines
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["code"] == "overloaded"


@pytest.mark.parametrize("seconds", [0, 30])
def test_a_failure_before_the_beginning_has_a_status(folder: Path, seconds: float) -> None:
    settings = {"act": late_and_broken, "stream_comment_seconds": seconds}
    with gateway_of(folder, 4096, **settings) as (gateway, _):
        status, lines = lines_of(gateway)
    assert status == 503 and json.loads(lines[0])["error"]["code"] == "overloaded"


def test_a_client_that_leaves_while_it_waits_ends_the_generation(folder: Path) -> None:
    with gateway_of(folder, 4096, act=never) as (gateway, (worker,)):
        address = f"{gateway.url}/v1/chat/completions"
        with httpx.stream("POST", address, json=ASKED | {"stream": True}, timeout=30) as answer:
            assert next(answer.iter_lines()) == ": keep-alive"
        gateway.eventually(lambda: worker.aborts == 1)
        gateway.eventually(lambda: gateway.metric("switchyard_client_disconnects_total") == 1)


def test_a_client_that_leaves_while_it_waits_for_a_worker_leaves_the_queue(folder: Path) -> None:
    settings = {"act": never, "worker_max_running": 1, "admin_keys": OPERATOR}
    with gateway_of(folder, 4096, **settings) as (gateway, (worker,)):
        key = {"Authorization": f"Bearer {OPERATOR}"}

        def waiting() -> int:
            return int(gateway.get("/admin/workers", headers=key).json()["waiting"])

        with gateway.raw_request(ASKED):
            gateway.eventually(lambda: worker.attempts == 1)
            with gateway.raw_request(ASKED):
                gateway.eventually(lambda: waiting() == 1)
            gateway.eventually(lambda: waiting() == 0)
            assert worker.attempts == 1
        gateway.eventually(lambda: worker.aborts == 1)


def test_a_wait_ends_at_the_requests_deadline(folder: Path) -> None:
    with gateway_of(folder, 4096, act=never, request_timeout=LATE_S) as (gateway, _):
        _, lines = lines_of(gateway)
    assert json.loads(lines[-1].removeprefix("data: "))["error"]["code"] == "timeout"


# -- the model's context ---------------------------------------------------------------------------


def prompt_tokens(gateway: Gateway) -> int:
    refused = gateway.post(ASKED | {"messages": [{"role": "user", "content": "number 7 " * 2000}]})
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, "context_length_exceeded")
    assert (error["param"], error["type"]) == ("messages", "invalid_request_error")
    assert error["message"].startswith("This model's maximum context length is ")
    return int(error["message"].split(" resulted in ")[1].split()[0])


def test_a_prompt_without_room_reaches_no_worker(folder: Path) -> None:
    with gateway_of(folder, 1000) as (gateway, (worker,)):
        assert gateway.get("/v1/models").json()["data"][0]["max_model_len"] == 1000
        assert gateway.get("/v1/models/fake").json()["max_model_len"] == 1000
        assert prompt_tokens(gateway) > 1000
        assert worker.attempts == 0


def test_the_bound_of_the_context_and_one_past_it(folder: Path) -> None:
    with gateway_of(folder, 1000) as (gateway, _):
        words = 2000
        content = [{"role": "user", "content": "number 7 " * words}]
        taken = prompt_tokens(gateway)
    for length, status in ((taken + 1, 200), (taken, 400)):
        with gateway_of(folder, length) as (gateway, _):
            assert gateway.post(ASKED | {"messages": content}).status_code == status


def test_a_long_prompt_goes_to_the_worker_that_holds_it(folder: Path) -> None:
    """And the other one, which was not asked, is not at fault."""
    with gateway_of(folder, 1000, 100_000) as (gateway, (small, large)):
        assert gateway.get("/v1/models").json()["data"][0]["max_model_len"] == 100_000
        for _ in range(4):
            content = [{"role": "user", "content": "number 7 " * 2000}]
            assert gateway.post(ASKED | {"messages": content}).status_code == 200
        assert (small.attempts, large.attempts) == (0, 4)
        assert gateway.metric("switchyard_worker_failures_total") == 0


def test_nothing_is_refused_while_a_length_is_not_known(folder: Path) -> None:
    with gateway_of(folder, 0) as (gateway, _):
        assert "max_model_len" not in gateway.get("/v1/models").json()["data"][0]
        assert gateway.post(ASKED).status_code == 200


def test_usage_says_what_the_worker_had_cached(folder: Path) -> None:
    with gateway_of(folder, 4096, act=cached) as (gateway, _):
        used = gateway.post(ASKED | {"n": 2}).json()["usage"]
    assert used["prompt_tokens"] == 40
    assert used["prompt_tokens_details"]["cached_tokens"] == 32
    assert used["completion_tokens_details"]["reasoning_tokens"] == 0
