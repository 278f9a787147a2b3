"""Threads that clients share: whose step runs next, and whose is refused."""

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest

from app.concurrency import fair_threads
from app.concurrency.fair_threads import FairThreads, gil_released, give_way
from app.errors import ApiError
from tests.app.gateway import PATIENCE
from tests.waiting import eventually


class Steps:
    """Steps that run until a test lets them go; ``begun`` has their names in order."""

    def __init__(self, threads: int, waiting: int = 100) -> None:
        self.threads = FairThreads(
            threads, "test", waiting=waiting, refusal=lambda: ApiError(503, "too many")
        )
        self.begun: list[str] = []
        self._let_go: dict[str, threading.Event] = {}

    def start(self, name: str) -> "asyncio.Task[str]":
        """Begin a step; the client is the first letter of its name."""
        event = self._let_go.setdefault(name, threading.Event())

        def step() -> str:
            self.begun.append(name)
            with gil_released():
                event.wait(PATIENCE)
            return name

        return asyncio.create_task(self.threads.run(name[0], step))

    def end(self, *names: str) -> None:
        for name in names or self._let_go:
            self._let_go[name].set()


@pytest.fixture
async def one() -> AsyncIterator[Steps]:
    """One thread, of which four steps may wait."""
    made = Steps(1, waiting=4)
    yield made
    made.end()
    await asyncio.to_thread(made.threads.close)


async def test_the_threads_take_a_step_of_one_client_after_the_other(one: Steps) -> None:
    """REGRESSION: 70 large requests of one client came before those of all others."""
    order = ["a0", "a1", "b0", "c0", "a2"]
    tasks = [one.start(name) for name in ("a0", "a1", "a2", "b0", "c0")]
    for number, name in enumerate(order):
        await eventually(lambda number=number: len(one.begun) > number)  # type: ignore[misc]
        one.end(name)
    assert set(await asyncio.gather(*tasks)) == set(order)
    assert one.begun == order


async def test_one_client_leaves_a_thread_to_the_others() -> None:
    steps = Steps(3)
    tasks = [steps.start(f"a{number}") for number in range(5)]
    await eventually(lambda: sorted(steps.begun) == ["a0", "a1"])
    tasks.append(steps.start("b0"))
    await eventually(lambda: steps.begun[2:] == ["b0"])
    steps.end()
    await asyncio.gather(*tasks)
    await asyncio.to_thread(steps.threads.close)


@pytest.mark.parametrize(
    ("waiting", "newcomer", "refused"),
    [
        ("a1 a2 a3 a4", "a5", "a5"),
        # REGRESSION: the newcomer was refused
        ("a1 a2 a3 a4", "b0", "a4"),
        ("a1 a2 a3 b0", "b1", "a3"),
        ("a1 a2 b0 b1", "b2", "b2"),
        ("a1 b0 c0 d0", "e0", "e0"),
    ],
)
async def test_who_has_the_most_waiting_steps_is_refused(
    one: Steps, waiting: str, newcomer: str, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_threads, "REFUSAL_S", 0)
    tasks = {name: one.start(name) for name in ["a0", *waiting.split(), newcomer]}
    with pytest.raises(ApiError, match="too many"):
        await tasks.pop(refused)
    one.end()
    assert await asyncio.gather(*tasks.values()) == list(tasks)


