"""Every failure of an SGLang server is a WorkerError with its reason."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from adapters.workers import FailureReason, PromptTooLong, SGLangWorker, WorkerError
from adapters.workers.http_client import MAX_ANSWER_BYTES
from adapters.workers.sglang_health import SHOWN
from adapters.workers.sglang_run import EVENT_BYTES, TOKEN_BYTES
from adapters.workers.sglang_wire import PIECE, request_body

from .helpers import collect, run
from .sglang_fakes import RECORDED, TOKENS, Body, MockClient, Server, ask, event, streamed


@pytest.mark.parametrize(
    ("status", "body", "mapped", "reason", "words"),
    [
        (400, (RECORDED / "unknown_field.400.json").read_text(), 400, "refused", "unknown field"),
        (413, "too large", 413, "refused", "too large"),
        (422, '{"detail": [{"msg": "x"}]}', 400, "refused", "x"),
        (401, '{"error": "Unauthorized"}', 502, "status", "Unauthorized"),
        (404, "", 502, "status", "no reason given"),
        (302, "", 502, "status", "no reason given"),
        (204, "", 502, "status", "no reason given"),
        (500, '{"error": {"message": "x"}}', 502, "status", "x"),
        (
            500,
            '{"error": "Decode transfer failed for request"}',
            502,
            "transfer",
            "Decode transfer",
        ),
        (500, '{"error": "KV checksum mismatch"}', 502, "transfer", "KV checksum"),
        (
            500,
            '{"error": "Metadata corruption detected - bootstrap_room mismatch"}',
            502,
            "transfer",
            "Metadata corruption",
        ),
        (500, "[" * 100_000, 502, "status", r"\[\[\["),
        (400, '{"error": "\\ud800"}', 400, "refused", r"\\ud800"),
        (500, b"\xff\xfe", 502, "status", "\ufffd"),
        (503, '{"detail": "The request queue is full."}', 503, "full", "queue is full"),
        (429, "", 503, "unavailable", "no reason given"),
        (400, "g" * 9000, 400, "refused", "SGLang: g{500}$"),
        (500, "g" * MAX_ANSWER_BYTES, 502, "status", "SGLang: g{500}$"),
        (500, "g" * (MAX_ANSWER_BYTES + 1), 502, "protocol", "more than 1,048,576 bytes"),
    ],
)
def test_http_errors(
    status: int, body: str | bytes, mapped: int, reason: FailureReason, words: str
) -> None:
    """400, 413 and 422 blame the request; anything else is the server's failure."""
    data = body.encode() if isinstance(body, str) else body
    server = Server(lambda: httpx.Response(status, stream=Body(data, 1 << 16)))
    with pytest.raises(WorkerError, match=words) as caught:
        run(collect(server.worker(), ask()))
    assert (caught.value.status, caught.value.reason) == (mapped, reason)


FULL = {"type": "abort", "message": "The request queue is full.", "status_code": 503}
DISPLACED = FULL | {"message": "The request is aborted by a higher priority request."}
TIMED_OUT = FULL | {"message": "Request waiting timeout reached."}
STOP = {"type": "stop"}


