"""The pool: who gets a generation, and what happens when a worker fails."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from adapters.workers import Chunk, Generation, Health, WorkerError
from app.pool import Pool

DONE = Chunk((1,), "stop")


class Fake:
    """A worker that follows a script: chunks, errors, or None to wait for ever."""

    description = "fake"
    model = "m"

    def __init__(self, name: str, *script: Chunk | WorkerError | None, ready: bool = True) -> None:
        self.name = name
        self.script = script
        self.ready = ready
        self.calls = 0
        self.open = 0
        self.started = self.closed = False
        self.asked = asyncio.Event()

    async def start(self) -> None:
        self.started = True

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        self.calls += 1
        self.open += 1
        try:
            for step in self.script:
                if step is None:
                    await asyncio.Event().wait()
                elif isinstance(step, WorkerError):
                    raise step
                else:
                    yield step
        finally:
            self.open -= 1

    async def health(self) -> Health:
        self.asked.set()
        return Health(self.ready, "" if self.ready else "sick")

    async def aclose(self) -> None:
        self.closed = True


def generation() -> Generation:
    return Generation(rid="r", prompt="p", spec=None, max_tokens=1)


async def run(pool: Pool) -> list[Chunk]:
    return [chunk async for chunk in pool.generate(generation())]


REFUSED = WorkerError(400, "no")
GONE = WorkerError(503, "gone", retryable=True)


async def test_the_least_busy_worker_is_taken():
    first, second = Fake("a", DONE, None), Fake("b", DONE, None)
    pool = Pool([first, second])
    async with aclosing(pool.generate(generation())) as one:
        await anext(one)
        async with aclosing(pool.generate(generation())) as two:
            await anext(two)
            assert (first.open, second.open) == (1, 1)
    assert [member.running for member in pool.members] == [0, 0]


async def test_a_sick_worker_is_left_out_until_it_is_well():
    sick, well = Fake("a", DONE, ready=False), Fake("b", DONE)
    pool = Pool([sick, well])
    await pool.check()
    await run(pool)
    assert (sick.calls, well.calls) == (0, 1)
    sick.ready, well.ready = True, False
    await pool.check()
    await run(pool)
    assert (sick.calls, well.calls) == (1, 1)


async def test_when_all_seem_sick_one_is_tried_anyway():
    only = Fake("a", DONE, ready=False)
    pool = Pool([only])
    await pool.check()
    assert not pool.ready
    assert await run(pool) == [DONE]


async def test_another_worker_is_tried_before_the_first_chunk_only():
    failures: list[str] = []
    bad, good = Fake("a", GONE), Fake("b", DONE)
    pool = Pool([bad, good], on_failure=failures.append)
    assert await run(pool) == [DONE]
    assert failures == ["a"]
    assert not pool.members[0].health.ready

    late = Fake("c", Chunk((1,)), GONE)
    spare = Fake("d", DONE)
    with pytest.raises(WorkerError):
        await run(Pool([late, spare]))
    assert spare.calls == 0


async def test_a_refused_request_is_not_tried_elsewhere():
    failures: list[str] = []
    first, second = Fake("a", REFUSED), Fake("b", DONE)
    with pytest.raises(WorkerError) as caught:
        await run(Pool([first, second], on_failure=failures.append))
    assert caught.value is REFUSED
    assert (second.calls, failures) == (0, [])


async def test_when_every_worker_fails_the_last_error_is_told():
    workers = [Fake("a", GONE), Fake("b", GONE)]
    with pytest.raises(WorkerError):
        await run(Pool(workers))
    assert [worker.calls for worker in workers] == [1, 1]


async def test_leaving_early_closes_the_workers_generator():
    worker = Fake("a", Chunk((1,)), None)
    pool = Pool([worker])
    async with aclosing(pool.generate(generation())) as chunks:
        await anext(chunks)
        assert (worker.open, pool.members[0].running) == (1, 1)
    assert (worker.open, pool.members[0].running) == (0, 0)


async def test_start_and_close_reach_every_worker():
    workers = [Fake("a"), Fake("b", ready=False)]
    pool = Pool(workers, health_seconds=0.001)
    await pool.start()
    assert pool.ready
    workers[0].ready = False
    for _ in range(2):  # when a check begins, the one before it is over
        workers[0].asked.clear()
        await workers[0].asked.wait()
    assert not pool.ready
    await pool.aclose()
    assert all(worker.started and worker.closed for worker in workers)
