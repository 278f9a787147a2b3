"""A run of a generator: its end, and that it can be paused."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from adapters.workers import Chunk
from adapters.workers.generator_run import GeneratorRun


class Counting:
    """Makes chunks without end, and counts those that were asked for."""

    def __init__(self) -> None:
        self.asked, self.is_closed = 0, False

    async def chunks(self) -> AsyncGenerator[Chunk, None]:
        try:
            while True:
                self.asked += 1
                yield Chunk((self.asked,))
        finally:
            self.is_closed = True


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_receiver_that_wants_no_more_ends_the_generator():
    made = Counting()
    await GeneratorRun(made.chunks(), lambda chunk: chunk.token_ids != (3,)).wait()
    assert (made.asked, made.is_closed) == (3, True)


async def test_what_a_receiver_raises_ends_the_generator():
    def receive(chunk: Chunk) -> bool:
        raise ValueError("a bug")

    made = Counting()
    with pytest.raises(ValueError, match="a bug"):
        await GeneratorRun(made.chunks(), receive).wait()
    assert (made.asked, made.is_closed) == (1, True)


async def test_a_paused_generator_is_not_asked():
    """REGRESSION: one that was resumed and paused again at once was asked for another chunk."""
    made = Counting()

    def receive(chunk: Chunk) -> bool:
        run.pause()
        return True

    run = GeneratorRun(made.chunks(), receive)
    task = asyncio.create_task(run.wait())
    await turns()
    assert made.asked == 1
    for _ in range(3):
        run.resume()
        run.pause()
        await turns()
    assert made.asked == 1
    run.pause()
    run.resume()
    await turns()
    assert made.asked == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert made.is_closed
