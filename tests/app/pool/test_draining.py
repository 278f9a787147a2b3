"""Draining: a worker that gets nothing new and finishes its answers."""

import pytest

from adapters.workers import Chunk, WorkerError
from app.pool.worker_pool import Pool
from tests.app.pool.fakes import DONE, Fake, chunks_of, counted, run


async def test_a_draining_worker_finishes_its_answers_and_gets_no_new_ones():
    old, other = Fake("old", Chunk((1,)), DONE), Fake("other", DONE)
    async with counted(old, other) as made:
        chunks = chunks_of(made.pool)
        await anext(chunks)
        (member,) = made.pool.drain("old", is_draining=True)
        assert (member.service, member.available, made.pool.status) == (
            "draining",
            False,
            "degraded",
        )
        for _ in range(5):
            assert await run(made.pool) == [DONE]
        assert (old.calls, other.calls) == (1, 5)
        assert [chunk async for chunk in chunks] == [DONE]
        assert (old.closed, member.running) == (False, 0)
        made.pool.drain("old", is_draining=False)
        assert made.pool.status == "ok"
        assert await run(made.pool) == [Chunk((1,)), DONE]
        assert made.log.events == ["worker draining", "worker no longer draining"]


async def test_no_retry_goes_to_a_draining_worker():
    bad = Fake("bad", WorkerError(502, "broken", reason="protocol"))
    pool = Pool([bad, Fake("draining", DONE)])
    pool.drain("draining", is_draining=True)
    with pytest.raises(WorkerError, match="no worker took the request"):
        await run(pool)
    assert pool.members[1].worker.calls == 0


async def test_a_pool_that_drains_whole_is_unready_and_refuses_with_503():
    pool = Pool([Fake("a", DONE)])
    pool.drain("a", is_draining=True)
    assert pool.status == "unready"
    with pytest.raises(WorkerError, match="no worker takes requests") as caught:
        await run(pool)
    assert (caught.value.status, caught.value.reason) == (503, "unavailable")


async def test_workers_of_one_name_drain_together_and_an_unknown_name_drains_none():
    pool = Pool([Fake("a"), Fake("a"), Fake("b")])
    assert len(pool.drain("a", is_draining=True)) == 2
    assert [member.is_draining for member in pool.members] == [True, True, False]
    assert pool.drain("c", is_draining=True) == []
