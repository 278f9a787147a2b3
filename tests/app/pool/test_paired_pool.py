"""Pairs of workers: who gets which half, and what a failure of one half does to the other one."""

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import ref

import pytest

from adapters.workers import (
    ALONE,
    Bootstrap,
    Chunk,
    FailureReason,
    Generation,
    Image,
    PromptImage,
    Receive,
    SamplingOptions,
    Worker,
    WorkerError,
)
from app.observability import Attempt
from app.pool import HALF_PROBE, PairedPool
from app.pool.policies import RoundRobin
from app.pool.retry_budget import RetryBudget
from app.pool.worker_pool import Pool
from tests.pulling import pulled_from
from tests.waiting import eventually

from .fakes import (
    BROKEN,
    DONE,
    GONE,
    NO_CONNECTION,
    REFUSED,
    Counted,
    Fake,
    First,
    Step,
    chunks_of,
    generation,
    run,
)

#: what a prefill worker answers
FILLED = Chunk((7,), "length")
TRANSFER = WorkerError(502, "no keys and values", reason="transfer")
FULL = WorkerError(503, "SGLang: The request queue is full.", reason="full")
LATE = WorkerError(504, "too late", reason="timeout")


def meet(worker: Worker, room: int) -> Bootstrap:
    return Bootstrap(worker.name, 1, room)


class Pairs(Counted):
    """A paired pool whose failures, ejections, removals and retries are kept."""

    pool: PairedPool

    def __init__(self, decode: Sequence[Fake], prefill: Sequence[Fake], **options: Any) -> None:
        self._prefill = prefill
        self._own = {name: options.pop(name, None) for name in ("max_prefills",)}
        super().__init__(*decode, **{"policy": First(), **options})

    def _made(self, workers: Sequence[Fake], options: dict[str, Any]) -> Pool:
        shared = {"observer": self.observer, "probe": HALF_PROBE}
        deadline = {"first_token_seconds": options.get("first_token_seconds")}
        prefill = Pool(
            self._prefill,
            policy=First(),
            max_running=self._own["max_prefills"],
            **shared,
            **deadline,
        )
        return PairedPool(workers, prefill=prefill, meet=meet, **shared, **options)


class Slow(Fake):
    """A worker that does nothing before the other half has been asked."""

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        for _ in range(5):
            await asyncio.sleep(0)
        async for chunk in super().generate(generation):
            yield chunk


@asynccontextmanager
async def pairs(
    decode: Sequence[Fake], prefill: Sequence[Fake], **options: Any
) -> AsyncIterator[Pairs]:
    made = Pairs(decode, prefill, **options)
    yield made
    await made.pool.aclose()
    everyone = [*decode, *prefill]
    assert [worker.open for worker in everyone] == [0] * len(everyone)
    members = [member for side in made.pool.sides for member in side]
    assert [member.running for member in members] == [0] * len(members)


# -- what both halves get


async def test_both_halves_get_the_generation_with_a_room_of_their_own():
    """The grammar too: the prefill worker chooses the first token. That is all that it makes."""
    decode, prefill = Fake("d", DONE), Fake("p", FILLED)
    sampling = SamplingOptions(top_k=3, logprobs=2)
    asked = replace(generation(), prompt=[1, 2], spec="{}", max_tokens=9, seed=3, sampling=sampling)
    async with pairs([decode], [prefill]) as made:
        for _ in range(2):
            assert [chunk async for chunk in pulled_from(made.pool, asked)] == [DONE]
            await eventually(lambda: prefill.open == 0)
    for of_decode, of_prefill in zip(decode.asked, prefill.asked, strict=True):
        where = of_decode.bootstrap
        assert where is not None and where[:2] == ("p", 1) and 0 < where.room < 1 << 63
        assert of_decode == replace(asked, bootstrap=where)
        assert of_prefill == replace(asked, bootstrap=where, max_tokens=1)
    assert decode.asked[0].bootstrap != decode.asked[1].bootstrap


async def test_each_half_has_an_attempt_and_a_trace():
    noted: list[Attempt] = []

    def on_attempt(name: str) -> Attempt:
        noted.append(Attempt(name, traceparent=f"of {name}"))
        return noted[-1]

    decode, prefill = Fake("d", DONE), Fake("p", FILLED)
    async with pairs([decode], [prefill]) as made:
        await made.pool.generate(
            generation(), lambda attempt: lambda chunk: True, on_attempt=on_attempt
        )
        await eventually(lambda: noted[1].ended is not None)
    assert [(each.worker, each.error) for each in noted] == [("d", None), ("p", None)]
    assert (decode.asked[0].traceparent, prefill.asked[0].traceparent) == ("of d", "of p")


