"""The pool: who gets a generation, and what happens when a worker fails."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
import pytest

from adapters.workers import (
    Chunk,
    FailureReason,
    Generation,
    Health,
    SGLangWorker,
    WorkerError,
)
from app.pool import member as breaker
from app.pool.member import Member
from app.pool.worker_pool import PROBE, Pool
from engine import LimitExceeded, ParseDivergence
from tests.workers.sglang_fakes import MockClient

DONE = Chunk((1,), "stop")
#: a step of a script: a chunk, an error to raise, or None to wait for ever
Step = Chunk | Exception | None


class Fake:
    """A worker that follows a script."""

    description = "fake"
    model = "m"
    max_model_len: int | None = None

    def __init__(
        self, name: str, *script: Step, health: Any = True, sampling: Sequence[str] = ()
    ) -> None:
        self.supported_sampling = frozenset(sampling)
        self.name = name
        self.script = script
        self.state = health
        self.calls = self.probes = self.open = self.checks = 0
        self.started = self.closed = False

    async def start(self) -> None:
        self.started = True

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        if generation is PROBE:
            self.probes += 1
        else:
            self.calls += 1
        self.open += 1
        try:
            for step in self.script:
                if step is None:
                    await asyncio.Event().wait()
                elif isinstance(step, Exception):
                    raise step
                else:
                    yield step
        finally:
            self.open -= 1

    async def health(self) -> Health:
        self.checks += 1
        if self.state is None:
            await asyncio.Event().wait()
        if isinstance(self.state, Exception):
            raise self.state
        return Health(self.state, "" if self.state else "sick")

    async def aclose(self) -> None:
        self.closed = True


class Log:
    """Collects what the pool logs."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def warning(self, event: str, **facts: Any) -> None:
        self.events.append(event)


class Counted:
    """A pool whose failures and ejections are kept."""

    def __init__(self, *workers: Fake, **options: Any) -> None:
        self.failures: list[tuple[str, FailureReason]] = []
        self.ejections: list[str] = []
        self.log = Log()
        self.pool = Pool(
            workers,
            on_failure=lambda name, reason: self.failures.append((name, reason)),
            on_ejection=self.ejections.append,
            logger=self.log,  # type: ignore[arg-type]
            **options,
        )


@asynccontextmanager
async def counted(*workers: Fake, **options: Any) -> AsyncIterator[Counted]:
    made = Counted(*workers, **options)
    yield made
    await made.pool.aclose()


def test_a_pool_supports_the_sampling_that_all_its_workers_support():
    some, other = Fake("a", sampling=["top_k", "min_p"]), Fake("b", sampling=["min_p"])
    assert Pool([some]).supported_sampling == {"top_k", "min_p"}
    assert Pool([some, other]).supported_sampling == {"min_p"}
    assert Pool([some, other, Fake("c")]).supported_sampling == frozenset()


def generation() -> Generation:
    return Generation(rid="r", prompt="p", spec=None, max_tokens=1)


def chunks_of(pool: Pool) -> AsyncGenerator[Chunk, None]:
    return pool.generate(generation(), lambda chunks: chunks)


