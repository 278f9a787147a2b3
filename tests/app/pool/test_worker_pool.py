"""The pool: who gets a generation, and what happens when a worker fails."""

import asyncio
import gc
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import ref

import httpx
import pytest

from adapters.workers import (
    Chunk,
    FailureReason,
    Generation,
    Image,
    PromptImage,
    Receive,
    SGLangWorker,
    WorkerError,
)
from app.pool import member as breaker
from app.pool.retry_budget import RetryBudget
from app.pool.worker_pool import Pool
from engine import InternalError, LimitExceeded, ParseDivergence
from tests.app.pool.fakes import (
    BROKEN,
    DONE,
    GONE,
    NO_CONNECTION,
    REFUSED,
    Fake,
    First,
    Step,
    chunks_of,
    counted,
    generation,
    run,
)
from tests.pulling import pulled_from
from tests.waiting import eventually
from tests.workers.sglang_fakes import MockClient


def test_a_pool_supports_the_sampling_that_all_its_workers_support():
    some, other = Fake("a", sampling=["top_k", "min_p"]), Fake("b", sampling=["min_p"])
    assert Pool([some]).supported_sampling == {"top_k", "min_p"}
    assert Pool([some, other]).supported_sampling == {"min_p"}
    assert Pool([some, other, Fake("c")]).supported_sampling == frozenset()


# -- picking


SEEN = (PromptImage(Image("image/png", "", b"", 1, 1), 0),)


@pytest.mark.parametrize("retried", [DONE, BROKEN, REFUSED])
async def test_only_workers_that_see_images_get_them(retried: Step):
    """Also when those fail: a worker without vision would answer as if there were none."""
    blind, seeing, other = Fake("a", DONE), Fake("b", retried), Fake("c", DONE)
    seeing.sees_images = other.sees_images = True
    pool = Pool([blind, seeing, other], policy=First())
    assert pool.sees_images and not Pool([blind]).sees_images
    asked = replace(generation(), images=SEEN)
    assert [chunk async for chunk in pulled_from(pool, asked)] == [DONE]
    assert (blind.calls, seeing.calls, other.calls) == (0, 1, int(retried is not DONE))


async def test_images_wait_for_a_worker_that_sees_them_even_if_it_is_draining_or_sick():
    """It is not the client's fault, so the model still sees images, and the error is a 503."""
    blind, seeing = Fake("a", DONE), Fake("b", DONE, health=False)
    seeing.sees_images = True
    pool = Pool([blind, seeing])
    await pool.check()
    pool.drain("b", is_draining=True)
    assert pool.sees_images
    with pytest.raises(WorkerError, match="no worker takes images") as caught:
        await anext(pulled_from(pool, replace(generation(), images=SEEN)))
    assert caught.value.status == 503 and blind.calls == 0


async def test_images_wait_while_no_worker_is_known():
    """A server that was never reached may see images."""
    unknown, blind = Fake("a", DONE, health=False), Fake("b", DONE)
    unknown.sees_images = None
    pool = Pool([unknown, blind])
    assert pool.sees_images
    with pytest.raises(WorkerError, match="no worker takes images") as caught:
        await anext(pulled_from(pool, replace(generation(), images=SEEN)))
    assert (caught.value.status, unknown.calls, blind.calls) == (503, 0, 0)


async def test_the_least_busy_worker_is_taken():
    first, second = Fake("a", DONE, None), Fake("b", DONE, None)
    pool = Pool([first, second])
    first.script = second.script = (Chunk((1,)), None)
    async with aclosing(chunks_of(pool)) as one:
        await anext(one)
        async with aclosing(chunks_of(pool)) as two:
            await anext(two)
            assert (first.open, second.open) == (1, 1)
    assert [member.running for member in pool.members] == [0, 0]


async def test_a_sick_worker_is_left_out_until_it_is_well():
    sick, well = Fake("a", DONE, health=False), Fake("b", DONE)
    pool = Pool([sick, well])
    await pool.check()
    assert pool.status == "degraded"
    await run(pool)
    assert (sick.calls, well.calls) == (0, 1)
    sick.state, well.state = True, False
    await pool.check()
    await run(pool)
    assert (sick.calls, well.calls) == (1, 1)