async def test_a_prefill_slot_is_free_while_its_answer_is_decoded():
    decode, prefill = Fake("d", Chunk((1,)), None), Fake("p", FILLED)
    async with (
        pairs([decode], [prefill], max_prefills=1) as made,
        aclosing(chunks_of(made.pool)) as first,
        aclosing(chunks_of(made.pool)) as second,
    ):
        await anext(first)
        await anext(second)
        assert (decode.open, prefill.open, prefill.calls) == (2, 0, 2)


async def test_requests_wait_for_a_prefill_slot_in_order():
    go = asyncio.Event()
    decode, prefill = Fake("d", go, DONE), Fake("p", go, FILLED)
    async with pairs([decode], [prefill], max_prefills=1) as made:
        tasks = [asyncio.create_task(run(made.pool)) for _ in range(3)]
        await eventually(lambda: made.pool.waiting == 2)
        assert (prefill.calls, decode.calls) == (1, 1)
        tasks[1].cancel()
        go.set()
        await asyncio.wait(tasks)
    assert [prefill.calls, decode.calls, made.failures] == [2, 2, []]


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


@pytest.mark.parametrize("at_prefill", [False, True])
@pytest.mark.parametrize("status", [400, 502])
async def test_a_prompt_is_freed_when_its_answer_begins(status: int, at_prefill: bool):
    """Although a worker of either half has failed or refused it before: errors hold frames."""
    decode, prefill = [Fake("d1"), Fake("d2")], [Fake("p1"), Fake("p2")]
    for worker in (*decode, *prefill):
        worker.sees_images = True
        fails = worker is (prefill[0] if at_prefill else decode[0])
        vars(worker)["run"] = partial(Keeping, status if fails else 200)
    if at_prefill:  # else it begins before the other half has failed
        vars(decode[0])["run"] = Waiting
    received: list[Chunk] = []

    def start(pool: Pool) -> tuple[asyncio.Task[None], ref[Share]]:
        share = Share()
        images = (PromptImage(Image("image/png", "", b"", 1, 1, share), 0),)
        asked = replace(generation(), images=images)
        waits = pool.generate(asked, lambda _: lambda chunk: not received.append(chunk))
        return asyncio.create_task(waits), ref(share)

    gc.disable()
    try:
        async with pairs(decode, prefill, policy=RoundRobin()) as made:
            task, share = start(made.pool)
            await eventually(lambda: received)
            for _ in range(5):
                await asyncio.sleep(0)
            assert share() is None and not task.done()
            task.cancel()
            await asyncio.wait([task])
            assert len(made.failures) == 1
    finally:
        gc.enable()


class Waiting(Keeping):
    """A run that waits for the other half for ever."""

    def __init__(self, generation: Generation, receive: Receive) -> None:
        super().__init__(200, generation, receive)

    async def wait(self) -> None:
        await asyncio.Event().wait()


class _TooLate(Keeping):
    """A run whose first chunk comes in the turn in which the other half fails."""

    def __init__(self, generation: Generation, receive: Receive) -> None:
        super().__init__(200, generation, receive)
        self.wanted: list[bool] = []

    def deliver(self) -> None:
        self.wanted.append(self._receive(Chunk((1,))))

    async def wait(self) -> None:
        await asyncio.Event().wait()


async def test_a_first_token_that_comes_too_late_is_dropped():
    """REGRESSION: it was shown, and then the answer ended with the error of the other half."""
    decode, prefill = Fake("d", DONE), [Fake("p1"), Fake("p2", FILLED)]
    late: list[_TooLate] = []

    def first(generation: Generation, receive: Receive) -> _TooLate:
        late.append(_TooLate(generation, receive))
        del vars(decode)["run"]
        return late[0]

    async def fail(generation: Generation) -> AsyncGenerator[Chunk, None]:
        asyncio.get_running_loop().call_soon(late[0].deliver)
        raise BROKEN
        yield FILLED

    vars(decode)["run"] = first
    vars(prefill[0])["generate"] = fail
    async with pairs([decode], prefill) as made:
        assert await run(made.pool) == [DONE]
        assert (late[0].wanted, made.failures) == ([False], [("p1", "protocol")])


# -- failures of one half


BEFORE: list[tuple[Step, FailureReason]] = [
    (NO_CONNECTION, "connection"),
    (BROKEN, "protocol"),
    (GONE, "unavailable"),
    (Chunk((1,), "abort"), "aborted"),
]


