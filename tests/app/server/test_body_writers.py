"""Pushed answers on a real connection, and through ASGI: framing, order, pauses, and their ends."""

import asyncio
import io
import socket
from unittest.mock import Mock, call

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.api.middleware import RequestMiddleware
from app.errors import ApiError
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.server.body_writers import MAX_WAITING_BYTES, AsgiWriter, TransportWriter
from app.server.drain import Drain
from tests.app.server.pushed import (
    CLOSING,
    END,
    REQUEST,
    Source,
    Write,
    answer,
    events,
    served,
    streams,
)
from tests.waiting import PATIENCE


async def test_each_write_is_a_chunk_and_the_answer_has_an_end():
    source = events(b"a", b"", b"b" * 17)
    data = await answer(streams(source), CLOSING)
    head, _, body = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"transfer-encoding: chunked" in head.lower()
    assert body == b"1\r\na\r\n11\r\n" + b"b" * 17 + b"\r\n" + END
    assert source.done == ["closed"]


async def test_what_a_source_has_at_once_goes_out_with_the_head():
    received: list[int] = []
    source = Source(lambda _, write: _written_at_once(write, b"a", b"b" * 17))
    async with served(streams(source)) as (address, _), asyncio.timeout(PATIENCE):
        with socket.socket() as client:
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, address)
            await loop.sock_sendall(client, REQUEST)
            data = b""
            while not data.endswith(END):
                data += (part := await loop.sock_recv(client, 65536))
                received.append(len(part))
    assert len(received) == 1
    assert data.partition(b"\r\n\r\n")[2] == b"1\r\na\r\n11\r\n" + b"b" * 17 + b"\r\n" + END


async def _written_at_once(write: Write, *data: bytes) -> None:
    for each in data:
        write(each)


async def test_a_head_does_not_wait_for_an_event():
    app = streams(events(then_wait=True))
    async with served(app) as (address, _), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(REQUEST)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        writer.close()


async def test_what_was_written_before_a_fault_is_sent():
    async def script(_: Source, write: Write) -> None:
        write(b"a")
        raise ValueError

    data = await answer(streams(Source(script)), REQUEST)
    assert data.startswith(b"HTTP/1.1 200 ")
    assert data.endswith(b"1\r\na\r\n")


async def test_requests_behind_a_pushed_answer_are_answered_in_turn():
    first, second = events(b"a"), events(b"b")
    data = await answer(streams(first, second), REQUEST + CLOSING)
    one, two = data.split(END)[:2]
    assert (one[-6:], two[-6:]) == (b"1\r\na\r\n", b"1\r\nb\r\n")
    assert data.count(b"HTTP/1.1 200 ") == 2


async def test_a_connection_is_kept_after_a_pushed_answer():
    async with (
        served(streams(events(b"a"), events(b"b"))) as (address, made),
        asyncio.timeout(PATIENCE),
    ):
        reader, writer = await asyncio.open_connection(*address)
        for data in (b"a", b"b"):
            writer.write(REQUEST)
            assert (await reader.readuntil(END)).endswith(b"1\r\n" + data + b"\r\n" + END)
        writer.close()
    assert len(made) == 1


async def test_the_error_event_of_a_shutdown_follows_all_written_events():
    source, drain = events(b"a", b"b", then_wait=True), Drain()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["exchange"].failed = lambda error: error.code.encode()
        await streams(source)(scope, receive, send)

    logger = make_logger("info", io.StringIO())
    guarded = RequestMiddleware(app, metrics=Metrics(), logger=logger, drain=drain)
    async with served(guarded) as (address, _), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(REQUEST)
        await reader.readuntil(b"1\r\nb\r\n")
        source.write(b"last")
        drain.end()
        assert await reader.readuntil(END) == b"4\r\nlast\r\nf\r\nserver_shutdown\r\n" + END
        writer.close()
    assert source.done == ["cancelled", "closed"]


