"""Whatever goes wrong with a SGLang server is a WorkerError that says whether another may do
better.
"""

from typing import Any

import httpx
import pytest

from adapters.workers import SGLangWorker, WorkerError

from .helpers import collect, run
from .sglang_fakes import RECORDED, TOKENS, Server, ask, event, streamed


@pytest.mark.parametrize(
    ("status", "body", "mapped", "retryable", "words"),
    [
        (400, (RECORDED / "unknown_field.400.json").read_text(), 400, False, "unknown field"),
        (413, "too large", 413, False, "too large"),
        (401, '{"error": "Unauthorized"}', 502, True, "Unauthorized"),
        (500, '{"error": {"message": "x"}}', 502, True, "x"),
        (503, '{"detail": "The request queue is full."}', 503, True, "queue is full"),
        (429, "", 503, True, "no reason given"),
        (400, "g" * 9000, 400, False, "SGLang: g{500}$"),
    ],
)
def test_http_errors(status: int, body: str, mapped: int, retryable: bool, words: str) -> None:
    """What is the request's fault is 400 and final; anything else may be tried elsewhere."""
    server = Server(lambda: httpx.Response(status, text=body))
    with pytest.raises(WorkerError, match=words) as caught:
        run(collect(server.worker(), ask()))
    assert (caught.value.status, caught.value.retryable) == (mapped, retryable)


FULL = {"type": "abort", "message": "The request queue is full.", "status_code": 503}
FAULTS = [
    # events, fault, status, retryable, words
    ([event([], 0, FULL)], None, 503, True, "queue is full"),
    ([event([5], 1), event([5], 1, FULL)], None, 503, False, "queue is full"),
    ([event([5], 1, {"type": "stop", "matched": "NaN happened"})], None, 502, False, "number"),
    ([event([5], 1), event([9], 4)], None, 502, False, "lost tokens"),
    ([event([5], 1), event([], 0)], None, 502, False, "lost tokens"),
    ([event([5000], 1)], None, 502, False, "not an event"),
    ([{"text": "x"}], None, 502, False, "not an event"),
    ([[]], None, 502, False, "not an event"),
    ([], None, 502, True, "too early"),
    ([event([5], 1)], None, 502, False, "too early"),
    ([], httpx.ReadError("cut"), 502, True, "cut"),
    ([event([5], 1)], httpx.RemoteProtocolError("cut"), 502, False, "cut"),
    ([event([5], 1)], httpx.ReadTimeout("slow"), 504, False, "ReadTimeout"),
    ([], httpx.ReadTimeout("slow"), 504, True, "ReadTimeout"),
]


@pytest.mark.parametrize(("events", "fault", "status", "retryable", "words"), FAULTS)
def test_broken_streams(
    events: list[Any], fault: Exception | None, status: int, retryable: bool, words: str
) -> None:
    """Every fault is a WorkerError, retryable only while nothing was handed on."""
    server = streamed(*events, fault=fault, done=fault is None)
    with pytest.raises(WorkerError, match=words) as caught:
        run(collect(server.worker(), ask()))
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


def test_nobody_listens() -> None:
    """A real refused connection: not ready, and retryable."""

    async def work() -> tuple[Any, WorkerError]:
        worker = SGLangWorker("http://127.0.0.1:9", tokens=TOKENS)
        await worker.start()
        health = await worker.health()
        with pytest.raises(WorkerError) as caught:
            await collect(worker, ask())
        await worker.aclose()
        with pytest.raises(WorkerError, match="shutting down"):
            await collect(worker, ask())
        return health, caught.value

    health, error = run(work())
    assert not health.ready
    assert (error.status, error.retryable) == (502, True)
