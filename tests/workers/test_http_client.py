"""The HTTP client of workers over real sockets: what arrives, and the reason of every failure."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from adapters.workers import FailureReason, WorkerError
from adapters.workers.http_client import HttpClient
from adapters.workers.http_connection import LONG_BODY
from adapters.workers.http_exchange import Exchange

Run = Callable[[Coroutine[Any, Any, Any]], Any]
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

STREAM = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def saying(*pieces: bytes, pause_s: float = 0.02) -> Answer:
    """Return a server that reads a request's head, writes the pieces and closes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_s)

    return answer


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(STREAM + b"1\r\na\r\n")
    await writer.drain()
    writer.transport.abort()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(5)


class Taken:
    """A receiver that keeps what it gets, and stops after ``most`` pieces."""

    exchange: Exchange

    def __init__(self, most: int | None = None) -> None:
        self.status = 0
        self.pieces: list[bytes] = []
        self.most = most

    def on_head(self, status: int) -> None:
        assert self.status == 0
        self.status = status

    def on_data(self, data: bytes) -> None:
        assert self.status
        self.pieces.append(data)
        if len(self.pieces) == self.most:
            self.exchange.stop(is_ending=False)


async def asked(answer: Answer, read_s: float | None = None) -> tuple[int, list[bytes]]:
    """Return the status and the pieces of one answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await answer(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client = HttpClient(f"http://127.0.0.1:{port}", {"Authorization": "Bearer k"})
    taken = Taken()
    try:
        await client.begin("POST", "/x", taken, content=b"{}", read_s=read_s).wait()
        return taken.status, taken.pieces
    finally:
        await client.aclose()
        server.close()


def test_pieces_arrive_as_they_are_sent(run: Run) -> None:
    chunks = (b"3\r\none\r\n", b"3\r\ntwo\r\n", b"0\r\n\r\n")
    assert run(asked(saying(STREAM, *chunks))) == (200, [b"one", b"two"])


def test_pieces_that_are_sent_together_are_one(run: Run) -> None:
    assert run(asked(saying(STREAM + b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))) == (200, [b"onetwo"])


@pytest.mark.parametrize("status", [302, 404, 503])
def test_other_statuses_are_answers(run: Run, status: int) -> None:
    head = b"HTTP/1.1 %d x\r\nlocation: /y\r\ncontent-length: 1\r\n\r\n" % status
    assert run(asked(saying(head + b"a"))) == (status, [b"a"])


def test_compressed_answers_are_not_unpacked(run: Run) -> None:
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\n"
    assert run(asked(saying(head + b"a"))) == (200, [b"a"])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (saying(), "connection"),
        (reset, "connection"),
        (saying(b"SSH-2.0-x\r\n"), "protocol"),
        (saying(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 100_000), "protocol"),
        (saying(STREAM + b"zz\r\n"), "protocol"),
        (saying(STREAM + b"3\r\none\r\n"), "connection"),
        (saying(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"), "connection"),
        (silent, "timeout"),
        (saying(STREAM + b"3\r\none\r\n", pause_s=5), "timeout"),
    ],
)
def test_failures_have_reasons(run: Run, answer: Answer, reason: FailureReason) -> None:
    with pytest.raises(WorkerError) as caught:
        run(asked(answer, read_s=0.5))
    assert caught.value.reason == reason
    assert caught.value.status == (504 if reason == "timeout" else 502)


def test_a_refused_connection_is_a_failure_of_the_connection(run: Run) -> None:
    async def work() -> None:
        client = HttpClient("http://127.0.0.1:9", {})
        try:
            await client.fetch("GET", "/", read_s=5)
        finally:
            await client.aclose()

    with pytest.raises(WorkerError) as caught:
        run(work())
    assert (caught.value.status, caught.value.reason) == (502, "connection")


def test_leaving_early_closes_the_connection(run: Run) -> None:
    closed = asyncio.Event()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(STREAM)
        # what was not read yet makes the end of the connection a reset
        with suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"1\r\na\r\n")
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1000), 0.01)
        closed.set()

    async def work() -> None:
        server = await asyncio.start_server(endless, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = HttpClient(f"http://127.0.0.1:{port}", {})
        taken = Taken(most=1)
        taken.exchange = client.begin("GET", "/", taken)
        await taken.exchange.wait()
        await asyncio.wait_for(closed.wait(), 10)
        await client.aclose()
        server.close()

    run(work())


@pytest.mark.parametrize("connect_s", [0.05, 30.0])
def test_the_deadline_of_a_connection_covers_tls_and_nothing_later(
    run: Run, connect_s: float
) -> None:
    """The server accepts, and takes its time for what follows: its TLS, or its answer."""

    async def connect(scheme: str) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if scheme == "http":
                await asyncio.sleep(0.1)
                await saying(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")(reader, writer)
            else:
                await reader.read()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = HttpClient(f"{scheme}://127.0.0.1:{port}", {}, connect_seconds=connect_s)
        try:
            async with asyncio.timeout(1.0):
                status, _ = await client.fetch("GET", "/", read_s=5)
                return status
        finally:
            await client.aclose()
            server.close()

    assert run(connect("http")) == 200
    if connect_s < 1.0:
        with pytest.raises(WorkerError) as caught:
            run(connect("https"))
        assert caught.value.reason == "connection"
    else:
        with pytest.raises(TimeoutError):
            run(connect("https"))


class Closing:
    """A server that answers ``good`` requests of a connection, and closes it at the next one."""

    def __init__(self, good: int) -> None:
        self.good = good
        self.requests: list[int] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(0)
        at = len(self.requests) - 1
        with suppress(asyncio.IncompleteReadError):
            while self.requests[at] <= self.good:
                await reader.readuntil(b"\r\n\r\n{}")
                self.requests[at] += 1
                if self.requests[at] <= self.good:
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        writer.close()


@pytest.mark.parametrize(
    ("good", "answers", "requests"),
    [
        pytest.param(1, [200, 200, 200], [2, 2, 1], id="a kept connection: REGRESSION"),
        pytest.param(2, [200, 200, 200], [3, 1], id="one that was kept twice"),
        pytest.param(0, ["connection"] * 3, [1, 1, 1], id="a new one: no second attempt"),
    ],
)
def test_a_request_is_sent_again_if_the_server_closes_a_kept_connection(
    run: Run, good: int, answers: list[object], requests: list[int]
) -> None:
    closing = Closing(good)

    async def ask() -> list[object]:
        server = await asyncio.start_server(closing, "127.0.0.1", 0)
        client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", {})
        found: list[object] = []
        for _ in range(3):
            try:
                status, body = await client.fetch("POST", "/x", content=b"{}", read_s=5)
                found.append(status)
                assert body == b"a"
            except WorkerError as error:
                found.append(error.reason)
        await client.aclose()
        server.close()
        return found

    assert run(ask()) == answers
    assert closing.requests == requests


@pytest.mark.parametrize("size", [LONG_BODY, LONG_BODY + 1, 3 * LONG_BODY])
def test_a_long_body_arrives_whole_also_when_it_is_sent_again(run: Run, size: int) -> None:
    """The server closes the kept connection instead of answering the second request."""
    body = bytes(range(256)) * (size // 256) + b"a" * (size % 256)
    bodies: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for is_kept in (False, True):
            head = await reader.readuntil(b"\r\n\r\n")
            assert f"content-length: {size}\r\n".encode() in head.lower()
            bodies.append(await reader.readexactly(size))
            if is_kept:
                break
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na")
        writer.close()

    async def ask() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", {})
        for _ in range(2):
            assert await client.fetch("POST", "/x", content=body, read_s=5) == (200, b"a")
        await client.aclose()
        server.close()

    run(ask())
    assert len(bodies) == 3 and all(each == body for each in bodies)


def endless(begin: bytes, again: bytes) -> tuple[Answer, list[int]]:
    """Return a server that never stops sending, and the bytes that it sent until it was cut."""
    sent = [0]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(begin)
        with suppress(ConnectionError):
            while True:
                writer.write(again)
                sent[0] += len(again)
                await writer.drain()
                await asyncio.sleep(0)

    return answer, sent


HEADS = {
    "informational answers": (b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 400),
    "early hints": (b"", b"HTTP/1.1 103 x\r\nlink: </y>\r\n\r\n" * 400),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 2000),
    "one header": (b"HTTP/1.1 200 OK\r\na: ", b"b" * 10_000),
    "white space": (b"", b"\r\n" * 5000),
    "blanks": (b"", b" " * 10_000),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_without_an_end_is_cut(run: Run, name: str) -> None:
    """REGRESSION: endless informational answers kept the event loop busy, also without a client."""
    answer, sent = endless(*HEADS[name])

    async def ask() -> None:
        with pytest.raises(WorkerError) as caught:
            await asked(answer)
        assert caught.value.reason in ("protocol", "connection")
        before = sent[0]
        await asyncio.sleep(0.05)
        assert sent[0] == before, "the connection is closed"

    run(ask())


def test_some_informational_answers_come_before_an_answer_of_any_size(run: Run) -> None:
    hint = b"HTTP/1.1 103 x\r\nlink: </y>\r\n\r\n"
    body = b"%x\r\n%s\r\n0\r\n\r\n" % (1 << 20, b"x" * (1 << 20))
    status, pieces = run(asked(saying(hint * 100 + STREAM + body)))
    assert (status, sum(map(len, pieces))) == (200, 1 << 20)
