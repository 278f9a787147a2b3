"""A worker's run as an async generator, for tests that take its chunks one by one."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from adapters.workers import Chunk, Generation, Worker


async def pulled(worker: Worker, generation: Generation) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of a run. The run is paused while none is asked for, and ended when the
    generator is closed. Raises what the run raises.
    """
    received: asyncio.Queue[Chunk | None] = asyncio.Queue()

    def receive(chunk: Chunk) -> bool:
        received.put_nowait(chunk)
        run.pause()
        return True

    run = worker.run(generation, receive)
    task = asyncio.ensure_future(run.wait())
    task.add_done_callback(lambda _: received.put_nowait(None))
    try:
        while True:
            if received.empty():
                run.resume()
            chunk = await received.get()
            if chunk is None:
                break
            yield chunk
        await task
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
