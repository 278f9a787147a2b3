"""LoRA adapters in a pool: only workers that have one are asked for it, and one that has lost it
leads to others.
"""

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from adapters.workers import Chunk, PromptTooLong, WorkerError
from app.pool.retry_budget import RetryBudget
from app.pool.slots import LOOKED_AT
from app.pool.worker_pool import Pool
from tests.app.pool.fakes import (
    BROKEN,
    DONE,
    REFUSED,
    Fake,
    First,
    Step,
    counted,
    generation,
)
from tests.pulling import pulled_from
from tests.waiting import eventually

LOST = WorkerError(503, "never loaded", reason="adapter")
ASKED = replace(generation(), lora="law")


def having(name: str, *script: Step, adapters: tuple[str, ...] = ("law",), **options: bool) -> Fake:
    worker = Fake(name, *script, **options)
    worker.adapters = dict.fromkeys(adapters, "")
    return worker


@pytest.mark.parametrize("retried", [DONE, BROKEN, REFUSED, LOST])
async def test_only_workers_with_the_adapter_are_asked(retried: Step) -> None:
    """Also when those fail: another worker would answer as the model itself, or not at all."""
    base, tax = having("a", DONE, adapters=()), having("b", DONE, adapters=("tax",))
    first, second = having("c", retried), having("d", DONE)
    pool = Pool([base, tax, first, second], policy=First())
    assert [chunk async for chunk in pulled_from(pool, ASKED)] == [DONE]
    assert [each.calls for each in pool_workers(pool)] == [0, 0, 1, int(retried is not DONE)]


def pool_workers(pool: Pool) -> list[Fake]:
    return [member.worker for member in pool.members]  # type: ignore[misc]


async def test_every_worker_is_asked_for_the_model_itself() -> None:
    pool = Pool([having("a", DONE)], policy=First())
    assert [chunk async for chunk in pulled_from(pool, generation())] == [DONE]


async def test_a_worker_that_lost_the_adapter_is_not_ejected_and_costs_no_budget() -> None:
    """It serves all else. The refusal costs it no forward pass, so others are asked freely."""
    lost = [having(name, LOST) for name in "abcdef"]
    budget = RetryBudget(0.0, 0.0)
    async with counted(*lost, having("g", DONE), policy=First(), retry_budget=budget) as made:
        for _ in range(5):
            assert [chunk async for chunk in pulled_from(made.pool, ASKED)] == [DONE]
        assert all(member.available for member in made.pool.members)
        assert (made.ejections, set(made.retries)) == ([], {True})
        assert made.failures[:6] == [(name, "adapter") for name in "abcdef"]


@pytest.mark.parametrize(
    ("workers", "reason", "message"),
    [
        ([having("a", DONE, adapters=())], "adapter", "no worker has the adapter 'law'"),
        ([having("a", LOST), having("b", LOST)], "adapter", "the last one: never loaded"),
        ([having("a", LOST), having("b", BROKEN)], "protocol", "no worker took the request"),
    ],
)
async def test_an_adapter_that_no_worker_can_serve_is_no_client_error(
    workers: list[Fake], reason: str, message: str
) -> None:
    with pytest.raises(WorkerError, match=message) as caught:
        await anext(pulled_from(Pool(workers, policy=First()), ASKED))
    assert (caught.value.status, caught.value.reason) == (503, reason)


async def test_an_adapter_waits_for_a_worker_that_is_draining() -> None:
    pool = Pool([having("a", DONE), having("b", DONE, adapters=())])
    pool.drain("a", is_draining=True)
    with pytest.raises(WorkerError, match="no worker takes requests for the adapter 'law'"):
        await anext(pulled_from(pool, ASKED))
    assert pool.has_adapter("law") and not pool.has_adapter("tax")


async def test_the_room_of_workers_without_the_adapter_does_not_count() -> None:
    """A prompt that only they have room for is too long."""
    short, long = having("a", DONE), having("b", DONE, adapters=())
    short.max_model_len, long.max_model_len = 2, 100
    with pytest.raises(PromptTooLong) as caught:
        await anext(pulled_from(Pool([short, long]), replace(ASKED, prompt=[1, 2, 3])))
    assert caught.value.limit == 2


async def test_requests_for_a_busy_adapter_keep_no_others_from_a_free_worker() -> None:
    """However many wait for it."""
    law, base = having("a", Chunk((1,)), None), having("b", DONE, adapters=())
    pool = Pool([law, base], max_running=1)
    async with aclosing(pulled_from(pool, ASKED)) as running:
        await anext(running)
        waiting = [asyncio.create_task(anext(pulled_from(pool, ASKED))) for _ in range(LOOKED_AT)]
        await eventually(lambda: pool.waiting == LOOKED_AT)
        assert [chunk async for chunk in pulled_from(pool, generation())] == [DONE]
        assert (base.calls, pool.waiting) == (1, LOOKED_AT)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
    assert pool.waiting == 0


async def test_a_waiting_request_gets_a_worker_as_soon_as_a_check_finds_its_adapter_there() -> None:
    """REGRESSION: it waited until another generation ended."""
    law, base = having("a", Chunk((1,)), None), having("b", DONE, adapters=())
    pool = Pool([law, base], max_running=1)
    async with aclosing(pulled_from(pool, ASKED)) as running:
        await anext(running)
        waiting = asyncio.create_task(anext(pulled_from(pool, ASKED)))
        await eventually(lambda: pool.waiting == 1)
        base.adapters = {"law": ""}
        await pool.check()
        assert await waiting == DONE
    assert base.calls == 1


async def test_a_request_does_not_wait_for_an_adapter_that_no_worker_has_any_more() -> None:
    """REGRESSION: it waited for the whole deadline, and then no worker had been free."""
    law, base = having("a", Chunk((1,)), None), having("b", DONE, adapters=())
    pool = Pool([law, base], max_running=1)
    async with aclosing(pulled_from(pool, ASKED)) as running:
        await anext(running)
        waiting = [asyncio.create_task(anext(pulled_from(pool, ASKED))) for _ in range(3)]
        await eventually(lambda: pool.waiting == 3)
        waiting[0].cancel()  # ends in the same turn
        law.adapters = {}
        await pool.check()
        for task in waiting[1:]:
            with pytest.raises(WorkerError, match="no worker has the adapter 'law'") as caught:
                await task
            assert caught.value.reason == "adapter"
    assert pool.waiting == 0 and [member.running for member in pool.members] == [0, 0]


def test_the_adapters_of_a_pool_are_those_of_all_workers() -> None:
    a, b = having("a", adapters=("tax", "law")), having("b", adapters=("law",))
    found = Pool([a, b]).adapters
    assert {name: [member.name for member in members] for name, members in found.items()} == {
        "law": ["a", "b"],
        "tax": ["a"],
    }
    assert list(found) == ["law", "tax"]