async def test_when_all_seem_sick_one_is_tried_anyway():
    pool = Pool([Fake("a", DONE, health=False)])
    await pool.check()
    assert pool.status == "unready"
    assert await run(pool) == [DONE]


async def test_leaving_early_closes_the_workers_generator():
    worker = Fake("a", Chunk((1,)), None)
    pool = Pool([worker])
    async with aclosing(chunks_of(pool)) as chunks:
        await anext(chunks)
        assert (worker.open, pool.members[0].running) == (1, 1)
    assert (worker.open, pool.members[0].running) == (0, 0)


async def test_start_and_close_reach_every_worker():
    workers = [Fake("a"), Fake("b", health=False)]
    pool = Pool(workers, health_seconds=0.001)
    await pool.start()
    assert pool.status == "degraded"
    workers[0].state = False
    await eventually(lambda: pool.status == "unready")
    await pool.aclose()
    assert all(worker.started and worker.closed for worker in workers)


# -- failures before and after the first output

#: (what a worker does before its first output, the reason that is counted)
BEFORE: list[tuple[Step, FailureReason]] = [
    (NO_CONNECTION, "connection"),
    (GONE, "unavailable"),
    (BROKEN, "protocol"),
    (WorkerError(502, "unauthorized", reason="status"), "status"),
    (WorkerError(502, "cut", reason="truncated"), "truncated"),
    (ParseDivergence("not a word of its grammar"), "diverged"),
    (Chunk((), "abort"), "aborted"),
    (Chunk((), "error"), "aborted"),
]


@pytest.mark.parametrize(("step", "reason"), BEFORE)
async def test_every_failure_before_the_first_output_is_counted_and_tried_elsewhere(
    step: Step, reason: FailureReason
):
    """REGRESSION: a worker that failed fast took every request, and half of them failed."""
    async with counted(Fake("bad", step), Fake("good", DONE)) as made:
        for _ in range(24):
            assert await run(made.pool) == [DONE]
        assert set(made.failures) == {("bad", reason)}
        tries = 1 if reason in breaker.AT_ONCE else breaker.EJECT_AFTER
        assert made.pool.members[0].worker.calls == tries
        assert (made.ejections, made.pool.status) == (["bad"], "degraded")


async def test_a_worker_that_goes_on_beyond_the_end_has_failed_and_its_answer_counts():
    done = Chunk((1,), "length", overran=True)
    async with counted(Fake("bad", done), Fake("good", DONE), policy=First()) as made:
        for _ in range(breaker.EJECT_AFTER):
            assert await run(made.pool) == [done]
        assert made.failures == [("bad", "overrun")] * breaker.EJECT_AFTER
        assert made.ejections == ["bad"]
        assert await run(made.pool) == [DONE]


async def test_a_stream_without_a_finish_reason_is_no_answer():
    async with counted(Fake("bad"), Fake("good", DONE)) as made:
        assert await run(made.pool) == [DONE]
        assert made.failures == [("bad", "truncated")]


LATER: list[Step] = [
    BROKEN,
    WorkerError(400, "no"),
    Chunk((), "abort"),
    ParseDivergence("x"),
]


@pytest.mark.parametrize("step", LATER)
async def test_a_failure_after_the_first_output_is_an_error_and_counts(step: Step):
    bad, spare = Fake("bad", Chunk((1,)), step), Fake("spare", DONE)
    async with counted(bad, spare, policy=First()) as made:
        for _ in range(breaker.EJECT_AFTER):
            with pytest.raises((WorkerError, ParseDivergence)):
                await run(made.pool)
        assert (bad.calls, spare.calls) == (breaker.EJECT_AFTER, 0)
        assert made.ejections == ["bad"]
        assert await run(made.pool) == [DONE]


#: exceptions of this process, whichever layer raises them
OURS: list[Exception] = [
    WorkerError(500, "a fault of the engine"),
    RuntimeError("bug"),
    KeyError("bug"),
    IndexError("bug"),
    RecursionError(),
    MemoryError(),
    InternalError("bug"),
    LimitExceeded("parses", 512, 513),
]


