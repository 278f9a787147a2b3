"""A run of a SGLang server: when it ends, what comes out of it, and that it can be paused."""

import asyncio
import gc
import json
import re
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any
from weakref import ref

import httpx
import pytest

from adapters.workers import Chunk, Image, PromptImage, SGLangWorker, WorkerError
from tests.waiting import eventually

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


class Share:
    """Lives as long as an image."""


def without_collection(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    work: Callable[[SGLangWorker], Awaitable[None]],
) -> None:
    """Do the work with a worker that sees images, while no garbage is collected. ``serve``: the
    worker's connections.
    """

    async def served() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        worker = SGLangWorker(url, tokens=TOKENS, plugin={"spec_version": 1})
        worker.sees_images = True
        await work(worker)
        await worker.aclose()
        server.close()

    gc.disable()
    try:
        run(served())
    finally:
        gc.enable()


#: an answer to a prompt with an image, and the words of its error
FAILURES = {
    "a refusal": (b"HTTP/1.1 400 x\r\ncontent-length: 2\r\n\r\nno", "no"),
    "a broken event": (b"HTTP/1.1 200 x\r\n\r\ndata: {}\n\n", "not an event"),
    "other specs": (
        b"HTTP/1.1 400 x\r\n\r\n/switchyard/version: must be 7",
        "reads version 7 of grammar specs",
    ),
    "no HTTP": (b"SSH-2.0\r\n", "an invalid answer"),
    "a broken connection": (b"", "the server closed it"),
    "a truncated stream": (b"HTTP/1.1 200 x\r\n\r\ndata: [DONE]\n\n", "too early"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_error_does_not_keep_the_images_of_its_prompt(name: str) -> None:
    """They are freed with the error, without a garbage collection."""
    sent, words = FAILURES[name]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.findall(rb"content-length: (\d+)", head.lower())[0]))
        writer.write(sent)
        writer.close()

    async def fail(worker: SGLangWorker) -> tuple[str, ref[Share]]:
        message = ""
        share = Share()
        image = PromptImage(Image("image/png", "iVBORw0K", b"1" * 16, 1, 1, share), 0)
        try:
            await worker.run(ask(images=(image,)), lambda chunk: True).wait()
        except WorkerError as error:
            message = error.message
        return message, ref(share)

    async def work(worker: SGLangWorker) -> None:
        message, share = await fail(worker)
        assert words in message and share() is None

    without_collection(serve, work)


def test_a_run_keeps_its_prompt_until_the_first_chunk() -> None:
    """A prompt may have megabytes, and its answer take minutes."""
    first = event([5], 1)
    first["meta_info"]["prompt_tokens"] = 9

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 x\r\n\r\ndata: " + json.dumps(first).encode() + b"\n\n")
        await reader.read()
        writer.close()

    def start(worker: SGLangWorker, chunks: list[Chunk]) -> tuple[asyncio.Task[None], ref[Share]]:
        def receive(chunk: Chunk) -> bool:
            chunks.append(chunk)
            return True

        share = Share()
        image = PromptImage(Image("image/png", "iVBORw0K", b"1" * 16, 1, 1, share), 0)
        waits = worker.run(ask(images=(image,)), receive).wait()
        return asyncio.create_task(waits), ref(share)

    async def work(worker: SGLangWorker) -> None:
        chunks: list[Chunk] = []
        task, share = start(worker, chunks)
        await asyncio.sleep(0)
        assert share() is not None
        await eventually(lambda: chunks)
        await asyncio.sleep(0)
        assert share() is None and not task.done()
        task.cancel()
        await asyncio.wait([task])

    without_collection(serve, work)