def changed(change: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    """A good event with one thing changed."""
    good = event([5], 1)
    change(good)
    return good


def meta(**values: Any) -> dict[str, Any]:
    return changed(lambda good: good["meta_info"].update(values))


FAULTS: list[tuple[list[Any], Exception | None, int, FailureReason, str]] = [
    # events, fault, status, reason, words
    ([event([], 0, FULL)], None, 503, "full", "queue is full"),
    ([event([5], 1), event([5], 1, FULL)], None, 503, "full", "queue is full"),
    ([event([5], 1), event([5], 1, DISPLACED)], None, 503, "full", "higher priority"),
    ([event([], 0, TIMED_OUT)], None, 503, "unavailable", "waiting timeout"),
    ([event([], 0, {"type": "abort"})], None, 502, "aborted", "no reason given"),
    ([event([5], 1, {"type": "stop", "matched": "NaN happened"})], None, 502, "aborted", "NaN"),
    ([event([5], 1, {"type": "whatever"})], None, 502, "protocol", "not an event"),
    ([event([5], 1, "stop")], None, 502, "protocol", "not an event"),
    ([event([5], 1, ["stop"])], None, 502, "protocol", "not an event"),
    ([event([5], 1), event([9], 4)], None, 502, "protocol", "lost tokens"),
    ([event([5], 1), event([], 0)], None, 502, "protocol", "lost tokens"),
    # REGRESSION: an id below 0 was read as one from the vocabulary's end
    ([event([-1], 1)], None, 502, "protocol", "not an event"),
    ([event([4096], 1)], None, 502, "protocol", "must be below 4,096, got 4096"),
    ([event([1 << 70], 1)], None, 502, "protocol", "not an event"),
    ([event([True], 1)], None, 502, "protocol", "not an event"),  # type: ignore[list-item]
    ([event([5.0], 1)], None, 502, "protocol", "not an event"),  # type: ignore[list-item]
    ([event("abc", 1)], None, 502, "protocol", "not an event"),  # type: ignore[arg-type]
    # REGRESSION: a count that was none passed, and broke the usage at the answer's end
    ([meta(prompt_tokens="3")], None, 502, "protocol", "not an event"),
    ([meta(prompt_tokens=-1)], None, 502, "protocol", "not an event"),
    ([meta(completion_tokens=1.0)], None, 502, "protocol", "not an event"),
    ([{"text": "x"}], None, 502, "protocol", "not an event"),
    ([[]], None, 502, "protocol", "not an event"),
    ([None], None, 502, "protocol", "not an event"),
    ([{"error": {"message": "out of memory"}}], None, 502, "status", "out of memory"),
    ([{"error": {"message": "bad", "code": 400}}], None, 400, "refused", "bad"),
    ([], None, 502, "truncated", "too early"),
    ([event([5], 1)], None, 502, "truncated", "too early"),
    ([], httpx.ReadError("cut"), 502, "connection", "cut"),
]


@pytest.mark.parametrize(("events", "fault", "status", "reason", "words"), FAULTS)
def test_broken_streams(
    events: list[Any],
    fault: Exception | None,
    status: int,
    reason: FailureReason,
    words: str,
) -> None:
    """Every fault is a WorkerError, and aborts the request at the server if it still runs."""

    async def work() -> tuple[WorkerError, Server]:
        server = streamed(*events, fault=fault, done=fault is None)
        worker = server.worker()
        with pytest.raises(WorkerError, match=words) as caught:
            await collect(worker, ask())
        await worker.aclose()
        return caught.value, server

    error, server = run(work())
    assert (error.status, error.reason) == (status, reason)
    assert len(server.sent("/abort_request")) <= 1


RAW: list[tuple[bytes, FailureReason]] = [
    (b"data: \xff\xfe\n\n", "protocol"),
    (b"data: {\n\n", "protocol"),
    (b"data: " + b"[" * 100_000 + b"\n\n", "protocol"),
    (b"data: " + b"9" * 5_000 + b"\n\n", "protocol"),
    (b"data: \n\n", "protocol"),
    (b"<html>it works</html>\n", "truncated"),
    (b'{"error": {"message": "no"}}', "truncated"),
    (b": ping\n\n" * 10, "truncated"),
    (b"data: [DONE]\n\n", "truncated"),
    (b"\0" * 1000, "truncated"),
]


@pytest.mark.parametrize(("data", "reason"), RAW)
def test_bodies_that_are_no_events(data: bytes, reason: FailureReason) -> None:
    server = Server(lambda: httpx.Response(200, stream=Body(data, 1 << 16)))
    with pytest.raises(WorkerError) as caught:
        run(collect(server.worker(), ask()))
    assert (caught.value.status, caught.value.reason) == (502, reason)


@pytest.mark.parametrize(("past", "reason"), [(0, "truncated"), (1, "protocol")])
def test_an_event_is_bounded_by_the_tokens_asked_for(past: int, reason: FailureReason) -> None:
    """REGRESSION: each request could make the gateway hold 64 MB of an event without end."""
    data = b"x" * (EVENT_BYTES + 60 * TOKEN_BYTES + past)
    server = Server(lambda: httpx.Response(200, stream=Body(data, 1 << 16)))
    with pytest.raises(WorkerError) as caught:
        run(collect(server.worker(), ask(max_tokens=60)))
    assert caught.value.reason == reason


def test_nobody_listens() -> None:
    """A real refused connection: the check raises, and the failure is the connection's."""

    async def work() -> WorkerError:
        worker = SGLangWorker("http://127.0.0.1:9", tokens=TOKENS)
        await worker.start()
        with pytest.raises(WorkerError):
            await worker.health()
        with pytest.raises(WorkerError) as caught:
            await collect(worker, ask())
        await worker.aclose()
        with pytest.raises(WorkerError, match="shutting down"):
            await collect(worker, ask())
        return caught.value

    error = run(work())
    assert (error.status, error.reason) == (502, "connection")


@pytest.mark.parametrize("size", [1, 1 << 16])
def test_an_abort_whose_answer_has_no_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """REGRESSION: its answer was read for ever, and kept."""
    monkeypatch.setattr("adapters.workers.sglang.ABORT_S", 0.2 if size == 1 else 30.0)
    endless = Endless(size)

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/abort_request":
            return httpx.Response(200, stream=endless)
        raise httpx.ReadError("cut")

    async def work() -> None:
        client = MockClient(answer)
        worker = SGLangWorker("http://worker", tokens=TOKENS, client=client)
        with pytest.raises(WorkerError):
            await collect(worker, ask())
        async with asyncio.timeout(30):
            await worker.aclose()

    run(work())
    assert endless.closed
    assert endless.sent <= MAX_ANSWER_BYTES + size


class Endless(httpx.AsyncByteStream):
    """A body without end: small pieces drip, large ones come as fast as they are read."""

    def __init__(self, size: int) -> None:
        self.size, self.sent, self.closed = size, 0, False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(0.01 if self.size == 1 else 0)
            self.sent += self.size
            yield b"x" * self.size

    async def aclose(self) -> None:
        self.closed = True


INFO = json.loads((RECORDED / "server_info.json").read_text())


@pytest.mark.parametrize(
    "info",
    [b"\xff\xfe", b"[" * 100_000, b"[]", b"", b"{", b"x" * (MAX_ANSWER_BYTES + 1), None],
)
def test_a_server_info_that_is_none_fails_the_check(info: bytes | None) -> None:
    """REGRESSION: invalid UTF-8 passed the client's own handling; the pool takes any exception."""

    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path != "/server_info" or info is None:
            return httpx.Response(200)
        return httpx.Response(200, stream=Body(info, 1 << 16))

    client = MockClient(answer)
    worker = SGLangWorker("http://worker", tokens=TOKENS, client=client)
    try:
        ready = run(worker.health()).ready
    except (ValueError, RecursionError, WorkerError):
        ready = False
    assert not ready


@pytest.mark.parametrize("length", [0, -5, True, "8", [8], 1.5, None])
def test_a_context_length_that_is_none_cuts_nothing(length: Any) -> None:
    """REGRESSION: a context of -5 made every answer one token long."""

    async def work() -> Any:
        bodies: list[Any] = []

        async def answer(request: httpx.Request) -> httpx.Response:
            if request.url.path == "/generate":
                bodies.append(json.loads(request.content))
            changed = INFO | {"context_length": length, "max_req_input_len": None}
            return httpx.Response(200, json=changed)

        client = MockClient(answer)
        worker = SGLangWorker("http://worker", tokens=TOKENS, client=client)
        await worker.health()
        with pytest.raises(WorkerError):
            await collect(worker, ask(max_tokens=60))
        return bodies[0]["sampling_params"]["max_new_tokens"]

    assert run(work()) == 60


def test_details_of_a_server_are_always_json() -> None:
    """NaN, lone surrogates, deep and long values must not break the readiness page."""
    deep: Any = "x"
    for _ in range(50):
        deep = [deep]
    values = ("\ud800", float("nan"), deep, "x" * 100_000, 1, None, [deep], {"\ud800": 1})
    shown = dict(zip(("version", *SHOWN[1:]), values, strict=True))
    body = json.dumps(INFO | {"grammar_backend": "xgrammar"} | shown).encode()

    async def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Body(body, 1 << 16))

    client = MockClient(answer)
    health = run(SGLangWorker("http://worker", tokens=TOKENS, client=client).health())
    text = json.dumps(health.details, ensure_ascii=False, allow_nan=False).encode()
    assert len(text) < 2_000


