"""The bound of running generations: who waits, in which order, and who leaves the queue."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from adapters.workers import Chunk, WorkerError
from app.pool.member import Member, Seat
from app.pool.slots import Slots
from app.pool.worker_pool import Pool
from tests.app.pool.fakes import BROKEN, DONE, Fake, chunks_of, counted, run
from tests.waiting import eventually

RUNS = (Chunk((1,)), None)


class Request:
    """A generation whose first chunk is waited for."""

    def __init__(self, pool: Pool) -> None:
        self.chunks = chunks_of(pool)
        self.first = asyncio.create_task(self._first(self.chunks))

    @staticmethod
    async def _first(chunks: AsyncGenerator[Chunk, None]) -> Chunk:
        return await anext(chunks)

    async def running(self) -> "Request":
        await self.first
        return self

    async def leave(self) -> None:
        self.first.cancel()
        await asyncio.wait({self.first})
        await self.chunks.aclose()


async def waiting(pool: Pool, count: int) -> list[Request]:
    """Requests that wait, the first one longest."""
    requests = []
    for number in range(1, count + 1):
        requests.append(Request(pool))
        await eventually(lambda number=number: pool.waiting == number)  # type: ignore[misc]
    return requests


@pytest.mark.parametrize("bound", [1, 2, 5])
async def test_a_worker_runs_as_many_generations_as_the_bound_and_no_more(bound: int):
    workers = [Fake("a", *RUNS), Fake("b", *RUNS)]
    pool = Pool(workers, max_running=bound)
    running = [await Request(pool).running() for _ in range(2 * bound)]
    assert [worker.open for worker in workers] == [bound, bound]
    (late,) = await waiting(pool, 1)
    assert [worker.open for worker in workers] == [bound, bound]
    await running[0].leave()
    await late.running()
    assert pool.waiting == 0
    for request in [*running[1:], late]:
        await request.leave()
    assert [member.running for member in pool.members] == [0, 0]


async def test_waiting_requests_are_served_in_order_and_nobody_overtakes():
    pool = Pool([Fake("a", *RUNS)], max_running=1)
    request = await Request(pool).running()
    queue = await waiting(pool, 3)
    for expected in list(queue):
        await request.leave()  # frees the slot, and a new request comes at the same moment
        newest = Request(pool)
        request = await expected.running()
        queue = [each for each in queue if each is not expected]
        assert not any(each.first.done() for each in queue) and not newest.first.done()
        await newest.leave()
    await request.leave()


async def test_a_request_whose_client_leaves_leaves_the_queue():
    pool = Pool([Fake("a", *RUNS)], max_running=1)
    running = await Request(pool).running()
    first, second = await waiting(pool, 2)
    await first.leave()
    assert pool.waiting == 1
    await running.leave()
    await second.running()
    await second.leave()
    assert (pool.waiting, pool.members[0].running) == (0, 0)


@pytest.mark.parametrize("cancel_first", [False, True])
async def test_a_slot_granted_to_a_request_that_is_just_leaving_goes_to_the_next(
    cancel_first: bool,
):
    member = Member(Fake("a"))
    (seat,) = member.seats
    slots = Slots(lambda: [member], 1)

    def pick() -> Seat | None:
        return seat if slots.is_free(member) else None

    await slots.take(pick, None)
    leaving, after = (asyncio.create_task(slots.take(pick, None)) for _ in range(2))
    await eventually(lambda: slots.waiting == 2)
    if cancel_first:
        leaving.cancel()
        slots.release(seat)
    else:
        slots.release(seat)
        leaving.cancel()
    assert await after is seat
    assert leaving.cancelled() and (slots.waiting, member.running) == (0, 1)
    slots.release(seat)
    assert (seat.running, member.running) == (0, 0)


async def test_a_wait_ends_at_the_deadline_of_the_first_token_with_503():
    async with counted(Fake("a", *RUNS), max_running=1, first_token_seconds=0.02) as made:
        running = await Request(made.pool).running()
        with pytest.raises(WorkerError, match=r"no worker was free within 0\.02 s") as caught:
            await run(made.pool)
        assert (caught.value.status, caught.value.reason) == (503, "unavailable")
        assert (made.pool.waiting, made.failures) == (0, []), "the worker is not at fault"
        await running.leave()


async def test_a_free_worker_that_is_bad_does_not_end_a_wait_for_a_good_one():
    bad, good = Fake("bad", BROKEN, health=False), Fake("good", *RUNS)
    pool = Pool([bad, good], max_running=1)
    await pool.check()
    running = await Request(pool).running()
    (late,) = await waiting(pool, 1)
    await running.leave()
    await late.running()
    assert (bad.calls, good.calls) == (0, 2)
    await late.leave()


async def test_a_worker_that_becomes_well_takes_waiting_requests():
    sick, busy = Fake("sick", *RUNS, health=False), Fake("busy", *RUNS)
    pool = Pool([sick, busy], max_running=1)
    await pool.check()
    running = await Request(pool).running()
    (late,) = await waiting(pool, 1)
    sick.state = True
    await pool.check()
    await late.running()
    assert sick.open == 1
    for request in (running, late):
        await request.leave()


async def test_a_retry_waits_for_a_free_worker_too():
    bad, good = Fake("bad", BROKEN), Fake("good", *RUNS)
    async with counted(bad, good, max_running=1) as made:
        (seat,) = made.pool.members[0].seats
        seat.take()
        running = await Request(made.pool).running()
        made.pool._slots.release(seat)
        (retried,) = await waiting(made.pool, 1)
        assert bad.calls == 1
        await running.leave()
        await retried.running()
        await retried.leave()


async def test_without_a_bound_nothing_waits():
    worker = Fake("a", *RUNS)
    pool = Pool([worker])
    requests = [await Request(pool).running() for _ in range(200)]
    assert worker.open == 200
    for request in requests:
        await request.leave()


async def test_a_finished_answer_frees_its_slot():
    pool = Pool([Fake("a", DONE)], max_running=1)
    for _ in range(5):
        async with aclosing(chunks_of(pool)) as chunks:
            assert [chunk async for chunk in chunks] == [DONE]
