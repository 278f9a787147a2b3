"""The cost of one piece of work: CPU time, memory, pauses of other threads, its end once cancelled.

The work runs in a thread of its own. The calling thread wakes every millisecond, for which it needs
the GIL, and reads the CPU time of the work: CPU time is comparable on a busy machine, wall time is
not. The CPU time of the work between two wakes is a pause, in which a gateway's event loop would
stand still.
"""

import gc
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.constraints.compile_scheduler import run_compile
from engine import Limits, WorkBudget

#: seconds between two wakes
TICK = 0.001
#: seconds within which memory must be back
RETURNS_WITHIN = 1.0
#: Python frames of which the places are reported
FRAMES = 4

Work = Callable[[WorkBudget], object]


@dataclass
class Cost:
    """The cost of a run. ``cpu``, ``pause`` and ``after_cancel``: CPU seconds; ``peak``: bytes."""

    cpu: float = 0.0
    pause: float = 0.0
    after_cancel: float = 0.0
    peak: int = 0
    steps: int = 0
    #: where the longest pause ended, and where most wakes met the work
    paused_at: str = ""
    busy_at: Counter[str] = field(default_factory=Counter)
    error: BaseException | None = None
    made: object = None


def run_measured(work: Work, limits: Limits, cancel_after: float | None = None) -> Cost:
    """Run the work with a budget of its own, and measure it.

    Args:
        cancel_after: CPU seconds of the work after which it is cancelled.
    """
    cost, budget = Cost(), WorkBudget(limits)
    is_done, may_end = threading.Event(), threading.Event()

    def run() -> None:
        try:
            cost.made = run_compile(work, budget)
        except BaseException as error:
            cost.error = error
        cost.cpu = time.thread_time()
        is_done.set()
        # a thread that has ended has no clock
        may_end.wait()

    reset_peak()
    before = resident()
    thread = threading.Thread(target=run)
    thread.start()
    assert thread.ident is not None
    cancelled_at = watch(cost, thread.ident, budget, is_done, cancel_after)
    if cancelled_at is not None:
        cost.after_cancel = cost.cpu - cancelled_at
    may_end.set()
    thread.join()
    cost.peak, cost.steps = max(0, peak() - before), budget.spent
    return cost


def watch(
    cost: Cost,
    ident: int,
    budget: WorkBudget,
    is_done: threading.Event,
    cancel_after: float | None,
) -> float | None:
    """Wake until the work is done; return its CPU time when it was cancelled."""
    clock = time.pthread_getcpuclockid(ident)
    last, cancelled_at = time.clock_gettime(clock), None
    while not is_done.wait(TICK):
        now = time.clock_gettime(clock)
        where = place_of(ident)
        cost.busy_at[where] += 1
        if now - last > cost.pause:
            cost.pause, cost.paused_at = now - last, where
        last = now
        if cancel_after is not None and cancelled_at is None and now >= cancel_after:
            cancelled_at = now
            budget.cancel()
    cost.pause = max(cost.pause, cost.cpu - last)
    return cancelled_at


def place_of(ident: int) -> str:
    """Return the innermost Python frames of a thread; compiled functions have none."""
    frame = sys._current_frames().get(ident)
    found = traceback.StackSummary.extract(traceback.walk_stack(frame), limit=FRAMES)
    # walk_stack begins with the innermost frame
    return " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in found)


def held_after(cost: Cost, before: int, allowed: int) -> int:
    """Drop the error of a run as a gateway does, and return the bytes above ``before`` that the
    process still has after at most ``RETURNS_WITHIN`` seconds.
    """
    cost.error = cost.made = None
    end = time.monotonic() + RETURNS_WITHIN
    while (held := resident() - before) > allowed and time.monotonic() < end:
        time.sleep(0.05)
    return max(0, held)


def collected() -> int:
    """Return resident bytes after a collection."""
    gc.collect()
    return resident()


def resident() -> int:
    return _status("VmRSS:")


def peak() -> int:
    return _status("VmHWM:")


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def address_space() -> int:
    return _status("VmSize:")


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) << 10
