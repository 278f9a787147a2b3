"""Deadlines that move. A test that expects nothing waits for a later deadline of the same sweep, so
that a slow machine cannot fail it.
"""

import asyncio
import gc
import math
from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import ref

import pytest

from app.concurrency import Bound, Deadline, DeadlineSweep, deadline_sweep


class Watched:
    """A sweep, and the names of deadlines in the order in which they pass."""

    def __init__(self) -> None:
        self.sweep = DeadlineSweep()
        self.passed: list[object] = []
        self._news = asyncio.Event()

    def add(self, name: object, seconds: float = math.inf) -> Deadline:
        return self.calling(lambda: self.note(name), seconds)

    def calling(self, on_passed: Callable[[], object], seconds: float = math.inf) -> Deadline:
        made = Deadline(on_passed)
        self.sweep.add(made)
        self.move(made, seconds)
        return made

    def move(self, deadline: Deadline, seconds: float) -> None:
        self.sweep.move(deadline, asyncio.get_running_loop().time() + seconds)

    def note(self, name: object) -> None:
        self.passed.append(name)
        self._news.set()

    async def until(self, *names: object) -> None:
        """Wait until all of these have passed."""
        async with asyncio.timeout(30):
            while not {*names} <= {*self.passed}:
                self._news.clear()
                await self._news.wait()

    @property
    def timer(self) -> Any:
        return self.sweep._timer


async def test_a_deadline_passes_once_and_not_early():
    watched, loop = Watched(), asyncio.get_running_loop()
    times: list[float] = []
    deadline = watched.calling(lambda: times.append(loop.time()), 0.01)
    watched.add("later", 0.2)
    await watched.until("later")
    assert len(times) == 1 and times[0] >= deadline.at


async def test_a_deadline_that_moves_on_does_not_pass():
    watched = Watched()
    deadline = watched.add("moved", 0.01)
    for n in range(10):
        watched.add(n, 0.02)
        watched.move(deadline, 3600)
        await watched.until(n)
    assert watched.passed == [*range(10)]
    watched.move(deadline, 0)
    await watched.until("moved")


async def test_a_deadline_that_knows_by_now_that_it_moved():
    class Moved(Deadline):
        asked = 0

        def due(self) -> float:
            self.asked += 1
            return self.at + (3600 if self.asked == 1 else 0)

    watched = Watched()
    deadline = Moved(lambda: watched.note("moved"))
    watched.sweep.add(deadline)
    watched.move(deadline, 0.01)
    watched.add("later", 0.2)
    await watched.until("later")
    assert (watched.passed, deadline.asked) == (["later"], 1)
    watched.move(deadline, 0)
    await watched.until("moved")


@pytest.mark.parametrize("first", [3600, math.inf])
async def test_a_deadline_that_moves_nearer_passes_in_time(first: float):
    watched = Watched()
    deadline = watched.add("nearer", first)
    watched.move(deadline, 0.01)
    assert watched.timer.when() <= deadline.at
    await watched.until("nearer")


async def test_a_deadline_nearer_than_a_tick_has_the_timer(monkeypatch: pytest.MonkeyPatch):
    """After a look, the timer is set for a tick later; one that is moved nearer sets it again."""
    monkeypatch.setattr(deadline_sweep, "TICK_S", 3600)
    watched = Watched()
    deadline = watched.add("moved")
    watched.add("later", 5000)
    watched.add("first", 0)
    await watched.until("first")
    watched.move(deadline, 0.01)
    await watched.until("moved")


async def test_many_deadlines_share_a_timer():
    watched, loop = Watched(), asyncio.get_running_loop()
    made = [0]
    call_at = loop.call_at

    def counted(*args: Any, **options: Any) -> asyncio.TimerHandle:
        made[0] += 1
        return call_at(*args, **options)

    deadlines = [watched.add(n) for n in range(1000)]
    loop.call_at = counted  # type: ignore[method-assign]
    for deadline in deadlines:
        for _ in range(3):
            watched.move(deadline, 3600)
    assert made[0] == 1
    for deadline in deadlines:
        watched.move(deadline, 0)
    loop.call_at = call_at  # type: ignore[method-assign]
    await watched.until(*range(1000))
    assert len(watched.passed) == 1000


