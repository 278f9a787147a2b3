"""Workers whose answers an async generator makes, and answers that are pulled piece by piece."""

import asyncio
from collections.abc import AsyncGenerator, Callable

from adapters.workers import Chunk, Generation, Receive, Run
from adapters.workers.generator_run import GeneratorRun
from app.concurrency import cancel
from app.generation.choices import Flow
from app.pool.worker_pool import Pool
from app.service import AnswerStream


class Generating:
    """A worker that has only ``generate``."""

    def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        raise NotImplementedError

    def run(self, generation: Generation, receive: Receive) -> Run:
        return GeneratorRun(self.generate(generation), receive)


async def pulled(
    pool: Pool, generation: Generation, check: Callable[[Chunk], object] = lambda chunk: None
) -> AsyncGenerator[Chunk, None]:
    """The chunks of a pool, which is paused until the next one is asked for.

    ``check``: called in the receiver, with each chunk.
    """
    received: asyncio.Queue[Chunk | None] = asyncio.Queue()
    attempts: list[Flow] = []

    def begin(attempt: Flow) -> Receive:
        attempts.append(attempt)

        def receive(chunk: Chunk) -> bool:
            check(chunk)
            received.put_nowait(chunk)
            attempt.pause()
            return True

        return receive

    task = asyncio.create_task(pool.generate(generation, begin))
    task.add_done_callback(lambda _: received.put_nowait(None))
    try:
        while (chunk := await received.get()) is not None:
            yield chunk
            attempts[-1].resume()
        await task
    finally:
        await cancel(task)


async def written(stream: AnswerStream) -> AsyncGenerator[bytes, None]:
    """The events of an answer, as they are written together."""
    events: asyncio.Queue[bytes | None] = asyncio.Queue()
    task = asyncio.create_task(stream.send_to(events.put_nowait))
    task.add_done_callback(lambda _: events.put_nowait(None))
    try:
        while (data := await events.get()) is not None:
            yield data
        await task
    finally:
        await cancel(task)