async def run(pool: Pool) -> list[Chunk]:
    return [chunk async for chunk in chunks_of(pool)]


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.001)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ejected workers are probed soon."""
    monkeypatch.setattr(breaker, "BACKOFF_S", 0.001)


REFUSED = WorkerError(400, "no")
GONE = WorkerError(503, "gone", reason="unavailable")
BROKEN = WorkerError(502, "broken", reason="protocol")
NO_CONNECTION = WorkerError(502, "refused", reason="connection")


# -- picking


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
    (WorkerError(500, "bug"), "internal"),
    (RuntimeError("bug"), "internal"),
    (RecursionError(), "internal"),
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


async def test_a_stream_without_a_finish_reason_is_no_answer():
    async with counted(Fake("bad"), Fake("good", DONE)) as made:
        assert await run(made.pool) == [DONE]
        assert made.failures == [("bad", "truncated")]


LATER: list[Step] = [
    BROKEN,
    WorkerError(400, "no"),
    Chunk((), "abort"),
    RuntimeError("bug"),
    ParseDivergence("x"),
]


@pytest.mark.parametrize("step", LATER)
async def test_a_failure_after_the_first_output_is_an_error_and_counts(step: Step):
    bad, spare = Fake("bad", Chunk((1,)), step), Fake("spare", DONE)
    async with counted(bad, spare) as made:
        for _ in range(breaker.EJECT_AFTER):
            with pytest.raises((WorkerError, RuntimeError, ParseDivergence)):
                await run(made.pool)
        assert (bad.calls, spare.calls) == (breaker.EJECT_AFTER, 0)
        assert made.ejections == ["bad"]
        assert await run(made.pool) == [DONE]


async def test_a_reader_is_made_for_every_attempt_and_its_failure_is_the_workers():
    """A worker whose tokens do not fit the grammar costs an attempt, not the request."""
    made_readers: list[list[Chunk]] = []

    async def read(chunks: AsyncGenerator[Chunk, None]) -> AsyncGenerator[str, None]:
        seen: list[Chunk] = []
        made_readers.append(seen)
        async with aclosing(chunks):
            async for chunk in chunks:
                seen.append(chunk)
                if chunk.token_ids == (9,):
                    raise ParseDivergence("9 is no word")
                yield "text"

    async with counted(Fake("bad", Chunk((9,)), None), Fake("good", DONE)) as made:
        assert [item async for item in made.pool.generate(generation(), read)] == ["text"]
        assert made.failures == [("bad", "diverged")]
        assert [len(seen) for seen in made_readers] == [1, 1]
        assert made.pool.members[0].worker.open == 0


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
    async with counted(*workers) as made:
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


# -- the circuit


def test_the_backoff_doubles_up_to_its_bound_with_jitter():
    member = Member(Fake("a"))
    for n in range(40):
        full = min(breaker.BACKOFF_MAX_S, breaker.BACKOFF_S * 2**n)
        assert full * (1 - breaker.JITTER) <= member.open() <= full
    member.answer()
    assert (member.state, member.ejections) == ("closed", 0)


@pytest.mark.parametrize("reason", ["connection", "timeout", "protocol"])
def test_failures_in_a_row_eject_at_the_bound(reason: FailureReason):
    member = Member(Fake("a"))
    bound = 1 if reason in breaker.AT_ONCE else breaker.EJECT_AFTER
    assert [member.fail(reason, 0) for _ in range(bound)] == [False] * (bound - 1) + [True]
    member.open()
    assert not member.fail(reason, 0), "what is open already is not ejected again"


def test_a_complete_answer_between_failures_keeps_a_worker():
    """One client whose requests break must not take a busy worker from all others."""
    member = Member(Fake("a"))
    for _ in range(100):
        assert not member.fail("aborted", member.answers)
        member.answer()


@pytest.mark.parametrize("reason", sorted(breaker.AT_ONCE))
def test_a_worker_that_answers_others_is_only_busy(reason: FailureReason):
    """A request that waits too long in a queue does not show that the worker hangs."""
    member = Member(Fake("a"))
    answers = member.answers
    member.answer()
    assert not member.fail(reason, answers)
    assert member.fail(reason, member.answers)


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


# -- health checks


async def test_a_check_that_raises_is_a_failed_check_and_is_logged_once():
    """REGRESSION: invalid UTF-8 in one answer ended the checks of all workers, without a line."""
    bad, good = Fake("bad"), Fake("good")
    async with counted(bad, good, health_seconds=0.001) as made:
        await made.pool.start()
        assert made.log.events == []  # a start at which all is well is worth no warning
        bad.state = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        await eventually(lambda: not made.pool.members[0].health.ready)
        checks = bad.checks + 5
        await eventually(lambda: bad.checks > checks and good.checks > checks)
        assert "UnicodeDecodeError" in made.pool.members[0].health.reason
        bad.state = True
        await eventually(lambda: made.pool.status == "ok")
        assert made.log.events.count("worker unready") == 1


async def test_a_hung_check_delays_no_other_worker(monkeypatch: pytest.MonkeyPatch):
    """REGRESSION: all checks waited for the slowest."""
    hung, good = Fake("hung"), Fake("good")
    async with counted(hung, good, health_seconds=0.001) as made:
        await made.pool.start()
        hung.state = None
        before = hung.checks
        await eventually(lambda: hung.checks > before)
        checks = good.checks + 20
        await eventually(lambda: good.checks > checks)
        assert hung.checks == before + 1
        monkeypatch.setattr("app.pool.worker_pool.HEALTH_DEADLINE_S", 0.01)
        await made.pool.check()
        assert "no answer to the health check" in made.pool.members[0].health.reason