async def test_without_a_deadline_there_is_no_timer():
    watched = Watched()
    for seconds in (3600, math.inf):
        one, other = watched.add("one", 3600), watched.add("other", seconds)
        watched.sweep.discard(one)
        assert watched.timer is not None
        for _ in range(2):
            watched.sweep.discard(other)
        assert watched.timer is None
    watched.add("passed", 0)
    await watched.until("passed")
    assert watched.timer is None
    watched.add("next", 0)
    await watched.until("next")


async def test_for_deadlines_that_never_pass_there_is_no_timer():
    watched = Watched()
    never = watched.add("never")
    assert watched.timer is None
    watched.move(never, 0.01)
    watched.sweep.move(never, math.inf)
    async with asyncio.timeout(30):
        while watched.timer is not None:
            await asyncio.sleep(0.001)
    assert watched.passed == []
    watched.move(never, 0)
    await watched.until("never")


async def test_after_discard_nothing_is_called():
    watched = Watched()
    watched.sweep.discard(watched.add("gone", 0))
    watched.add("last", 0.05)
    await watched.until("last")
    assert watched.passed == ["last"]


async def test_a_discarded_deadline_that_is_moved_passes_no_more():
    watched = Watched()
    gone = watched.add("gone", 0)
    watched.sweep.discard(gone)
    watched.move(gone, 0)
    watched.add("last", 0.05)
    await watched.until("last")
    assert watched.passed == ["last"]


async def test_a_deadline_that_passes_may_discard_and_move_others_that_are_due():
    """REGRESSION: these were called at the same look."""
    watched = Watched()

    def discard(other: Deadline) -> None:
        watched.note("one")
        watched.sweep.discard(other)

    def postpone(other: Deadline) -> None:
        watched.note("one")
        watched.move(other, 3600)

    for change in (discard, postpone):
        one, other = watched.calling(lambda: None), watched.calling(lambda: None)
        one.on_passed, other.on_passed = partial(change, other), partial(change, one)
        for each in (one, other):
            watched.move(each, 0)
    watched.add("last", 0.05)
    await watched.until("last")
    assert watched.passed == ["one", "one", "last"]


async def test_a_deadline_that_passes_may_add_others():
    watched = Watched()

    def again() -> None:
        watched.add("second", 0)
        watched.add("late", 0.02)

    watched.calling(again, 0)
    await watched.until("second", "late")
    assert watched.timer is None


async def test_a_deadline_whose_call_fails_does_not_hold_up_others():
    watched, loop, failures = Watched(), asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, facts: failures.append(facts["exception"]))

    def fail(name: str) -> None:
        watched.note(name)
        raise ValueError("a bug")

    for n in range(5):
        watched.calling(partial(fail, f"failed {n}"), 0)
        watched.add(n, 0)
    await watched.until(*range(5), *(f"failed {n}" for n in range(5)))
    watched.add("next", 0)
    await watched.until("next")
    loop.set_exception_handler(None)
    assert [type(each) for each in failures] == [ValueError] * 5


async def test_the_sweep_keeps_no_deadline_that_has_passed_or_was_discarded():
    watched = Watched()
    passed, gone = watched.add("passed", 0), watched.add("gone", 3600)
    kept = [ref(each.on_passed) for each in (passed, gone)]
    watched.sweep.discard(gone)
    await watched.until("passed")
    del passed, gone
    assert [each() for each in kept] == [None, None]


# -- bounds