@pytest.mark.parametrize(("step", "reason"), BEFORE)
async def test_a_failed_prefill_half_ends_the_other_one_and_counts_alone(
    step: Step, reason: FailureReason
):
    """The decode worker waits for what never comes."""
    filled = asyncio.Event()
    first, second = Fake("p1", step), Fake("p2", FILLED)
    decode = Fake("d", filled, DONE)
    async with pairs([decode], [first, second]) as made:
        task = asyncio.create_task(run(made.pool))
        await eventually(lambda: second.calls)
        filled.set()
        assert await task == [DONE]
        assert made.failures == [("p1", reason)]
        assert (decode.calls, first.calls, second.calls) == (2, 1, 1)
        assert made.retries == [True]


@pytest.mark.parametrize(("step", "reason"), BEFORE)
@pytest.mark.parametrize("prefill_step", [None, FILLED])
async def test_a_failed_decode_half_ends_the_other_one_and_counts_alone(
    step: Step, reason: FailureReason, prefill_step: Step
):
    decode = [Slow("d1", step), Slow("d2", DONE)]
    prefill = Fake("p", prefill_step)
    async with pairs(decode, [prefill]) as made:
        assert await run(made.pool) == [DONE]
        assert made.failures == [("d1", reason)]
        assert [worker.calls for worker in decode] == [1, 1]
        assert prefill.calls == 2


@pytest.mark.parametrize("at_prefill", [False, True])
@pytest.mark.parametrize(("error", "reason"), [(TRANSFER, "transfer"), (LATE, "timeout")])
async def test_what_either_half_may_cause_counts_against_both(
    error: Exception, reason: FailureReason, at_prefill: bool
):
    """Neither can tell. Both workers are replaced, and then the answer comes."""
    if at_prefill:
        pair = Fake("d1", None), Slow("p1", error)
    else:
        pair = Slow("d1", error), Fake("p1", None)
    decode, prefill = [pair[0], Slow("d2", DONE)], [pair[1], Fake("p2", FILLED)]
    async with pairs(decode, prefill) as made:
        assert await run(made.pool) == [DONE]
        assert sorted(made.failures) == [("d1", reason), ("p1", reason)]
        assert [worker.calls for worker in (*decode, *prefill)] == [1, 1, 1, 1]


@pytest.mark.parametrize("error", [TRANSFER, LATE])
async def test_a_prefill_half_that_ends_in_vain_has_no_answer(error: Exception):
    """It may say that all was sent although the other half waits for it."""
    filled = asyncio.Event()
    decode = [Fake("d1", filled, error), Fake("d2", DONE)]
    prefill = [Fake("p1", FILLED), Fake("p2", FILLED)]
    async with pairs(decode, prefill) as made:
        task = asyncio.create_task(run(made.pool))
        member = made.pool.prefill.members[0]
        await eventually(lambda: prefill[0].calls and member.running == 0)
        filled.set()
        assert await task == [DONE]
        assert [name for name, _ in made.failures] == ["p1", "d1"]
        assert member.answers == 0
        await eventually(lambda: made.pool.prefill.members[1].answers == 1)


async def test_a_hung_pair_passes_the_deadline_of_the_first_token():
    decode, prefill = [Fake("d1", None), Fake("d2", DONE)], [Fake("p1", None), Fake("p2", FILLED)]
    async with pairs(decode, prefill, first_token_seconds=0.05) as made:
        assert await run(made.pool) == [DONE]
        assert sorted(made.failures) == [("d1", "timeout"), ("p1", "timeout")]
        assert sorted(made.ejections) == ["d1", "p1"]


async def test_the_half_that_was_not_to_blame_is_asked_again_if_it_is_the_only_one():
    decode = Slow("d", TRANSFER)
    first, second = Fake("p1", None), Fake("p2", None)
    async with pairs([decode], [first, second]) as made:
        with pytest.raises(WorkerError, match="no worker took the request"):
            await run(made.pool)
        assert (decode.calls, first.calls, second.calls) == (2, 1, 1)


async def test_no_worker_is_asked_more_than_twice():
    decode = [Slow(f"d{n}", TRANSFER) for n in range(3)]
    prefill = [Fake(f"p{n}", None) for n in range(2)]
    async with pairs(decode, prefill) as made:
        with pytest.raises(WorkerError, match="no worker took the request"):
            await run(made.pool)
        assert max(worker.calls for worker in (*decode, *prefill)) <= 2