@pytest.mark.parametrize("error", OURS, ids=repr)
@pytest.mark.parametrize("begun", [False, True])
async def test_a_fault_of_our_own_counts_against_no_worker(error: Exception, begun: bool):
    """REGRESSION: one that a request caused ejected a worker, and was repeated on all others."""
    script: list[Step] = [Chunk((1,)), error] if begun else [error]
    first, spare = Fake("first", *script), Fake("spare", DONE)
    async with counted(first, spare, policy=First()) as made:
        for _ in range(2 * breaker.EJECT_AFTER):
            with pytest.raises(type(error)):
                await run(made.pool)
        assert (first.calls, spare.calls) == (2 * breaker.EJECT_AFTER, 0)
        assert (made.failures, made.ejections, made.pool.status) == ([], [], "ok")


async def test_a_receiver_is_made_for_every_attempt_and_its_failure_is_the_workers():
    """A worker whose tokens do not fit the grammar costs an attempt, not the request."""
    received: list[list[Chunk]] = []

    def begin(_: object) -> Receive:
        seen: list[Chunk] = []
        received.append(seen)

        def receive(chunk: Chunk) -> bool:
            seen.append(chunk)
            if chunk.token_ids == (9,):
                raise ParseDivergence("9 is no word")
            return True

        return receive

    async with counted(Fake("bad", Chunk((9,)), None), Fake("good", DONE)) as made:
        await made.pool.generate(generation(), begin)
        assert made.failures == [("bad", "diverged")]
        assert [len(seen) for seen in received] == [1, 1]
        assert made.pool.members[0].worker.open == 0


async def test_a_receiver_that_wants_no_more_ends_the_generation_as_a_complete_answer():
    worker = Fake("a", Chunk((1,)), Chunk((2,)), None)
    async with counted(worker) as made:
        received: list[Chunk] = []

        def receive(chunk: Chunk) -> bool:
            received.append(chunk)
            return len(received) < 2

        await made.pool.generate(generation(), lambda _: receive)
        assert [chunk.token_ids for chunk in received] == [(1,), (2,)]
        assert (worker.open, made.failures, made.pool.members[0].answers) == (0, [], 1)


async def test_a_paused_answer_has_no_deadline():
    """A client that does not read is no fault of the worker."""
    slow = Fake("slow", Chunk((1,)), DONE)
    async with counted(slow, token_seconds=0.01) as made, aclosing(chunks_of(made.pool)) as chunks:
        assert await anext(chunks) == Chunk((1,))
        await asyncio.sleep(0.1)
        assert await anext(chunks) == DONE
        assert made.failures == []


class Share:
    """Part of a prompt."""


class Keeping:
    """A run that keeps its generation until its first chunk, which never comes if it fails."""

    def __init__(self, status: int, generation: Generation, receive: Receive) -> None:
        self._status, self._receive = status, receive
        self._generation: Generation | None = generation
        self.pause = self.resume = lambda: None

    async def wait(self) -> None:
        await asyncio.sleep(0)
        if self._status != 200:
            raise WorkerError(self._status, "no")
        self._generation = None
        self._receive(Chunk((1,)))
        await asyncio.Event().wait()


@pytest.mark.parametrize("status", [200, 400, 502])
async def test_a_prompt_is_freed_when_its_answer_begins(status: int):
    """Also if another worker has failed or refused it before: an error holds its frames."""
    workers = [Fake("a"), Fake("b")]
    for worker, each in zip(workers, (status, 200), strict=True):
        worker.sees_images = True
        vars(worker)["run"] = partial(Keeping, each)
    received: list[Chunk] = []

    def start(pool: Pool) -> tuple[asyncio.Task[None], ref[Share]]:
        share = Share()
        images = (PromptImage(Image("image/png", "", b"", 1, 1, share), 0),)
        asked = replace(generation(), images=images)
        waits = pool.generate(asked, lambda _: lambda chunk: not received.append(chunk))
        return asyncio.create_task(waits), ref(share)

    gc.disable()
    try:
        async with counted(*workers, policy=First()) as made:
            task, share = start(made.pool)
            await eventually(lambda: received)
            await asyncio.sleep(0)
            assert share() is None and not task.done()
            task.cancel()
            await asyncio.wait([task])
    finally:
        gc.enable()


