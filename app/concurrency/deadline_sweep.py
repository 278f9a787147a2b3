"""Deadlines that move often, checked by one timer for all of them.

A timer for each token of each stream would cost more than the token. Moving a deadline costs an
assignment; the timer is set for the earliest one, and when it fires, most have moved on. A Bound is
the deadline of a block of a task.

Threads     the event loop only.
"""

import asyncio
import math
from collections.abc import Callable
from types import TracebackType

#: seconds between two looks at the least; a deadline may pass that much later
TICK_S = 0.05


class Deadline:
    """The time at which ``on_passed`` is called once, in the loop's time; infinite: never.
    ``has_passed``: it was called.
    """

    __slots__ = ("at", "has_passed", "on_passed")

    def __init__(self, on_passed: Callable[[], object]) -> None:
        self.at = math.inf
        self.has_passed = False
        self.on_passed = on_passed

    def due(self) -> float:
        """Return when it passes. Called when ``at`` has come; it may know by now that it moved."""
        return self.at


class DeadlineSweep:
    """See the file's header."""

    def __init__(self) -> None:
        self._deadlines: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        #: the time for which the timer is set
        self._next = math.inf

    @property
    def watched(self) -> int:
        """The number of watched deadlines."""
        return len(self._deadlines)

    def add(self, deadline: Deadline) -> None:
        """Watch a deadline until it has passed or is discarded."""
        self._deadlines.add(deadline)
        if deadline.at < self._next:
            self._set_timer(deadline.at)

    def discard(self, deadline: Deadline) -> None:
        """Watch a deadline no longer, if it was watched."""
        self._deadlines.discard(deadline)
        if not self._deadlines and self._timer is not None:
            self._timer.cancel()
            self._timer, self._next = None, math.inf

    def move(self, deadline: Deadline, at: float) -> None:
        """Set the time of a watched deadline."""
        deadline.at = at
        if at < self._next:
            self._set_timer(at)

    def pass_all(self) -> None:
        """Let all watched deadlines pass at the next look, but for those that have moved (due)."""
        for deadline in self._deadlines:
            self.move(deadline, 0.0)

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._next = None, math.inf
        if at < math.inf:
            self._timer = asyncio.get_running_loop().call_at(at, self._look)
            self._next = at

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        for each in self._deadlines:
            if each.at <= now:
                each.at = each.due()
        passed = [each for each in self._deadlines if each.at <= now]
        earliest = min((each.at for each in self._deadlines), default=math.inf)
        # at the next look come those that are left if a call fails
        self._set_timer(max(earliest, now + TICK_S))
        for each in passed:
            # an earlier call may have discarded or moved it
            if each in self._deadlines and each.at <= now:
                self.discard(each)
                each.has_passed = True
                each.on_passed()


class Bound(Deadline):
    """A deadline that ends the block of its ``with`` with TimeoutError when it passes. Enter it
    once. ``asyncio.timeout`` does the same, but takes 2 us, and 4 us with a time, for its timer.
    """

    __slots__ = ("_cancelling", "_sweep", "_task")

    def __init__(self, sweep: DeadlineSweep, seconds: float | None = None) -> None:
        self.at = math.inf if seconds is None else asyncio.get_running_loop().time() + seconds
        self.has_passed = False
        self.on_passed = _nothing
        self._sweep = sweep
        self._task: asyncio.Task[object] | None = None

    def move(self, at: float) -> None:
        """Set the time, while the block runs."""
        self._sweep.move(self, at)

    def end(self) -> None:
        """Let it pass now, while the block runs; else do nothing."""
        if self._task is not None and not self.has_passed:
            self._sweep.discard(self)
            self.has_passed = True
            self.on_passed()

    def __enter__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can be bound")
        self._task, self._cancelling = task, task.cancelling()
        self.on_passed = task.cancel
        self._sweep.add(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._sweep.discard(self)
        # the task holds the frame of the block, and that holds this
        task, self._task, self.on_passed = self._task, None, _nothing
        if self.has_passed and task is not None:
            is_ours = task.uncancel() <= self._cancelling
            if is_ours and kind is asyncio.CancelledError:
                raise TimeoutError from error


def _nothing() -> None:
    pass
