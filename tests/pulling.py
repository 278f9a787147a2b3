"""Runs, generations of pools and answers as async generators, for tests that take them piece by
piece. Their source is paused while no piece is asked for, and ends when the generator is closed.
Its errors come out of the generator.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from adapters.workers import Chunk, Generation, Receive, Worker

if TYPE_CHECKING:
    from app.generation.choices import Flow
    from app.pool.worker_pool import Pool
    from app.service import AnswerStream

T = TypeVar("T")


def pulled(worker: Worker, generation: Generation) -> AsyncGenerator[Chunk, None]:
    """The chunks of a worker's run."""
    received: asyncio.Queue[Chunk | None] = asyncio.Queue()

    def receive(chunk: Chunk) -> bool:
        received.put_nowait(chunk)
        run.pause()
        return True

    run = worker.run(generation, receive)
    return _items(received, run.wait, run.resume)


def pulled_from(pool: "Pool", generation: Generation) -> AsyncGenerator[Chunk, None]:
    """The chunks of a pool."""
    received: asyncio.Queue[Chunk | None] = asyncio.Queue()
    attempts: list[Flow] = []

    def begin(attempt: "Flow") -> Receive:
        attempts.append(attempt)

        def receive(chunk: Chunk) -> bool:
            received.put_nowait(chunk)
            attempt.pause()
            return True

        return receive

    def resume() -> None:
        for attempt in attempts[-1:]:
            attempt.resume()

    return _items(received, lambda: pool.generate(generation, begin), resume)


def written(stream: "AnswerStream") -> AsyncGenerator[bytes, None]:
    """The events of an answer, as they are written together."""
    events: asyncio.Queue[bytes | None] = asyncio.Queue()

    def write(data: bytes) -> None:
        events.put_nowait(data)

    return _items(events, lambda: stream.send_to(write), lambda: None)


async def _items(
    received: "asyncio.Queue[T | None]",
    work: Callable[[], Coroutine[Any, Any, None]],
    resume: Callable[[], None],
) -> AsyncGenerator[T, None]:
    task = asyncio.create_task(work())
    task.add_done_callback(lambda _: received.put_nowait(None))
    try:
        while True:
            if received.empty():
                resume()
            item = await received.get()
            if item is None:
                break
            yield item
        await task
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
