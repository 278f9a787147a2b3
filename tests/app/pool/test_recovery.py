"""Ejection of bad workers, probes, probation and readmission."""

import pytest

from adapters.workers import Chunk, WorkerError
from app.pool import member as breaker
from app.pool.worker_pool import Pool
from tests.app.pool.fakes import (
    BROKEN,
    DONE,
    NO_CONNECTION,
    Fake,
    chunks_of,
    counted,
    run,
)
from tests.waiting import eventually


@pytest.mark.usefixtures("quick")
async def test_a_probe_lets_a_worker_back_in_on_probation():
    bad = Fake("bad", BROKEN)
    async with counted(bad, Fake("good", DONE)) as made:
        member = made.pool.members[0]
        for _ in range(breaker.EJECT_AFTER):
            await run(made.pool)
        await eventually(lambda: bad.probes >= 3)
        assert not member.available, "no request pays for the attempts"
        assert (bad.calls, member.ejections > 2) == (breaker.EJECT_AFTER, True)
        bad.script = (DONE,)
        await eventually(lambda: member.available)
        bad.script = (BROKEN,)
        await run(made.pool)
        assert made.ejections == ["bad", "bad"], "on probation one failure ejects"
        assert made.log.events.count("worker readmitted") == 1


async def test_on_probation_a_worker_gets_one_request_at_a_time():
    first, second = Fake("a", Chunk((1,)), None), Fake("b", Chunk((1,)), None)
    pool = Pool([first, second])
    pool.members[0].ejections = 1
    requests = [chunks_of(pool) for _ in range(5)]
    for request in requests:
        await anext(request)
    assert (first.calls, second.calls) == (1, 4)
    for request in requests:
        await request.aclose()


async def test_of_ejected_workers_the_one_with_fewer_failures_is_tried_first():
    pool = Pool([Fake("a"), Fake("b", DONE)])
    for member, failures in zip(pool.members, (9, 1), strict=True):
        member.failures = failures
        member.open()
    assert await run(pool) == [DONE]
    assert pool.members[0].worker.calls == 0


async def test_only_ejected_workers_left_are_tried_and_an_answer_readmits():
    only = Fake("a", NO_CONNECTION)
    async with counted(only) as made:
        with pytest.raises(WorkerError):
            await run(made.pool)
        assert (made.pool.members[0].state, made.pool.status) == ("open", "degraded")
        only.script = (DONE,)
        assert await run(made.pool) == [DONE]
        assert (made.pool.status, made.pool.members[0].recovery) == ("ok", None)
        assert only.probes == 0


async def test_a_worker_that_is_healthy_again_is_probed_soon():
    """After a long outage the backoff is long; a restart ends it."""
    dead = Fake("a", NO_CONNECTION, health=False)
    async with counted(dead) as made:
        member = made.pool.members[0]
        member.ejections = 10
        await made.pool.check()
        with pytest.raises(WorkerError):
            await run(made.pool)
        assert member.ejections == 11
        dead.state, dead.script = True, (DONE,)
        await made.pool.check()
        assert member.ejections == 1
        await eventually(lambda: member.available)


@pytest.mark.usefixtures("quick")
async def test_an_unhealthy_worker_is_not_probed():
    dead = Fake("a", NO_CONNECTION, health=False)
    async with counted(dead) as made:
        member = made.pool.members[0]
        await made.pool.check()
        with pytest.raises(WorkerError):
            await run(made.pool)
        await eventually(lambda: member.ejections > 3)
        assert dead.probes == 0