async def test_a_bound_ends_its_block_with_a_time_out():
    bound, after = Bound(DeadlineSweep(), 0.01), []
    with pytest.raises(TimeoutError), bound:
        await asyncio.Event().wait()
    after.append(await asyncio.sleep(0, "on"))
    assert (bound.has_passed, after, current().cancelling()) == (True, ["on"], 0)


async def test_a_bound_whose_block_ends_in_time_has_no_effect():
    sweep = DeadlineSweep()
    for seconds in (None, 3600):
        with Bound(sweep, seconds) as made:
            await asyncio.sleep(0)
        assert made is None
    with pytest.raises(ValueError, match="a bug"), Bound(sweep, 3600):
        raise ValueError("a bug")
    assert (sweep._timer, sweep._deadlines) == (None, set())


async def test_a_bound_that_moves_nearer_ends_its_block():
    sweep = DeadlineSweep()
    bound = Bound(sweep, 3600)
    asyncio.get_running_loop().call_soon(sweep.move, bound, 0)
    with pytest.raises(TimeoutError), bound:
        await asyncio.Event().wait()


async def test_a_bound_that_is_ended_passes_at_once_and_only_while_its_block_runs():
    sweep = DeadlineSweep()
    bound = Bound(sweep, 3600)
    bound.end()
    asyncio.get_running_loop().call_soon(bound.end)
    with pytest.raises(TimeoutError), bound:
        await asyncio.Event().wait()
    bound.end()
    assert (await asyncio.sleep(0, "on"), current().cancelling()) == ("on", 0)
    assert (sweep._timer, sweep._deadlines) == (None, set())


async def test_of_nested_bounds_the_one_that_passes_ends_its_block():
    sweep = DeadlineSweep()
    for outer, inner in ((0.01, 3600), (3600, 0.01)):
        one, other = Bound(sweep, outer), Bound(sweep, inner)
        with pytest.raises(TimeoutError), one, other:
            await asyncio.Event().wait()
        assert (one.has_passed, other.has_passed) == (outer < inner, inner < outer)


async def test_nested_bounds_that_pass_together_end_the_outer_block():
    """Each cancels the task, which goes on behind them without a cancellation."""
    sweep = DeadlineSweep()

    async def inner() -> None:
        with pytest.raises(asyncio.CancelledError) as raised, Bound(sweep, 0):
            await asyncio.Event().wait()
        raise raised.value

    with pytest.raises(TimeoutError), Bound(sweep, 0):
        await inner()
    assert (await asyncio.sleep(0, "on"), current().cancelling()) == ("on", 0)


async def test_a_bound_that_passes_as_its_block_may_go_on_ends_it():
    loop = asyncio.get_running_loop()
    done, bound = loop.create_future(), Bound(DeadlineSweep(), 0)

    async def wait() -> None:
        cancel = bound.on_passed
        bound.on_passed = lambda: (done.set_result(None), cancel())
        await done

    with pytest.raises(TimeoutError), bound:
        await wait()
    assert (await asyncio.sleep(0, "on"), current().cancelling()) == ("on", 0)


async def test_a_bound_does_not_hide_a_cancellation():
    async def work() -> None:
        with bound:
            await asyncio.Event().wait()

    sweep = DeadlineSweep()
    for has_passed in (False, True):
        bound = Bound(sweep)
        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        task.cancel()
        if has_passed:
            bound.has_passed = True
            bound.on_passed()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_bound_keeps_no_task():
    """The task holds the frame of the block, and that holds the bound."""
    bounds = [Bound(DeadlineSweep(), seconds) for seconds in (0.01, 3600)]
    with pytest.raises(TimeoutError), bounds[0]:
        await asyncio.Event().wait()
    with bounds[1]:
        pass
    assert not any(current() is kept for each in bounds for kept in gc.get_referents(each))
    assert all(each.on_passed() is None for each in bounds)


def current() -> "asyncio.Task[object]":
    task = asyncio.current_task()
    assert task is not None
    return task