async def test_a_client_that_reads_slowly_pauses_the_source_and_gets_everything():
    size, number = 4096, 500
    sizes: list[int] = []

    async def script(source: Source, write: Write) -> None:
        accepted = made[0].transport.get_extra_info("socket")
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        for each in range(number):
            await source.may_go_on.wait()
            write(b"%04d" % each + b"x" * (size - 4))
            sizes.append(made[0].transport.get_write_buffer_size())

    source = Source(script)
    async with served(streams(source)) as (address, made), asyncio.timeout(PATIENCE):
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.setblocking(False)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(client, address)
            await loop.sock_sendall(client, REQUEST)
            while "paused" not in source.done:
                await asyncio.sleep(0)
            data = b""
            while not data.endswith(END):
                data += await loop.sock_recv(client, 65536)
    chunks = data.partition(b"\r\n\r\n")[2].split(b"1000\r\n")[1:]
    assert [int(chunk[:4]) for chunk in chunks] == list(range(number))
    *paused, last = source.done
    assert last == "closed"
    assert paused == ["paused", "resumed"] * (len(paused) // 2)
    # one more event was under way
    _, high = made[0].transport.get_write_buffer_limits()
    assert max(sizes) <= high + size + len(b"1000\r\n\r\n")


async def test_a_client_that_leaves_ends_the_source_and_later_writes_do_nothing():
    told: list[str] = []
    source = events(b"a", then_wait=True)
    app = streams(source, on_disconnect=lambda: told.append("left"))
    async with served(app) as (address, made), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(REQUEST)
        await reader.readuntil(b"1\r\na\r\n")
        writer.close()
        while "closed" not in source.done:
            source.write(b"b")
            await asyncio.sleep(0)
        source.write(b"c")
        assert made[0].cycle.disconnected
    assert source.done == ["cancelled", "closed"]
    assert told == ["left"]


async def test_nothing_is_written_while_a_connection_closes():
    """REGRESSION: each event behind the end of a TLS client's stream was a warning in the log."""
    transport = Mock(is_closing=Mock(return_value=False))

    async def script(source: Source, write: Write) -> None:
        write(b"a")
        transport.is_closing.return_value = True
        write(b"b")

    await TransportWriter(transport, Mock(write_paused=False)).write_all(Source(script))
    assert transport.write.call_args_list == [call(b"1\r\na\r\n")]


async def test_a_connection_that_is_refused_while_it_is_answered_gets_no_more_events():
    source = events(b"a", then_wait=True)
    request = REQUEST.replace(b"content-length: 0", b"transfer-encoding: chunked")
    async with served(streams(source)) as (address, _), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(request)
        await reader.readuntil(b"1\r\na\r\n")
        writer.write(b"no chunk\r\n")
        while "closed" not in source.done:
            source.write(b"b")
            await asyncio.sleep(0)
        rest = await reader.read()
        assert END not in rest
        # those that were written before the refusal
        assert rest == b"1\r\nb\r\n" * (len(rest) // 6)
        writer.close()


#: requests whose answers cannot be chunks, and their whole bodies
OTHERS = {
    "HTTP/1.0": (b"POST / HTTP/1.0\r\nhost: g\r\n\r\n", b"ab"),
    "HEAD": (b"HEAD / HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n", b""),
}


@pytest.mark.parametrize(("sent", "body"), OTHERS.values(), ids=OTHERS.keys())
async def test_what_cannot_be_chunks_goes_through_asgi(sent: bytes, body: bytes):
    data = await answer(streams(events(b"a", b"b")), sent)
    assert data.startswith(b"HTTP/1.1 200 ")
    assert data.partition(b"\r\n\r\n")[2] == body


# -- through ASGI ----------------------------------------------------------------------------------
async def test_events_that_wait_are_joined_and_the_source_is_paused():
    sent: list[bytes] = []
    begun, room = asyncio.Event(), asyncio.Event()

    async def send(message: Message) -> None:
        begun.set()
        await room.wait()
        sent.append(message["body"])

    half = b"x" * (MAX_WAITING_BYTES // 2)

    async def script(source: Source, write: Write) -> None:
        write(b"a")
        await begun.wait()
        write(half)
        write(half)
        assert source.done == []
        write(b"b")
        assert source.done == ["paused"]
        room.set()
        await source.may_go_on.wait()
        write(b"c")

    source, asgi = Source(script), AsgiWriter(send)
    await asyncio.wait_for(asgi.write_all(source), PATIENCE)
    assert sent[0] == b"a"
    assert b"".join(sent[1:]) == half * 2 + b"bc"
    assert len(sent[1:]) <= 2
    assert source.done == ["paused", "resumed"]
    source.write(b"late")
    assert not asgi.is_full


async def test_a_failure_of_the_source_is_not_lost():
    async def script(source: Source, write: Write) -> None:
        write(b"a")
        raise ApiError(500, "broken")

    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message["body"])

    with pytest.raises(ApiError):
        await AsgiWriter(send).write_all(Source(script))
    assert sent == [b"a"]