@pytest.mark.parametrize("wanted", [1, 2])
async def test_a_complete_answer_has_no_deadline(wanted: int):
    """REGRESSION: a worker failed whose generation took longer to end than its next token may."""
    deadlines: list[float] = []

    class Ending(Fake):
        async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
            try:
                yield Chunk((1,))
                yield DONE
            finally:
                deadlines.extend(each.at for each in made.pool._sweep._deadlines)

    async with counted(Ending("a"), first_token_seconds=60, token_seconds=60) as made:
        received: list[Chunk] = []

        def receive(chunk: Chunk) -> bool:
            received.append(chunk)
            return len(received) < wanted

        await made.pool.generate(generation(), lambda _: receive)
        assert (len(received), deadlines) == (wanted, [math.inf])


async def test_a_generation_that_cannot_begin_leaves_no_deadline():
    class Unable(Fake):
        def run(self, generation: Generation, receive: Receive) -> Any:
            raise ValueError("a bug")

    async with counted(Unable("a")) as made:
        with pytest.raises(ValueError, match="a bug"):
            await run(made.pool)
        assert not made.pool._sweep._deadlines


async def test_a_limit_of_the_engine_is_not_the_workers_failure():
    first, second = Fake("a", LimitExceeded("steps", 1, 2)), Fake("b", DONE)
    async with counted(first, second) as made:
        with pytest.raises(LimitExceeded):
            await run(made.pool)
        assert (made.failures, second.calls) == ([], 0)


async def test_a_request_that_fails_everywhere_ends_with_one_error():
    workers = [Fake("a", GONE), Fake("b", BROKEN)]
    async with counted(*workers) as made:
        with pytest.raises(WorkerError, match=r"no worker took the request; .* broken") as caught:
            await run(made.pool)
        assert caught.value.status == 503
        assert [worker.calls for worker in workers] == [1, 1]


# -- refusals: whose fault?


async def test_a_request_that_two_workers_refuse_is_at_fault():
    workers = [Fake(name, REFUSED) for name in "abc"]
    async with counted(*workers, policy=First()) as made:
        for _ in range(10):
            with pytest.raises(WorkerError) as caught:
                await run(made.pool)
            assert caught.value is REFUSED
        assert (made.failures, made.pool.status) == ([], "ok")
        assert [worker.calls for worker in workers] == [10, 10, 0]


async def test_a_worker_that_refuses_what_another_takes_is_at_fault():
    """REGRESSION: a worker that answered 400 to everything took every request."""
    bad, good = Fake("bad", REFUSED), Fake("good", DONE)
    async with counted(bad, good) as made:
        for _ in range(24):
            assert await run(made.pool) == [DONE]
        assert made.failures == [("bad", "refused")] * breaker.EJECT_AFTER
        assert made.ejections == ["bad"]


@pytest.mark.parametrize("others", [(), (GONE,), (BROKEN, GONE)])
async def test_a_refusal_stands_when_no_other_worker_speaks(others: tuple[WorkerError, ...]):
    workers = [Fake("a", REFUSED), *(Fake(f"b{n}", error) for n, error in enumerate(others))]
    async with counted(*workers) as made:
        with pytest.raises(WorkerError) as caught:
            await run(made.pool)
        assert caught.value is REFUSED


# -- deadlines


async def test_a_worker_that_never_answers_loses_the_request_to_another_one():
    """REGRESSION: it held its requests for 600 s."""
    hung, good = Fake("hung", None), Fake("good", DONE)
    async with counted(hung, good, first_token_seconds=0.01) as made:
        assert await run(made.pool) == [DONE]
        assert (hung.open, made.failures) == (0, [("hung", "timeout")])
        assert made.ejections == ["hung"], "one is enough: each costs a deadline"


async def test_what_is_given_up_is_aborted_at_the_server():
    """Closing the connection would do, two seconds later."""
    paths: list[str] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        if request.url.path == "/generate":
            await asyncio.Event().wait()
        return httpx.Response(200)

    worker = SGLangWorker("http://worker", tokens=[b"a"], client=MockClient(answer))
    pool = Pool([worker], first_token_seconds=0.01)
    with pytest.raises(WorkerError, match="no first token"):
        await run(pool)
    await pool.aclose()
    assert paths == ["/generate", "/abort_request"]


