"""Requests over real sockets: kept connections, second attempts, flow control, early ends, TLS."""

import asyncio
import gc
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
import trustme

from adapters.workers import WorkerError, http_connection, http_pool
from adapters.workers.http_client import HttpClient
from adapters.workers.http_connection import BODY_PIECE, LONG_BODY, REST_BYTES
from adapters.workers.http_exchange import Exchange

Run = Callable[[Coroutine[Any, Any, Any]], Any]
Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Answer = Callable[[Reader, Writer, int], Awaitable[bool]]

GOOD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class Served:
    """A server and its client. ``heads``: of the requests of each connection."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.heads: list[list[bytes]] = []
        self.ended = 0
        self.client: HttpClient

    @property
    def counts(self) -> list[int]:
        return [len(each) for each in self.heads]

    async def serve(self, reader: Reader, writer: Writer) -> None:
        heads: list[bytes] = []
        self.heads.append(heads)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                if not await self.answer(reader, writer, sum(self.counts)):
                    break
        self.ended += 1
        writer.close()

    async def ask(self) -> Any:
        try:
            return await self.client.fetch("GET", "/x", read_s=5)
        except WorkerError as error:
            return error.reason


@asynccontextmanager
async def served(answer: Answer, **options: Any) -> AsyncIterator[Served]:
    """Serve with TLS if ``server_tls`` is given."""
    made, tls = Served(answer), options.pop("server_tls", None)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=tls)
    port, scheme = server.sockets[0].getsockname()[1], "https" if tls else "http"
    made.client = HttpClient(f"{scheme}://127.0.0.1:{port}", {}, **options)
    try:
        yield made
    finally:
        await made.client.aclose()
        server.close()


async def good(reader: Reader, writer: Writer, number: int) -> bool:
    writer.write(GOOD)
    return True


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


class Taken:
    """A receiver that keeps what it gets. ``on_piece`` is called after each piece."""

    exchange: Exchange

    def __init__(self, on_piece: Callable[["Taken"], object] = lambda taken: None) -> None:
        self.status = self.size = 0
        self.on_piece = on_piece

    def on_head(self, status: int) -> None:
        self.status = status

    def on_data(self, data: bytes) -> None:
        self.size += len(data)
        self.on_piece(self)


def begun(made: Served, taken: Taken, **options: Any) -> Exchange:
    taken.exchange = made.client.begin("POST", "/x", taken, **options)
    return taken.exchange


# -- kept connections


def test_the_connection_that_was_used_last_is_used_first(run: Run) -> None:
    """Requests at once have one each; then a single one is enough."""

    async def slow(reader: Reader, writer: Writer, number: int) -> bool:
        await asyncio.sleep(0.05 if number <= 3 else 0)
        writer.write(GOOD)
        return True

    async def work() -> None:
        async with served(slow) as made:
            await asyncio.gather(*(made.ask() for _ in range(3)))
            for _ in range(5):
                assert await made.ask() == (200, b"good")
            assert sorted(made.counts) == [1, 1, 6]

    run(work())


def test_an_idle_connection_is_closed_after_a_while(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_pool, "KEEPALIVE_S", 0.05)

    async def work() -> None:
        async with served(good) as made:
            await asyncio.gather(made.ask(), made.ask())
            await until(lambda: made.ended == 2)
            assert await made.ask() == (200, b"good")
            assert len(made.counts) == 3

    run(work())


def test_bytes_on_an_idle_connection_close_it(run: Run) -> None:
    """They would be taken for the answer to the next request."""
    late = asyncio.Event()

    async def twice(reader: Reader, writer: Writer, number: int) -> bool:
        writer.write(GOOD)
        if number == 1:
            await writer.drain()
            await late.wait()
            writer.write(GOOD.replace(b"good", b"evil"))
        return True

    async def work() -> None:
        async with served(twice) as made:
            assert await made.ask() == (200, b"good")
            late.set()
            await until(lambda: made.ended)
            assert await made.ask() == (200, b"good")
            assert made.counts == [1, 1]

    run(work())


def test_a_second_attempt_has_a_new_connection(run: Run) -> None:
    """REGRESSION: a restarted server had closed all kept ones, and the second one failed too."""
    is_stopped = False

    async def restarted(reader: Reader, writer: Writer, number: int) -> bool:
        if is_stopped and number <= 5:
            return False
        await asyncio.sleep(0.05 if number <= 3 else 0)
        writer.write(GOOD)
        return True

    async def work() -> None:
        nonlocal is_stopped
        async with served(restarted) as made:
            await asyncio.gather(*(made.ask() for _ in range(3)))
            is_stopped = True
            assert await made.ask() == "connection", "a new one fails: no third attempt"
            assert await made.ask() == (200, b"good")

    run(work())


@pytest.mark.parametrize(
    "sent", [b"HTTP", b"HTTP/1.1 103 x\r\n\r\n", CHUNKED, CHUNKED + b"1\r\na\r\n"]
)
def test_an_answer_that_began_is_not_asked_for_again(run: Run, sent: bytes) -> None:
    async def broken(reader: Reader, writer: Writer, number: int) -> bool:
        writer.write(GOOD if number == 1 else sent)
        return number == 1

    async def work() -> None:
        async with served(broken) as made:
            assert [await made.ask() for _ in range(2)] == [(200, b"good"), "connection"]
            assert made.counts == [2]

    run(work())


# -- requests


@pytest.mark.parametrize(
    ("url", "headers", "lines"),
    [
        ("http://h", {}, [b"GET /x HTTP/1.1", b"Host: h", b"Accept-Encoding: identity"]),
        ("http://h:8/a b/", {}, [b"GET /a%20b/x HTTP/1.1", b"Host: h:8"]),
        ("http://[::1]:8", {}, [b"Host: [::1]:8"]),
        ("http://bücher", {}, [b"Host: xn--bcher-kva"]),
        ("http://u:p%40@h", {}, [b"Authorization: Basic dTpwQA=="]),
        ("http://u:p@h", {"Authorization": "Bearer k"}, [b"Authorization: Bearer k"]),
    ],
)
def test_the_head_of_a_request(url: str, headers: dict[str, str], lines: list[bytes]) -> None:
    head = HttpClient(url, headers).begin("GET", "/x", Taken())._head
    found = head.split(b"\r\n")
    assert set(lines) <= set(found) and found[-2:] == [b"", b""]
    assert sum(line.startswith(b"Authorization") for line in found) <= 1


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb: c", "a\rb", "a\0b"])
def test_a_header_cannot_add_others(value: str) -> None:
    for headers in ({"a": value}, {value: "a"}):
        with pytest.raises(ValueError, match="line break"):
            HttpClient("http://h", headers)
        with pytest.raises(ValueError, match="line break"):
            HttpClient("http://h", {}).begin("GET", "/", Taken(), headers=headers)


@pytest.mark.parametrize("size", [LONG_BODY, LONG_BODY + 1, 40 * LONG_BODY])
def test_a_server_that_reads_no_body_may_answer(run: Run, size: int) -> None:
    """Its connection is not kept while some of the body is unsent."""

    async def work() -> None:
        async with served(good) as made:
            taken = Taken()
            async with asyncio.timeout(30):
                await begun(made, taken, content=b"a" * size).wait()
            assert (taken.status, taken.size) == (200, 4)

    run(work())


def test_a_long_body_is_sent_as_fast_as_it_is_read(run: Run) -> None:
    """The transport holds one piece of it."""
    held: list[int] = []

    async def slow(reader: Reader, writer: Writer, number: int) -> bool:
        await asyncio.sleep(0.1)
        left = 20 * LONG_BODY
        while left:
            left -= len(await reader.read(min(left, 1 << 16)))
        writer.write(GOOD)
        return True

    async def work() -> None:
        async with served(slow) as made:
            taken = Taken()
            task = asyncio.ensure_future(begun(made, taken, content=b"a" * 20 * LONG_BODY).wait())
            while not task.done():
                for connection in made.client._pool._open:
                    transport: Any = connection._transport
                    held.append(transport.get_write_buffer_size())
                await asyncio.sleep(0.001)
            await task
            assert taken.size == 4
            assert 0 < max(held) <= 2 * BODY_PIECE

    run(work())


# -- flow control


def test_a_paused_exchange_stops_the_server(run: Run) -> None:
    sent, end = [0], 64 << 20

    async def flood(reader: Reader, writer: Writer, number: int) -> bool:
        writer.write(CHUNKED)
        piece = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
        while sent[0] < end:
            writer.write(piece)
            await writer.drain()
            sent[0] += 65_536
        writer.write(b"0\r\n\r\n")
        return True

    async def work() -> None:
        async with served(flood) as made:
            taken = Taken(lambda taken: taken.exchange.pause() if taken.size < 1 << 17 else None)
            exchange = begun(made, taken)
            exchange.pause()
            task = asyncio.ensure_future(exchange.wait())
            at = -1
            while at != sent[0]:
                at = sent[0]
                await asyncio.sleep(0.1)
            assert (taken.status, taken.size) == (0, 0) and sent[0] < end
            exchange.resume()
            await until(lambda: taken.size)
            at = taken.size
            await asyncio.sleep(0.05)
            assert taken.size == at, "paused by the receiver"
            while not task.done():
                exchange.resume()
                await asyncio.sleep(0.001)
            assert taken.size == end
            exchange.pause()
            exchange.resume()
            # the connection reads again
            assert await asyncio.wait_for(task, 1) is None
            assert len(made.client._pool._idle) == 1

    run(work())


def test_a_connection_that_was_paused_at_the_end_is_read_again(run: Run) -> None:
    async def work() -> None:
        async with served(good) as made:
            for _ in range(3):
                await begun(made, Taken(lambda taken: taken.exchange.pause())).wait()
            assert made.counts == [3]

    run(work())


@pytest.mark.parametrize("is_whole", [True, False])
def test_an_exchange_that_has_ended_pauses_its_connection_no_more(run: Run, is_whole: bool) -> None:
    """REGRESSION: a client's buffer filled between the end of an answer and the next turn of its
    task. Then the kept connection stayed paused, and the next request on it had no answer.
    """

    async def in_two_parts(reader: Reader, writer: Writer, number: int) -> bool:
        writer.write(GOOD if is_whole else GOOD[:-1])
        if not is_whole:
            await asyncio.sleep(0.05)
            writer.write(GOOD[-1:])
        return True

    def end(taken: Taken) -> None:
        asyncio.get_running_loop().call_soon(taken.exchange.pause)
        if not is_whole:
            taken.exchange.stop(is_ending=True)

    async def work() -> None:
        async with served(in_two_parts) as made:
            await begun(made, Taken(end)).wait()
            await until(lambda: made.client._pool._idle)
            assert await made.ask() == (200, b"good")
            assert made.counts == [2]

    run(work())


# -- ends


def stopping(is_ending: bool) -> Callable[[Taken], object]:
    return lambda taken: taken.exchange.stop(is_ending=is_ending)


@pytest.mark.parametrize(
    ("rest", "is_ending", "counts"),
    [
        pytest.param([b"1\r\nb\r\n", b"0\r\n\r\n"], True, [2], id="a short rest is read"),
        pytest.param([b"1\r\nb\r\n0\r\n\r\n"], False, [1, 1], id="unless the receiver leaves"),
        pytest.param([b"20000\r\n" + b"b" * REST_BYTES * 2], True, [1, 1], id="a long rest"),
        pytest.param([], True, [1, 1], id="a rest that never comes"),
        pytest.param([b"zz\r\n"], True, [1, 1], id="a malformed rest"),
    ],
)
def test_the_rest_of_an_answer(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    rest: list[bytes],
    is_ending: bool,
    counts: list[int],
) -> None:
    """The exchange ends at once; its connection is kept if the rest comes soon."""
    monkeypatch.setattr(http_connection, "REST_S", 0.2)

    async def slow(reader: Reader, writer: Writer, number: int) -> bool:
        if number > 1:
            return await good(reader, writer, number)
        writer.write(CHUNKED + b"1\r\na\r\n")
        for piece in rest:
            await writer.drain()
            await asyncio.sleep(0.02)
            writer.write(piece)
        return True

    async def work() -> None:
        async with served(slow) as made:
            taken = Taken(stopping(is_ending))
            await begun(made, taken).wait()
            assert taken.size == 1
            await until(lambda: made.ended or made.client._pool._idle)
            assert await made.ask() == (200, b"good")
            assert (made.counts, taken.size) == (counts, 1)

    run(work())


def test_an_answer_that_ends_with_the_last_piece_keeps_its_connection(run: Run) -> None:
    async def work() -> None:
        async with served(good) as made:
            for _ in range(3):
                await begun(made, Taken(stopping(is_ending=False))).wait()
            assert made.counts == [3]

    run(work())


class Wrong(BaseException):
    """An error of a receiver."""


def test_what_a_receiver_raises_comes_out(run: Run) -> None:
    async def drip(reader: Reader, writer: Writer, number: int) -> bool:
        writer.write(CHUNKED + b"1\r\na\r\n")
        return True

    wrong = Wrong()

    def fail(taken: Taken) -> None:
        raise wrong

    async def work() -> None:
        async with served(drip) as made:
            taken = Taken(fail)
            with pytest.raises(Wrong) as caught:
                await begun(made, taken).wait()
            assert caught.value is wrong
            await until(lambda: made.ended)

    run(work())


class Held:
    """Something that a receiver holds, as the images of a prompt."""


def test_an_error_keeps_nothing_without_a_collection(run: Run) -> None:
    """Neither that of a connection nor that of a receiver is part of a reference cycle."""

    async def broken(reader: Reader, writer: Writer, number: int) -> bool:
        writer.write(CHUNKED + b"1\r\na\r\n" if number % 2 else b"HTTP/1.1 zz\r\n\r\n")
        return False

    def fail(taken: Taken) -> None:
        raise ValueError

    async def one(made: Served, on_piece: Callable[[Taken], object]) -> "ref[Held]":
        held, taken = Held(), Taken(on_piece)
        taken.held = held  # type: ignore[attr-defined]
        with suppress(WorkerError, ValueError):
            await begun(made, taken).wait()
        return ref(held)

    async def work() -> None:
        async with served(broken) as made:
            for on_piece in (fail, lambda taken: None) * 2:
                found = await one(made, on_piece)
                assert found() is None
        made.client = HttpClient("http://127.0.0.1:9", {})
        found = await one(made, fail)
        await asyncio.sleep(0)  # until then the loop refers to the task that connected
        assert found() is None

    gc.disable()
    try:
        run(work())
    finally:
        gc.enable()


@pytest.mark.parametrize("is_answering", [False, True])
def test_cancelling_closes_the_connection(run: Run, is_answering: bool) -> None:
    async def silent(reader: Reader, writer: Writer, number: int) -> bool:
        if is_answering:
            writer.write(CHUNKED + b"1\r\na\r\n")
        return True

    async def work() -> None:
        async with served(silent) as made:
            taken = Taken()
            task = asyncio.ensure_future(begun(made, taken).wait())
            await until(lambda: made.counts == [1] and taken.size == is_answering)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: made.ended)

    run(work())


def test_closing_the_client_breaks_its_requests(run: Run) -> None:
    async def silent(reader: Reader, writer: Writer, number: int) -> bool:
        return True

    async def work() -> None:
        async with served(silent) as made:
            task = asyncio.ensure_future(made.ask())
            await until(lambda: made.counts == [1])
            await made.client.aclose()
            assert await task == "connection"
            assert await made.ask() == "connection"

    run(work())


def test_a_deadline_counts_from_the_last_byte(run: Run) -> None:
    """Six pieces, each within the deadline, and then none."""

    async def drip(reader: Reader, writer: Writer, number: int) -> bool:
        writer.write(CHUNKED)
        for _ in range(6):
            writer.write(b"1\r\na\r\n")
            await asyncio.sleep(0.1)
        return True

    async def work() -> None:
        async with served(drip) as made:
            taken = Taken()
            with pytest.raises(WorkerError, match=r"no byte of an answer for 0\.4 s") as caught:
                await begun(made, taken, read_s=0.4).wait()
            assert (caught.value.status, caught.value.reason, taken.size) == (504, "timeout", 6)

    run(work())


VARIABLE: ContextVar[str] = ContextVar("variable", default="none")


def test_a_connection_keeps_no_context_of_a_request(run: Run) -> None:
    """The first one would be that of all later ones, and would live as long as the connection."""
    seen: list[str] = []

    async def work() -> None:
        async with served(good) as made:
            for number in range(2):
                VARIABLE.set(f"request {number}")
                await begun(made, Taken(lambda taken: seen.append(VARIABLE.get()))).wait()

    run(work())
    assert seen == ["none", "none"]


# -- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.mark.parametrize("is_trusted", [True, False])
def test_tls(run: Run, authority: trustme.CA, is_trusted: bool, tmp_path: Path) -> None:
    """Connections are kept, too; a server without a certificate of the authority is none."""
    server, client = (
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER),
        ssl.create_default_context(),
    )
    authority.issue_cert("127.0.0.1").configure_cert(server)
    if is_trusted:
        authority.configure_trust(client)

    async def large(reader: Reader, writer: Writer, number: int) -> bool:
        await reader.readexactly(3 * LONG_BODY)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n" + b"a" * 1_000_000)
        return True

    async def work() -> None:
        async with served(large, server_tls=server, tls=client) as made:
            for _ in range(2):
                taken = Taken(lambda taken: taken.exchange.resume())
                sent = begun(made, taken, content=b"a" * 3 * LONG_BODY)
                if not is_trusted:
                    with pytest.raises(WorkerError, match="certificate verify failed") as caught:
                        await sent.wait()
                    assert caught.value.reason == "connection"
                    return
                await sent.wait()
                assert taken.size == 1_000_000
            assert made.counts == [2]

    run(work())


def test_the_authorities_of_the_system_are_loaded_once(
    run: Run, authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: each new connection loaded them, which held up the event loop for 40 ms."""
    server, loaded, load = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), [0], ssl.create_default_context
    authority.issue_cert("127.0.0.1").configure_cert(server)

    def counted(*args: Any, **options: Any) -> ssl.SSLContext:
        loaded[0] += 1
        return load(*args, **options)

    monkeypatch.setattr(ssl, "create_default_context", counted)

    async def work() -> None:
        async with served(good, server_tls=server) as made:
            for _ in range(3):
                assert await made.ask() == "connection"
            assert loaded[0] <= 1

    run(work())


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_server_that_answers_and_reads_no_request_keeps_no_connection(
    run: Run, is_kept: bool
) -> None:
    head = b"HTTP/1.1 413 Too large\r\ncontent-length: 1\r\n"
    head += b"\r\n" if is_kept else b"connection: close\r\n\r\n"

    async def work() -> None:
        left = asyncio.Event()

        async def refusing(reader: Reader, writer: Writer, number: int) -> bool:
            await until(lambda: any(each._is_full for each in made.client._pool._open))
            writer.write(head + b"a")
            await left.wait()
            return False

        async with served(refusing) as made:
            taken = Taken()
            await begun(made, taken, content=b"a" * 64 * LONG_BODY).wait()
            assert (taken.status, taken.size) == (413, 1)
            try:
                await until(lambda: not made.client._pool._open)
            finally:
                left.set()

    run(work())


def test_a_closed_client_opens_no_connection(run: Run) -> None:
    async def work() -> None:
        async with served(good) as made:
            await made.client.aclose()
            assert await made.ask() == "connection"
            await asyncio.sleep(0.01)
            assert made.counts == []

    run(work())
