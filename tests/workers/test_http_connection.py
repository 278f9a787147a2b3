"""Answers as hostile and broken servers send them: never a wrong one, never a connection used again
that is out of step.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest

from adapters.workers import WorkerError
from adapters.workers.http_client import HttpClient
from adapters.workers.http_connection import HEAD_BYTES, HEAD_PIECE, Connection

Run = Callable[[Coroutine[Any, Any, Any]], Any]
GOOD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood"


class Server:
    """Answers the first request with ``first``, then closes, or answers all others ``good``.
    ``connections``: the requests of each.
    """

    def __init__(self, first: bytes, *, closes: bool = False) -> None:
        self.first, self.closes = first, closes
        self.connections: list[int] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.connections)
        self.connections.append(0)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await reader.readuntil(b"\r\n\r\n{}")
                is_first = number == self.connections[number] == 0
                self.connections[number] += 1
                writer.write(self.first if is_first else GOOD)
                if is_first and self.closes:
                    break
        writer.close()


Outcome = tuple[Any, bytes]


async def ask(client: HttpClient) -> Outcome:
    """Return status and body, or the reason of a failure."""
    try:
        return await client.fetch("POST", "/x", content=b"{}", read_s=0.3)
    except WorkerError as error:
        return error.reason, error.message.encode()


async def twice(first: bytes, closes: bool) -> tuple[Outcome, Outcome, list[int]]:
    """Return the outcomes of two requests, and how many each connection had."""
    serve = Server(first, closes=closes)
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    client = HttpClient(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", {})
    try:
        one = await ask(client)
        await asyncio.sleep(0.01)
        return one, await ask(client), serve.connections
    finally:
        await client.aclose()
        server.close()


OK = b"HTTP/1.1 200 OK\r\n"
ONE = b"content-length: 1\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
KEPT, NEW = [2], [1, 1]
#: name -> (answer, body, requests of each connection)
ANSWERS: dict[str, tuple[bytes, bytes, list[int]]] = {
    "a length": (OK + ONE + b"\r\na", b"a", KEPT),
    "chunks": (CHUNKED + b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", b"abc", KEPT),
    "a chunk with an extension": (CHUNKED + b"1;a=b\r\na\r\n0\r\n\r\n", b"a", KEPT),
    "trailers": (CHUNKED + b"1\r\na\r\n0\r\na: b\r\nx: y\r\n\r\n", b"a", KEPT),
    "no reason phrase": (b"HTTP/1.1 200\r\n" + ONE + b"\r\na", b"a", KEPT),
    "many leading zeros": (OK + b"content-length: 0000000000000001\r\n\r\na", b"a", KEPT),
    "continue": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + ONE + b"\r\na", b"a", KEPT),
    "a hint with a length": (
        b"HTTP/1.1 103 x\r\ncontent-length: 5\r\n\r\n" + OK + ONE + b"\r\na",
        b"a",
        KEPT,
    ),
    "bytes above ASCII": (OK + "x: é\r\n".encode() + ONE + b"\r\na", b"a", KEPT),
    "line breaks before it": (b"\r\n\r\n" + OK + ONE + b"\r\na", b"a", KEPT),
    "the server closes": (OK + ONE + b"connection: close\r\n\r\na", b"a", NEW),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n" + ONE + b"\r\na", b"a", NEW),
    "HTTP/1.0, kept": (
        b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\n" + ONE + b"\r\na",
        b"a",
        KEPT,
    ),
    "a body of a refused method": (OK + b"content-length: 0\r\n\r\n", b"", KEPT),
    # what follows must never answer the next request
    "garbage behind the end": (OK + ONE + b"\r\nagarbage", b"a", NEW),
    "garbage behind the last chunk": (CHUNKED + b"1\r\na\r\n0\r\n\r\nxyz", b"a", NEW),
    "another answer behind the end": (OK + ONE + b"\r\na" + OK + ONE + b"\r\nb", b"a", NEW),
    "half an answer behind the end": (OK + ONE + b"\r\naHTTP/1.1 2", b"a", NEW),
    "bytes behind the end of a closing one": (
        OK + ONE + b"connection: close\r\n\r\na" + OK + ONE + b"\r\nb",
        b"a",
        NEW,
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(run: Run, name: str) -> None:
    sent, body, connections = ANSWERS[name]
    assert run(twice(sent, closes=False)) == ((200, body), (200, b"good"), connections)


MALFORMED = {
    "a chunk's size is no number": CHUNKED + b"zz\r\na\r\n0\r\n\r\n",
    "a chunk's size is negative": CHUNKED + b"-1\r\na\r\n0\r\n\r\n",
    "a chunk's size has a prefix": CHUNKED + b"0x1\r\na\r\n0\r\n\r\n",
    "a chunk's size is missing": CHUNKED + b"\r\na\r\n0\r\n\r\n",
    "a chunk's size has 17 digits": CHUNKED + b"10000000000000001\r\na\r\n0\r\n\r\n",
    "a chunk is longer than it says": CHUNKED + b"1\r\nab\r\n0\r\n\r\n",
    "a chunk's lines end in LF": CHUNKED + b"1\na\n0\n\n",
    "a length is negative": OK + b"content-length: -1\r\n\r\na",
    "a length has a sign": OK + b"content-length: +1\r\n\r\na",
    "a length is a list": OK + b"content-length: 1, 1\r\n\r\na",
    "a length has a gap": OK + b"content-length: 1 1\r\n\r\na",
    "a length has digits of base 16": OK + b"content-length: a\r\n\r\na",
    "a length has 25 digits": OK + b"content-length: 1000000000000000000000001\r\n\r\na",
    "a length is empty": OK + b"content-length:\r\n\r\na",
    "a length comes twice": OK + ONE + ONE + b"\r\na",
    "two lengths differ": OK + ONE + b"content-length: 2\r\n\r\nab",
    "a length, and chunks": OK + ONE + b"transfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "chunks, and a length": OK
    + b"transfer-encoding: chunked\r\n"
    + ONE
    + b"\r\n1\r\na\r\n0\r\n\r\n",
    "chunks twice": OK + b"transfer-encoding: chunked\r\n" * 2 + b"\r\n1\r\na\r\n0\r\n\r\n",
    "chunks of chunks": OK + b"transfer-encoding: chunked, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "compressed chunks": OK + b"transfer-encoding: gzip, chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "another encoding": OK + b"transfer-encoding: gzip\r\n\r\na",
    "no encoding": OK + b"transfer-encoding: identity\r\n\r\na",
    "an encoding on the next line": OK
    + b"transfer-encoding:\r\n chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
    "a header without a colon": OK + ONE + b"abc\r\n\r\na",
    "a header without a name": OK + ONE + b": b\r\n\r\na",
    "a name with a blank": OK + ONE + b"a b: c\r\n\r\na",
    "a blank before the colon": OK + b"content-length : 1\r\n\r\na",
    "NUL in a header": OK + ONE + b"a: b\0c\r\n\r\na",
    "CR in a header": OK + ONE + b"a: b\rc\r\n\r\na",
    "a header on two lines": OK + ONE + b"a: b\r\n c\r\n\r\na",
    "lines end in LF": b"HTTP/1.1 200 OK\ncontent-length: 1\n\na",
    "HTTP/0.9": b"hello",
    "HTTP/0.9 with a status": b"HTTP/0.9 200 OK\r\n" + ONE + b"\r\na",
    "HTTP/2": b"HTTP/2.0 200 OK\r\n" + ONE + b"\r\na",
    "HTTP/1.2": b"HTTP/1.2 200 OK\r\n" + ONE + b"\r\na",
    "another protocol": b"SSH-2.0-x\r\n",
    "a request": b"GET / HTTP/1.1\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n" + ONE + b"\r\na",
    "a status of two digits": b"HTTP/1.1 20 OK\r\n" + ONE + b"\r\na",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n" + ONE + b"\r\na",
    "status 0": b"HTTP/1.1 000 OK\r\n" + ONE + b"\r\na",
    "status 99": b"HTTP/1.1 099 OK\r\n" + ONE + b"\r\na",
    "another protocol is offered": b"HTTP/1.1 101 x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\na",
    "another protocol, unnamed": b"HTTP/1.1 101 x\r\n\r\n" + OK + ONE + b"\r\na",
    "a length behind the last chunk": CHUNKED + b"1\r\na\r\n0\r\ncontent-length: 5\r\n\r\n",
    "an extension without an end": CHUNKED + b"1;" + b"a" * (HEAD_BYTES + HEAD_PIECE),
    "trailers without an end": CHUNKED + b"0\r\n" + b"a: bc\r\n" * (HEAD_BYTES // 7 + HEAD_PIECE),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_answers_are_refused(run: Run, name: str) -> None:
    """At once, not by a deadline; the next request has a new connection."""
    (reason, _), after, connections = run(twice(MALFORMED[name], closes=False))
    assert (reason, after, connections) == ("protocol", (200, b"good"), NEW)


#: answers that the end of the connection cuts -> (status or reason, body)
CUT: dict[str, tuple[bytes, Any]] = {
    "nothing": (b"", "connection"),
    "in the status": (b"HTTP/1.1 20", "connection"),
    "in the head": (OK + b"content-le", "connection"),
    "behind a hint": (b"HTTP/1.1 103 x\r\n\r\n", "connection"),
    "in a body": (OK + b"content-length: 5\r\n\r\nab", "connection"),
    "before a body": (OK + b"content-length: 5\r\n\r\n", "connection"),
    "in a chunk": (CHUNKED + b"5\r\nab", "connection"),
    "before the last chunk": (CHUNKED + b"1\r\na\r\n", "connection"),
    "in the last chunk": (CHUNKED + b"1\r\na\r\n0\r\n", "connection"),
    # the end of the connection is that of the body
    "a body without a length": (OK + b"\r\nab", (200, b"ab")),
    "an empty body without a length": (OK + b"\r\n", (200, b"")),
    "a body without a length, of HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\nab", (200, b"ab")),
}


@pytest.mark.parametrize("name", CUT)
def test_the_end_of_the_connection(run: Run, name: str) -> None:
    sent, outcome = CUT[name]
    found, after, connections = run(twice(sent, closes=True))
    assert found == outcome or found[0] == outcome
    assert (after, connections) == ((200, b"good"), NEW)


class Path:
    """A path that takes the letters t at the front, and fails at an exclamation mark."""

    def __init__(self) -> None:
        self.taken = 0

    def push(self, data: bytes) -> int:
        if data.startswith(b"!"):
            raise OSError("gone")
        used = len(data) - len(data.lstrip(b"t"))
        self.taken += used
        return used


class Asked:
    """A request whose answer goes to a path first."""

    def __init__(self) -> None:
        self.text_path: Any = Path()
        self.data: list[bytes] = []
        self.ends: list[BaseException | None] = []

    def on_head(self, status: int) -> None: ...

    def on_data(self, data: bytes) -> None:
        self.data.append(data)

    def on_end(self, error: BaseException | None) -> None:
        self.ends.append(error)


def received(*reads: bytes) -> tuple[Asked, Connection, Mock]:
    """Return a request whose connection has read these bytes behind a head, and its pool."""
    pool, asked = Mock(), Asked()
    transport = Mock(is_closing=Mock(return_value=False))
    transport.get_write_buffer_size.return_value = 0
    connection = Connection(pool)
    connection.connection_made(transport)
    connection.ask(asked, b"", b"")
    for data in (CHUNKED + b"1\r\na\r\n", *reads):
        connection.data_received(data)
    return asked, connection, pool


END = b"0\r\n\r\n"
#: reads, the bytes that the path takes, and the pieces that go on to the receiver
READS: dict[str, tuple[list[bytes], int, list[bytes]]] = {
    "all": ([b"2\r\ntt\r\n", b"1\r\nt\r\n"], 3, []),
    "the first bytes": ([b"4\r\nttbt\r\n"], 2, [b"bt"]),
    "nothing": ([b"2\r\nbt\r\n"], 0, [b"bt"]),
    "a chunk in pieces": ([b"3\r\nt", b"tt\r\n", b"1", b"\r\n", b"t", b"\r\n"], 4, []),
    # the receiver has the path, too
    "two pieces": ([b"1\r\nt\r\n1\r\nt\r\n"], 0, [b"tt"]),
}


@pytest.mark.parametrize("what", READS)
def test_a_path_gets_a_body_before_its_receiver(what: str) -> None:
    reads, taken, rest = READS[what]
    asked, connection, pool = received(*reads)
    assert (asked.text_path.taken, asked.data, asked.ends) == (taken, [b"a", *rest], [])
    connection.data_received(END)
    assert asked.ends == [None]
    pool.on_idle.assert_called_once_with(connection)


def test_an_answer_that_ends_with_text_for_a_path_has_an_end() -> None:
    asked, connection, pool = received(b"1\r\nt\r\n" + END)
    assert (asked.data, asked.ends) == ([b"a", b"t"], [None])
    pool.on_idle.assert_called_once_with(connection)


def test_a_fault_behind_text_for_a_path_ends_the_answer() -> None:
    asked, _, pool = received(b"1\r\nt\r\nx")
    assert asked.data == [b"a", b"t"] and len(asked.ends) == 1
    assert isinstance(asked.ends[0], WorkerError) and asked.ends[0].reason == "protocol"
    assert not pool.on_idle.called


def test_what_a_path_raises_ends_the_answer() -> None:
    asked, connection, pool = received(b"1\r\n!\r\n")
    assert [type(error) for error in asked.ends] == [OSError] and not pool.on_idle.called
    connection.data_received(b"1\r\nt\r\n")
    assert len(asked.ends) == 1 and asked.text_path.taken == 0


def test_text_that_a_path_takes_is_part_of_the_body() -> None:
    """The lines between two pieces of a body are bounded, those of a whole body are not."""
    asked, _, _ = received(*[b"1;" + b"e" * 998, b"\r\nt\r\n"] * (HEAD_BYTES // 1000 + 2))
    assert asked.ends == [] and asked.text_path.taken == HEAD_BYTES // 1000 + 2


def test_a_path_gets_nothing_behind_the_end_of_its_request(run: Run) -> None:
    async def work() -> int:
        asked, connection, _ = received()
        connection.stop(asked, is_ending=True)
        connection.data_received(b"1\r\nt\r\n")
        connection.abort()
        taken: int = asked.text_path.taken
        return taken

    assert run(work()) == 0