async def test_after_the_end_nobody_is_probed():
    async with counted(Fake("a", NO_CONNECTION)) as made:
        await made.pool.aclose()
        with pytest.raises(WorkerError):
            await run(made.pool)
        assert made.pool.members[0].recovery is None


async def test_a_worker_that_falls_silent_ends_its_answer_with_an_error():
    silent = Fake("silent", Chunk((1,)), None)
    async with counted(silent, token_seconds=0.01) as made:
        with pytest.raises(WorkerError, match=r"no next token within 0\.01 s") as caught:
            await run(made.pool)
        assert (caught.value.status, caught.value.reason, silent.open) == (504, "timeout", 0)


async def test_the_time_that_a_slow_client_takes_is_not_the_workers():
    async with counted(Fake("a", Chunk((1,)), DONE), token_seconds=0.01) as made:
        async with aclosing(chunks_of(made.pool)) as chunks:
            await anext(chunks)
            await asyncio.sleep(0.05)
            assert [chunk async for chunk in chunks] == [DONE]
        assert made.failures == []


# -- the policy and the budget


class Last:
    """A policy that takes the last candidate, and keeps all candidates."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def pick(self, candidates: Sequence[Any], generation: Generation) -> Any:
        self.asked.append([candidate.name for candidate in candidates])
        return candidates[-1]


async def test_a_policy_chooses_among_healthy_workers_in_service_only():
    policy = Last()
    workers = [Fake(name, DONE) for name in ("well", "sick", "ejected", "draining", "best")]
    workers[1].state = False
    pool = Pool(workers, policy=policy)
    await pool.check()
    pool.members[2].open()
    pool.drain("draining", is_draining=True)
    await run(pool)
    assert policy.asked == [["well", "best"]] and workers[4].calls == 1


async def test_a_policy_is_not_asked_about_tried_workers_nor_about_bad_ones():
    policy = Last()
    pool = Pool([Fake("sick", DONE, health=False), Fake("b", BROKEN)], policy=policy)
    await pool.check()
    assert await run(pool) == [DONE]
    assert policy.asked == [["b"]]


def budget(retries: int) -> RetryBudget:
    """A budget of so many retries, for as long as a test takes."""
    return RetryBudget(0.0, retries / 10.0, clock=lambda: 0.0)


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_a_bad_pool_gets_no_more_retries_than_the_budget(retries: int):
    workers = [Fake(name, BROKEN) for name in "abcd"]
    async with counted(*workers, retry_budget=budget(retries)) as made:
        requests = 20
        for _ in range(requests):
            with pytest.raises(WorkerError, match=r"no worker took the request") as caught:
                await run(made.pool)
            assert caught.value.status == 503
        # a retry away from a worker that has just been ejected, to one in service, is free
        free = sum(made.retries) - retries
        assert sum(worker.calls for worker in workers) == requests + retries + free
        assert free <= len(workers) * len(workers)
        assert made.retries.count(False) >= requests - retries - free


async def test_a_spent_budget_does_not_stop_retries_away_from_an_ejected_worker():
    """One bad worker of two: a retry loads the good one as any request does."""
    bad, good = Fake("bad", NO_CONNECTION), Fake("good", DONE)
    async with counted(bad, good, retry_budget=budget(0)) as made:
        for _ in range(10):
            assert await run(made.pool) == [DONE]
        assert made.retries == [True]


async def test_refusals_do_not_use_up_the_budget():
    """A client whose requests are refused must not take retries from others."""
    workers = [Fake("a", REFUSED), Fake("b", REFUSED)]
    async with counted(*workers, retry_budget=budget(0)) as made:
        for _ in range(10):
            with pytest.raises(WorkerError) as caught:
                await run(made.pool)
            assert caught.value is REFUSED
        assert [worker.calls for worker in workers] == [10, 10]


@pytest.mark.parametrize("load", [20, 200])
async def test_with_the_default_budget_a_hung_worker_of_two_costs_no_request(load: int):
    """All requests that wait at it time out together, and all are retried."""
    hung, good = Fake("hung", None), Fake("good", DONE)
    async with counted(hung, good, first_token_seconds=0.05) as made:
        good.script = (Chunk((1,)), DONE)
        answers = await asyncio.gather(*(run(made.pool) for _ in range(load)))
        assert all(answer[-1] == DONE for answer in answers)
        assert made.ejections == ["hung"]
