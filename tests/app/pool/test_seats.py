"""Seats: the ranks of a worker, which one a generation goes to, and what is the worker's alone."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from adapters.workers import Chunk, Generation, Health, WorkerError
from app.pool.member import Member
from app.pool.policies import PrefixAware
from app.pool.worker_pool import Pool
from tests.app.pool.fakes import BROKEN, DONE, Fake, counted, run
from tests.pulling import pulled_from
from tests.waiting import eventually


def ranked(name: str, ranks: int, *script: Chunk | Exception | None) -> Fake:
    worker = Fake(name, *script)
    worker.ranks = ranks
    return worker


async def pool_of(*workers: Fake, **options: object) -> Pool:
    pool = Pool(workers, **options)  # type: ignore[arg-type]
    await pool.check()
    return pool


def names(pool: Pool) -> list[str]:
    return [seat.name for member in pool.members for seat in member.seats]


async def test_a_worker_has_a_seat_for_each_rank_and_one_without_ranks_names_none():
    workers = [ranked("a", 3, DONE), ranked("b", 1, DONE), Fake("c", DONE)]
    pool = await pool_of(*workers)
    assert names(pool) == ["a#0", "a#1", "a#2", "b", "c"]
    for _ in range(10):
        await run(pool)
    assert [worker.sent_ranks for worker in workers] == [[0, 1, 2] * 2, [None] * 2, [None] * 2]


async def test_the_least_busy_rank_of_all_workers_gets_the_next_generation():
    pool = await pool_of(ranked("a", 2, Chunk((1,)), None), ranked("b", 1, Chunk((1,)), None))
    running = [pulled_from(pool, generation(number)) for number in range(6)]
    for chunks in running:
        await anext(chunks)
    assert [seat.running for member in pool.members for seat in member.seats] == [2, 2, 2]
    assert [member.running for member in pool.members] == [4, 2]
    for chunks in running:
        await chunks.aclose()
    assert [seat.running for member in pool.members for seat in member.seats] == [0, 0, 0]
    assert [member.running for member in pool.members] == [0, 0]


def generation(number: int, turn: int = 1) -> Generation:
    prompt = [number * 1000 + at for at in range(100 * turn)]
    return Generation(rid="r", prompt=prompt, spec=None, max_tokens=1)


async def ask(pool: Pool, number: int, turn: int) -> None:
    assert [chunk async for chunk in pulled_from(pool, generation(number, turn))] == [DONE]


async def test_a_conversation_returns_to_its_rank():
    workers = [ranked("a", 2, DONE), ranked("b", 2, DONE)]
    pool = await pool_of(*workers, policy=PrefixAware())
    for turn in (1, 2, 3):
        for number in range(4):
            await ask(pool, number, turn)
    assert [worker.sent_ranks for worker in workers] == [[0, 1] * 3] * 2


async def test_the_bound_of_running_generations_is_the_workers():
    pool = await pool_of(ranked("a", 2, Chunk((1,)), None), max_running=3)
    running = [pulled_from(pool, generation(number)) for number in range(4)]
    for chunks in running[:3]:
        await anext(chunks)
    late = asyncio.create_task(anext(running[3]))
    await eventually(lambda: pool.waiting == 1)
    assert sorted(seat.running for seat in pool.members[0].seats) == [1, 2]
    await running[0].aclose()
    await late
    for chunks in running:
        await chunks.aclose()


async def test_a_failure_of_a_rank_is_retried_at_another_worker_not_at_another_rank():
    """Health and circuit are the worker's: ranks share a process that fails as one."""
    bad, spare = ranked("bad", 2, BROKEN), Fake("spare", DONE)
    async with counted(bad, spare) as made:
        await made.pool.check()
        for _ in range(8):
            assert await run(made.pool) == [DONE]
        assert bad.calls == 3 and spare.calls == 8
        assert made.ejections == ["bad"] and {name for name, _ in made.failures} == {"bad"}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([2, 2], ["m#0", "m#1"]),
        ([2, None], ["m#0", "m#1"]),
        ([4, 2], ["m#0", "m#1"]),
        ([2, 3], ["m#0", "m#1", "m#2"]),
        ([2, 1], ["m"]),
        ([2, 1, 2], ["m#0", "m#1"]),
        ([1, None], ["m"]),
    ],
)
def test_seats_follow_the_health_checks(counts: Sequence[int | None], expected: list[str]):
    member = Member(Fake("m"))
    for ranks in counts:
        member.check(Health(True, ranks=ranks))
    assert [seat.name for seat in member.seats] == expected


def test_running_generations_of_a_rank_that_has_gone_still_count_for_the_worker():
    member = Member(Fake("m"))
    member.check(Health(True, ranks=3))
    kept, _, gone = member.seats
    kept.take()
    gone.take()
    member.check(Health(True, ranks=2))
    assert member.seats[0] is kept and gone not in member.seats
    assert (member.running, [seat.running for seat in member.seats]) == (2, [1, 0])
    gone.release()
    kept.release()
    assert member.running == 0 and member.idle.is_set()


async def test_ranks_stay_while_a_worker_fails_its_health_checks():
    worker = ranked("a", 2, DONE)
    pool = await pool_of(worker)
    worker.state = RuntimeError("gone")
    await pool.check()
    assert names(pool) == ["a#0", "a#1"] and not pool.members[0].health.ready
    assert await run(pool) == [DONE], "the least bad worker is still asked"


FULL = WorkerError(503, "SGLang: The request queue is full.", reason="full")


async def test_a_full_queue_is_no_fault_of_a_worker_that_answers():
    """REGRESSION: three requests that met a full queue ejected a worker that was only busy."""
    busy = Fake("busy", Chunk((1,)), None)
    async with counted(busy) as made:
        running = pulled_from(made.pool, generation(0))
        await anext(running)
        busy.script = (FULL,)
        for _ in range(10):
            with pytest.raises(WorkerError) as caught:
                await run(made.pool)
            assert (caught.value.status, caught.value.reason) == (503, "full")
        assert made.ejections == [] and made.pool.members[0].available
        assert made.failures == [("busy", "full")] * 10
        await running.aclose()
        assert made.pool.members[0].answering == 0


async def test_a_worker_whose_queue_is_full_although_it_answers_nobody_is_ejected():
    """It would get all requests: none of them runs there for long."""
    async with counted(Fake("stuck", FULL), Fake("spare", DONE)) as made:
        for _ in range(10):
            assert await run(made.pool) == [DONE]
        assert made.ejections == ["stuck"]


async def test_only_workers_that_keep_salts_apart_get_generations_with_one():
    """Also the least bad worker is none, if it would share their keys and values."""
    shares, separates = Fake("shares", DONE), Fake("separates", DONE)
    shares.salts, separates.salts = False, True
    pool = await pool_of(shares, separates)
    salted = replace(generation(1), cache_salt="a")
    for _ in range(4):
        assert [chunk async for chunk in pulled_from(pool, salted)] == [DONE]
        assert await run(pool) == [DONE]
    assert shares.calls <= 4 <= separates.calls, "only the others"
    assert pool.takes_salts
    pool.drain("separates", is_draining=True)
    with pytest.raises(WorkerError, match="no worker takes requests"):
        await anext(pulled_from(pool, salted))
    alone = await pool_of(shares)
    assert not alone.takes_salts