async def test_after_the_first_token_a_failure_of_the_prefill_half_ends_nothing():
    begun = asyncio.Event()
    decode, prefill = Fake("d", Chunk((1,)), begun, DONE), Fake("p", begun, BROKEN)
    async with pairs([decode], [prefill]) as made:
        async with aclosing(chunks_of(made.pool)) as chunks:
            await anext(chunks)
            begun.set()
            await eventually(lambda: made.failures)
            assert [chunk async for chunk in chunks] == [DONE]
        assert made.failures == [("p", "protocol")]


async def test_after_the_first_token_there_is_no_other_attempt():
    decode = [Fake("d1", Chunk((1,)), BROKEN), Fake("d2", DONE)]
    prefill = Fake("p", None)
    async with pairs(decode, [prefill]) as made:
        with pytest.raises(WorkerError, match="broken"):
            await run(made.pool)
        assert made.failures == [("d1", "protocol")]
        assert decode[1].calls == 0


async def test_leaving_early_ends_both_halves():
    decode, prefill = Fake("d", None), Fake("p", None)
    async with pairs([decode], [prefill]) as made:
        task = asyncio.create_task(run(made.pool))
        await eventually(lambda: decode.open and prefill.open)
        task.cancel()
        await asyncio.wait({task})
        await eventually(lambda: not decode.open and not prefill.open)
        assert made.failures == []


async def test_a_prefill_half_ends_by_itself_after_a_short_answer():
    """It is not aborted: its server has sent all, and its answer counts."""
    late = asyncio.Event()
    decode, prefill = Fake("d", DONE), Fake("p", late, FILLED)
    async with pairs([decode], [prefill]) as made:
        assert await run(made.pool) == [DONE]
        member = made.pool.prefill.members[0]
        assert (member.running, member.answers) == (1, 0)
        late.set()
        await eventually(lambda: member.answers == 1 and member.running == 0)


# -- refusals


async def test_a_refusal_needs_two_workers_that_agree():
    prefill = [Fake("p1", REFUSED), Fake("p2", REFUSED), Fake("p3", FILLED)]
    decode = Fake("d", None)
    async with pairs([decode], prefill) as made:
        with pytest.raises(WorkerError) as caught:
            await run(made.pool)
        assert (caught.value.status, made.failures) == (400, [])
        assert [worker.calls for worker in prefill] == [1, 1, 0]


async def test_a_refusal_by_the_only_worker_of_a_side_stands():
    async with pairs([Fake("d", None)], [Fake("p", REFUSED)]) as made:
        with pytest.raises(WorkerError) as caught:
            await run(made.pool)
        assert (caught.value.status, made.failures) == (400, [])


async def test_a_worker_that_refuses_what_others_accept_has_failed():
    filled = asyncio.Event()
    decode = Fake("d", filled, DONE)
    prefill = [Fake("p1", REFUSED), Fake("p2", FILLED)]
    async with pairs([decode], prefill, retry_budget=RetryBudget(0.0, 0.0)) as made:
        task = asyncio.create_task(run(made.pool))
        await eventually(lambda: prefill[1].calls)
        filled.set()
        assert await task == [DONE]
        assert made.failures == [("p1", "refused")]


# -- the budget, and sides without a worker


async def test_the_budget_bounds_retries():
    prefill = [Fake("p1", BROKEN), Fake("p2", FILLED)]
    async with pairs([Fake("d", None)], prefill, retry_budget=RetryBudget(0.0, 0.0)) as made:
        with pytest.raises(WorkerError, match="no worker took the request"):
            await run(made.pool)
        assert (made.retries, prefill[1].calls) == ([False], 0)


async def test_a_retry_from_an_ejected_worker_costs_no_budget():
    filled = asyncio.Event()
    prefill = [Fake("p1", NO_CONNECTION), Fake("p2", FILLED)]
    decode = Fake("d", filled, DONE)
    async with pairs([decode], prefill, retry_budget=RetryBudget(0.0, 0.0)) as made:
        task = asyncio.create_task(run(made.pool))
        await eventually(lambda: prefill[1].calls)
        filled.set()
        assert await task == [DONE]


@pytest.mark.parametrize("half", [0, 1])
async def test_without_a_worker_of_each_side_there_is_no_answer(half: int):
    async with pairs([Fake("d", DONE)], [Fake("p", FILLED)]) as made:
        assert made.pool.status == "ok"
        (member,) = made.pool.sides[half]
        assert made.pool.drain(member.name, is_draining=True) == [member]
        assert made.pool.status == "unready"
        with pytest.raises(WorkerError, match="no pair of workers takes requests") as caught:
            await run(made.pool)
        assert caught.value.status == 503
        made.pool.drain(member.name, is_draining=False)
        assert await run(made.pool) == [DONE]


