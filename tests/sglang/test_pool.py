"""A gateway before two real servers, one of which fails: the other answers.

Faults       the kernel's: all processes of a server are stopped (it hangs), or killed.
Not here     answers that a real server cannot be made to give (tests/app/pool).
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx
import openai
import pytest

from tests.real_input.asking import Answer, ask_all, client_of, complete
from tests.real_input.served import served_gateway

from .asked import PROMPTS
from .faults import kill, stopped, wait_for
from .server import SGLangServer
from .servers import Servers

OPERATOR = "an operator's key"
REQUESTS = 40
AT_ONCE = 8
DEADLINES = {
    "WORKER_FIRST_TOKEN_SECONDS": "5",
    "WORKER_TOKEN_SECONDS": "5",
    "WORKER_HEALTH_SECONDS": "1",
}


@pytest.fixture
def workers(sglang_server: Servers) -> list[SGLangServer]:
    return [sglang_server("switchyard", "--random-seed", seed) for seed in ("1", "2")]


@pytest.fixture
def gateway(workers: list[SGLangServer]) -> Iterator[str]:
    settings = {
        "WORKERS": ",".join(worker.base_url for worker in workers),
        "MODEL": str(workers[0].model),
        "MODEL_NAME": "tiny",
        "ADMIN_KEYS": OPERATOR,
        **DEADLINES,
    }
    with served_gateway(settings) as url:
        yield url


async def ask_many(url: str) -> list[Answer]:
    """Return the answers to ``REQUESTS`` requests, every second one streamed."""

    async def ask(number: int, prompt: str) -> Answer:
        return await complete(
            client,
            stream=number % 2 == 0,
            model="tiny",
            messages=[{"role": "user", "content": prompt}],
            max_tokens=20,
        )

    prompts = [PROMPTS[number % len(PROMPTS)] for number in range(REQUESTS)]
    async with client_of(url) as client:
        return await ask_all(prompts, ask, at_once=AT_ONCE)


def status(url: str) -> str:
    key = {"Authorization": f"Bearer {OPERATOR}"}
    found: str = httpx.get(f"{url}/health/ready", headers=key, timeout=60).json()["status"]
    return found


async def test_requests_of_a_hung_server_are_answered_by_the_other(
    gateway: str, workers: list[SGLangServer]
) -> None:
    assert [answer.error for answer in await ask_many(gateway)] == [None] * REQUESTS
    with stopped(workers[0]):
        assert [answer.error for answer in await ask_many(gateway)] == [None] * REQUESTS
        assert status(gateway) == "degraded"
    await wait_for(lambda: status(gateway) == "ok")


async def test_only_streams_of_a_killed_server_fail(
    gateway: str, workers: list[SGLangServer]
) -> None:
    request = {
        "model": "tiny",
        "messages": [{"role": "user", "content": PROMPTS[0]}],
        "max_completion_tokens": 1500,
        "stream": True,
        # so that no answer ends before the server does
        "extra_body": {"ignore_eos": True},
    }
    async with client_of(gateway) as client:
        create = client.chat.completions.create
        streams = await asyncio.gather(*(create(**request) for _ in range(AT_ONCE)))
        kill(workers[0])
        endings = await asyncio.gather(*map(ending, streams))
        failed = [end for end in endings if isinstance(end, openai.APIError)]
        assert 0 < len(failed) < AT_ONCE, endings
        assert all("worker" in error.message for error in failed), failed
        assert [answer.error for answer in await ask_many(gateway)] == [None] * REQUESTS
    workers[0].stop()
    workers[0].start()
    await wait_for(lambda: status(gateway) == "ok")


async def ending(stream: AsyncIterator[openai.types.chat.ChatCompletionChunk]) -> object:
    """Return how a stream ended: its finish reason, or the error that its client raised."""
    finish = None
    try:
        async for chunk in stream:
            finish = chunk.choices[0].finish_reason if chunk.choices else finish
    except openai.APIError as error:
        return error
    return finish
