"""A run of a SGLang server: when it ends, what comes out of it, and that it can be paused."""

import asyncio
import json
from contextvars import ContextVar
from typing import Any

import httpx
import pytest

from adapters.workers import Chunk, SGLangWorker

from .helpers import ids_of, run
from .sglang_fakes import RECORDED, TOKENS, Body, Server, ask, event, recorded, streamed

STOP = {"type": "stop"}


def test_a_receiver_that_wants_no_more_ends_the_run_and_aborts() -> None:
    chunks: list[Chunk] = []
    server = recorded("free")

    def receive(chunk: Chunk) -> bool:
        chunks.append(chunk)
        return len(chunks) < 2

    async def work() -> None:
        worker = server.worker()
        await worker.run(ask(), receive).wait()
        await worker.aclose()

    run(work())
    assert len(chunks) == 2 and chunks[-1].finish_reason is None
    assert server.sent("/abort_request") == [{"rid": server.sent("/generate")[0]["rid"]}]


def test_an_answer_that_has_ended_at_the_server_is_not_aborted() -> None:
    """Also if the receiver wants no more."""
    server = streamed(event([5, 6], 2, STOP))
    run(server.worker().run(ask(), lambda chunk: False).wait())
    assert server.sent("/abort_request") == []


class Wrong(Exception):
    """An error of a receiver."""


def test_what_a_receiver_raises_comes_out_and_aborts() -> None:
    wrong, server = Wrong(), recorded("free")

    def receive(chunk: Chunk) -> bool:
        raise wrong

    async def work() -> None:
        worker = server.worker()
        with pytest.raises(Wrong) as caught:
            await worker.run(ask(), receive).wait()
        assert caught.value is wrong
        await worker.aclose()

    run(work())
    assert len(server.sent("/abort_request")) == 1


def test_tokens_before_a_failure_are_received_first() -> None:
    chunks: list[Chunk] = []
    server = streamed(event([5], 1), {"error": {"message": "out of memory"}})
    whole = server.reply

    def together() -> httpx.Response:
        response: Any = whole()
        response.stream.size = 1 << 20
        return response

    server.reply = together

    async def work() -> None:
        with pytest.raises(Exception, match="out of memory"):
            await server.worker().run(ask(), lambda chunk: not chunks.append(chunk)).wait()

    run(work())
    assert ids_of(chunks) == [5]


def test_pausing_before_the_beginning_and_behind_the_end_is_harmless() -> None:
    chunks: list[Chunk] = []

    async def work() -> None:
        made = recorded("free").worker().run(ask(), lambda chunk: not chunks.append(chunk))
        made.pause()
        made.resume()
        made.pause()
        task = asyncio.ensure_future(made.wait())
        await asyncio.sleep(0.1)
        assert len(chunks) <= 1, "what is on its way still comes"
        made.resume()
        await task
        made.pause()
        made.resume()

    run(work())
    assert chunks[-1].finish_reason == "length"


VARIABLE: ContextVar[int] = ContextVar("variable")


@pytest.mark.parametrize("pause_s", [0.0, 0.01])
def test_streams_share_a_connection_and_not_a_context(pause_s: float) -> None:
    """Over a socket. The connection is kept although a stream ends later than its last token."""
    heads: list[bytes] = []
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while head := await _head(reader):
            heads.append(head)
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            for value in (event([5], 1), event([5, 6], 2, STOP)):
                data = b"data: " + json.dumps(value).encode() + b"\n\n"
                writer.write(b"%x\r\n%s\r\n" % (len(data), data))
                await asyncio.sleep(pause_s)
            writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        writer.close()

    async def work() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        worker = SGLangWorker(url, tokens=TOKENS)
        seen: list[int] = []

        def receive(chunk: Chunk) -> bool:
            seen.append(VARIABLE.get())
            return True

        for number in range(3):
            VARIABLE.set(number)
            seen.clear()
            await worker.run(ask(), receive).wait()
            assert set(seen) == {number}
            await asyncio.sleep(0.01 + 2 * pause_s)
        assert (len(heads), connections) == (3, 1)
        await worker.aclose()
        server.close()

    run(work())


async def _head(reader: asyncio.StreamReader) -> bytes:
    """Read a request with its body, which ends in }}; nothing at the end of the connection."""
    try:
        return await reader.readuntil(b"}}")
    except asyncio.IncompleteReadError:
        return b""


@pytest.mark.parametrize("size", [50, 1 << 20])
def test_a_run_needs_the_end_of_no_stream(size: int) -> None:
    """It ends with the chunk that has a finish reason, and a body that goes on is left."""

    class Endless(Body):
        async def __aiter__(self) -> Any:
            async for piece in super().__aiter__():
                yield piece
            await asyncio.Event().wait()

    body = Endless((RECORDED / "tag.sse").read_bytes(), size)
    server = Server(lambda: httpx.Response(200, stream=body))
    run(asyncio.wait_for(server.worker().run(ask(), lambda chunk: True).wait(), 10))
    assert body.closed