async def test_an_ejected_worker_is_probed_alone(quick: None):
    """The probe's keys and values go nowhere, so the other half does not matter."""
    decode, prefill = Fake("d", NO_CONNECTION), Fake("p", None)
    async with pairs([decode], [prefill]) as made:
        with pytest.raises(WorkerError):
            await run(made.pool)
        await eventually(lambda: decode.probes)
        assert {each.bootstrap for each in decode.asked[1:]} == {ALONE}
        assert prefill.probes == 0


# -- facts


async def test_the_facts_are_those_of_both_sides():
    decode, prefill = Fake("d", sampling=["top_k", "min_p"]), Fake("p", sampling=["min_p"])
    async with pairs([decode], [prefill]) as made:
        pool = made.pool
        assert pool.supported_sampling == {"min_p"}
        assert pool.max_model_len is None
        decode.max_model_len, prefill.max_model_len = 10, 8
        assert pool.max_model_len == 8
        assert [[each.name for each in side] for side in pool.sides] == [["d"], ["p"]]
        assert [pool.half_of(side[0]) for side in pool.sides] == ["decode", "prefill"]
        assert not pool.sees_images
        decode.sees_images = True
        assert not pool.sees_images
        prefill.sees_images = True
        assert pool.sees_images


async def test_an_adapter_needs_a_worker_of_each_side():
    """The half without it would answer as the model itself."""
    decode, prefill = [Fake("d1", DONE), Fake("d2", DONE)], [Fake("p1", FILLED), Fake("p2", FILLED)]
    decode[1].adapters = {"law": "/d", "tax": "/d"}
    asked = replace(generation(), lora="law")
    async with pairs(decode, prefill) as made:
        assert not made.pool.has_adapter("law") and made.pool.adapters == {}
        with pytest.raises(WorkerError, match="no pair of workers has the adapter 'law'") as caught:
            await anext(pulled_from(made.pool, asked))
        assert caught.value.reason == "adapter"
        prefill[1].adapters = {"law": "/p"}
        assert [each.name for each in made.pool.adapters["law"]] == ["d2", "p2"]
        assert list(made.pool.adapters) == ["law"]
        assert [chunk async for chunk in pulled_from(made.pool, asked)] == [DONE]
        assert [worker.calls for worker in (*decode, *prefill)] == [0, 1, 0, 1]


async def test_a_prefill_worker_that_lost_an_adapter_costs_no_budget_and_is_not_ejected():
    filled = asyncio.Event()
    lost = WorkerError(503, "never loaded", reason="adapter")
    prefill, decode = [Fake("p1", lost), Fake("p2", FILLED)], Fake("d", filled, DONE)
    for worker in (decode, *prefill):
        worker.adapters = {"law": ""}
    asked = replace(generation(), lora="law")
    async with pairs([decode], prefill, retry_budget=RetryBudget(0.0, 0.0)) as made:
        task = asyncio.create_task(anext(pulled_from(made.pool, asked)))
        await eventually(lambda: prefill[1].calls)
        filled.set()
        assert await task == DONE
        assert (made.failures, made.ejections) == ([("p1", "adapter")], [])


async def test_a_full_queue_is_no_fault_of_a_prefill_worker_whose_prompts_are_decoded():
    """REGRESSION: its answers end with the transfer, so it was ejected while it was only busy."""
    decode, prefill = Fake("d", Chunk((1,)), None), Fake("p", FILLED)
    async with pairs([decode], [prefill]) as made:
        async with aclosing(chunks_of(made.pool)) as running:
            await anext(running)
            decode.script, prefill.script = (None,), (FULL,)
            for _ in range(5):
                with pytest.raises(WorkerError) as caught:
                    await run(made.pool)
                assert (caught.value.status, caught.value.reason) == (503, "full")
            assert made.failures == [("p", "full")] * 5
            assert made.ejections == []
        assert [member.answering for side in made.pool.sides for member in side] == [0, 0]
        for _ in range(3):
            with pytest.raises(WorkerError):
                await run(made.pool)
        assert made.ejections == ["p"], "it answers no request"


async def test_start_and_close_reach_both_sides():
    decode, prefill = Fake("d"), Fake("p", health=False)
    made = Pairs([decode], [prefill])
    await made.pool.start()
    assert made.pool.status == "unready"
    prefill.state = True
    await made.pool.check()
    assert made.pool.status == "ok"
    await made.pool.aclose()
    assert all(each.started and each.closed for each in (decode, prefill))