# -- prompts


def encoded(prompt: Any, **options: Any) -> bytes:
    values: dict[str, Any] = {"vocabulary": 4096, "context": None, "stop_token_ids": ()}
    return request_body(ask(prompt=prompt), "rid", **(values | options))


@pytest.mark.parametrize("size", [1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_a_prompt_of_any_size_is_encoded_whole(size: int) -> None:
    ids = [number % 4096 for number in range(size)]
    assert json.loads(encoded(ids))["input_ids"] == ids
    text = ('"\\é\ud800\U0001f600\n' * size)[:size]
    assert json.loads(encoded(text))["text"] == text
    for bad in (-1, 4096):
        with pytest.raises(WorkerError, match="below 4,096"):
            encoded([*ids[:-1], bad])


def test_a_prompt_beyond_the_context_is_refused_unread() -> None:
    """The bound and one past it; the values of the ids do not matter."""
    assert json.loads(encoded([1] * 9, context=10))["sampling_params"]["max_new_tokens"] == 1
    with pytest.raises(PromptTooLong, match="has 10 tokens; the model's context of 10") as caught:
        encoded([None] * 10, context=10)
    assert (caught.value.status, caught.value.reason) == (400, "refused")


@pytest.mark.parametrize(("size", "threads"), [(PIECE, 0), (PIECE + 1, 1)])
def test_a_long_prompt_is_encoded_beside_the_event_loop(
    size: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: a prompt of 4 MB stopped the event loop for 320 ms."""
    used: list[Any] = []
    to_thread = asyncio.to_thread

    async def counted(work: Any, *arguments: Any) -> Any:
        used.append(work)
        return await to_thread(work, *arguments)

    monkeypatch.setattr(asyncio, "to_thread", counted)
    server = streamed(event([5], 1, STOP))
    run(collect(server.worker(), ask(prompt=[7] * size)))
    assert len(used) == threads
    assert server.sent("/generate")[0]["input_ids"] == [7] * size