async def test_a_refusal_waits_and_so_do_no_more_than_steps_may(
    one: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: a refused client that tried again at once kept the event loop busy."""
    monkeypatch.setattr(fair_threads, "REFUSAL_S", PATIENCE)
    tasks = [one.start(f"a{number}") for number in range(9)]
    await asyncio.sleep(0.01)
    assert not any(task.done() for task in tasks)
    with pytest.raises(ApiError):
        await one.start("a9")
    for task in tasks[5:]:
        task.cancel()
    await asyncio.wait(tasks[5:])
    one.end()
    assert await asyncio.gather(*tasks[:5]) == ["a0", "a1", "a2", "a3", "a4"]


async def test_a_step_that_was_cancelled_while_it_waited_never_runs(one: Steps) -> None:
    tasks = {name: one.start(name) for name in ("a0", "a1", "a2")}
    await eventually(lambda: one.begun == ["a0"])
    tasks.pop("a1").cancel()
    tasks.pop("a0").cancel()
    # the thread is taken until its step ends
    await asyncio.sleep(0)
    assert one.begun == ["a0"]
    one.end()
    assert await asyncio.gather(*tasks.values()) == ["a2"]
    assert one.begun == ["a0", "a2"]


async def test_steps_cancelled_at_any_time_leave_all_threads_free() -> None:
    steps = Steps(2)
    steps.end()
    for pauses in range(6):
        tasks = [asyncio.create_task(steps.threads.run("a", lambda: None)) for _ in range(5)]
        for _ in range(pauses):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    async with asyncio.timeout(PATIENCE):
        barrier = threading.Barrier(2, timeout=PATIENCE)

        def meet() -> None:
            with gil_released():
                barrier.wait()

        await asyncio.gather(*(steps.threads.run(name, meet) for name in "ab"))
    steps.threads.close()


async def test_one_step_at_a_time_runs_python() -> None:
    """REGRESSION: three steps that took turns at the GIL delayed each event of the event loop."""
    steps = Steps(3)
    let_go, begun, running = threading.Event(), threading.Event(), list[str]()

    def step(name: str) -> None:
        begun.set()
        running.append(name)
        let_go.wait(PATIENCE)
        running.append(name)

    tasks = [asyncio.create_task(steps.threads.run(name, partial(step, name))) for name in "ab"]
    await asyncio.to_thread(begun.wait, PATIENCE)
    waiting = steps.start("c0")
    await asyncio.sleep(0.02)
    assert (len(running), steps.begun) == (1, [])
    let_go.set()
    steps.end()
    await asyncio.gather(*tasks, waiting)
    assert running in (["a", "a", "b", "b"], ["b", "b", "a", "a"])
    await asyncio.to_thread(steps.threads.close)


async def test_a_thread_rests_after_a_step_whose_result_does_not_wait() -> None:
    threads = FairThreads(
        1, "test", waiting=4, refusal=lambda: ApiError(503, "too many"), rest_s=2 * PATIENCE
    )
    assert await threads.run("a", lambda: sum(range(100_000))) == 4_999_950_000
    loop, rests = asyncio.get_running_loop(), list[float]()

    def later(seconds: float, call: Callable[..., Any], *given: Any) -> asyncio.Handle:
        rests.append(seconds)
        return loop.call_soon(call, *given)

    with patch.object(loop, "call_later", later):
        for _ in range(2):
            assert await threads.run("a", lambda: 1) == 1
    assert rests and all(0 < seconds < 2 * PATIENCE for seconds in rests)
    await asyncio.to_thread(threads.close)


async def test_a_long_step_gives_way_to_those_of_smaller_requests() -> None:
    def refused() -> ApiError:
        return ApiError(503, "too many")

    small = FairThreads(1, "small", waiting=4, refusal=refused)
    huge = FairThreads(1, "huge", waiting=4, refusal=refused, first=[small])
    let_go, begun = threading.Event(), threading.Event()

    def step() -> None:
        begun.set()
        let_go.wait(PATIENCE)

    running = asyncio.create_task(small.run("a", step))
    await asyncio.to_thread(begun.wait, PATIENCE)
    with patch.object(fair_threads.time, "sleep") as slept:
        await huge.run("b", give_way)
        assert slept.call_count == 1
        let_go.set()
        await running
        await huge.run("b", give_way)
        await small.run("a", give_way)
        give_way()
        assert slept.call_count == 1
    for threads in (small, huge):
        await asyncio.to_thread(threads.close)


class _Body:
    """An object that can be watched."""


async def test_results_and_errors_are_freed_without_a_collection() -> None:
    """A result may hold a body of 32 MB."""
    threads = FairThreads(1, "test", waiting=4, refusal=lambda: ApiError(503, "too many"))
    kept: list[weakref.ref[_Body]] = []

    def failing() -> None:
        body = _Body()
        kept.append(weakref.ref(body))
        raise ValueError

    gc.disable()
    try:
        kept.append(weakref.ref(await threads.run("a", _Body)))
        with suppress(ValueError):
            await threads.run("a", failing)
        await threads.run("a", lambda: None)
        assert [each() for each in kept] == [None, None]
    finally:
        gc.enable()
        await asyncio.to_thread(threads.close)
