"""What the tests of workers share."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from adapters.workers import Chunk, Generation, Worker

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 120))


async def collect(worker: Worker, generation: Generation) -> list[Chunk]:
    return [chunk async for chunk in worker.generate(generation)]


def ids_of(chunks: list[Chunk]) -> list[int]:
    return [number for chunk in chunks for number in chunk.token_ids]


def check_invariants(chunks: list[Chunk]) -> None:
    """I2 and I3 of adapters.workers.base, and that counts agree with the ids."""
    assert [c.finish_reason is None for c in chunks] == [True] * (len(chunks) - 1) + [False]
    assert all(c.stop_text is None and c.trim == 0 for c in chunks[:-1])
    made = [c.completion_tokens for c in chunks]
    assert made == sorted(made)
    assert made[-1] == len(ids_of(chunks))
    assert len({c.prompt_tokens for c in chunks}) == 1
