"""The compile scheduler: threads for compiles, shared fairly between clients.

A compile takes a millisecond, or up to a second of one core for a costly schema (``Limits.
compile_steps``), and compiling threads take turns at one interpreter lock. So few compiles run at
once, one client may use all but one of their slots, and waiting clients take turns.

A compile that has run for ``SLICE_S`` while another client waits is suspended at a pause of its
budget: the other client gets the slot, and the suspended compile waits for its client's next turn.
So a small schema waits for about one slice of each active client, whatever those compile. Kept
grammars are found before (planner), in other threads, and never wait here.

Invariants   I1 a cancelled request ends its compile: cancelling ``run`` cancels the budget. The
                thread counts as taken until the compile has ended.
             I2 no request waits while a slot is free that its client may use, unless as many
                compiles as there are threads have begun.
             I3 the compiles of one client begin, and go on, in their order.
             I4 memory of a failed compile is free when its request learns of the failure.
Bounds       ``MAX_STARTED`` compiles have begun, each of which holds a thread and its memory.
Threads      the event loop; compiles, and ``CompileTurn.pause``, run in threads of their own.
"""

import asyncio
import threading
import time
import traceback
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol, TypeVar

from engine import LimitExceeded, Limits, WorkBudget, trim

from ..errors import RETRY_AFTER, ApiError

Result = TypeVar("Result")

#: default slots, and waiting compiles per client
THREADS, QUEUE = 2, 512
#: waiting compiles of all clients: each holds its request, mostly some KB, at most 4 MB
MAX_WAITING = 4_096
#: compiles that have begun and not ended, suspended ones included, unless there are more slots: one
#: may hold some hundred MB
MAX_STARTED = 8
#: seconds that a compile runs while another client waits; a change takes less than a millisecond
SLICE_S = 0.02
#: seconds after which a suspended compile goes on without a slot: another one may need a lock that
#: it holds
MAX_SUSPENDED_S = 10.0
#: steps of a failed compile from which free memory is returned to the system, in some milliseconds:
#: typical schemas take fewer
TRIM_STEPS = 50_000


class CompileRunner(Protocol):
    """Runs compiles of clients."""

    async def run(self, client: str, work: Callable[[WorkBudget], Result]) -> Result:
        """See ``CompileScheduler.run``."""


class OneBudget:
    """Runs the compiles of one request in turns of their own, on one budget.

    Once it is spent, a compile raises ``LimitExceeded`` at its first step.
    """

    def __init__(self, scheduler: CompileRunner) -> None:
        self._scheduler, self._spent = scheduler, 0

    async def run(self, client: str, work: Callable[[WorkBudget], Result]) -> Result:
        """See ``CompileScheduler.run``."""

        def charged(budget: WorkBudget) -> Result:
            # beyond the limit, the work's own first step raises it again
            with suppress(LimitExceeded):
                budget.spend(self._spent)
            try:
                return work(budget)
            finally:
                self._spent = budget.spent

        return await self._scheduler.run(client, charged)


class CompileTurn:
    """The right of one compile to run.

    ``starts``: done when it may begin. ``goes_on``: set while it may run, once it has begun.
    """

    def __init__(
        self, client: str, budget: WorkBudget, suspend: Callable[["CompileTurn"], bool]
    ) -> None:
        self.client, self.budget = client, budget
        self.starts: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.goes_on = threading.Event()
        self.has_slot = self.has_begun = self.is_cancelled = False
        self._suspend, self._since = suspend, time.monotonic()
        budget.on_pause = self.pause

    def begin(self) -> None:
        """Begin the first slice, in the compile's thread."""
        self._since = time.monotonic()

    def pause(self) -> None:
        """Let another client's compile run, if one waits and the slice is over."""
        if time.monotonic() - self._since < SLICE_S:
            return
        if self._suspend(self):
            self.goes_on.wait(MAX_SUSPENDED_S)
        self._since = time.monotonic()

    def cancel(self) -> None:
        """End the compile soon, whether it runs or is suspended."""
        self.is_cancelled = True
        self.budget.cancel()
        self.goes_on.set()

    def grant(self) -> None:
        """Let it begin or go on."""
        self.has_slot = True
        if self.has_begun:
            self.goes_on.set()
        else:
            self.has_begun = True
            self.starts.set_result(None)


class CompileScheduler:
    """The compile threads of one app.

    Args:
        limits: the compiler's; each request has a budget of ``compile_steps``.
        threads: compiles that run at once; one client may use all but one, at least one.
        queue: waiting compiles of one client.
    """

    def __init__(self, limits: Limits, *, threads: int = THREADS, queue: int = QUEUE) -> None:
        self._limits = limits
        self._most_started = max(threads, MAX_STARTED)
        self._pool = ThreadPoolExecutor(self._most_started, "compile")
        self._free, self._share, self._queue = threads, max(1, threads - 1), queue
        self._running: Counter[str] = Counter()
        # waiting clients, the first has the next turn; suspended compiles come before new ones
        self._waiting: OrderedDict[str, deque[CompileTurn]] = OrderedDict()
        self._begun: set[CompileTurn] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._counts = dict.fromkeys(("started", "cancelled", "rejected", "suspended"), 0)

    async def run(self, client: str, work: Callable[[WorkBudget], Result]) -> Result:
        """Call ``work`` with a budget in a compile thread; return its result.

        Raises:
            ApiError: 429, the client has too many waiting compiles.
        """
        loop = self._loop = asyncio.get_running_loop()
        turn = CompileTurn(client, WorkBudget(self._limits), self._suspend)
        await self._wait(turn)

        def compiled() -> Result:
            turn.begin()
            return run_compile(work, turn.budget)

        self._counts["started"] += 1
        made = self._pool.submit(compiled)
        made.add_done_callback(lambda _: loop.call_soon_threadsafe(self._end, turn))
        try:
            return await asyncio.wrap_future(made)
        except asyncio.CancelledError:
            self._counts["cancelled"] += 1
            turn.cancel()
            raise

    async def aclose(self) -> None:
        """Cancel running compiles and end the threads. Call it when no request is left."""
        for turn in self._begun:
            turn.cancel()
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    def stats(self) -> dict[str, int]:
        """Return counters since start, and the numbers of running and waiting compiles; suspended
        ones wait.
        """
        waiting = sum(map(len, self._waiting.values()))
        return {**self._counts, "running": self._running.total(), "waiting": waiting}

    # -- turns -------------------------------------------------------------------------------------
    async def _wait(self, turn: CompileTurn) -> None:
        """Wait until the compile may begin."""
        if not self._may_run(turn):
            mine = sum(not each.has_begun for each in self._waiting.get(turn.client, ()))
            if mine >= self._queue or sum(map(len, self._waiting.values())) >= MAX_WAITING:
                self._counts["rejected"] += 1
                raise _too_many()
            self._waiting.setdefault(turn.client, deque()).append(turn)
        else:
            self._grant(turn)
        try:
            await turn.starts
        except asyncio.CancelledError:
            self._leave(turn)
            if turn.has_begun:
                self._end(turn)
            raise

    def _may_run(self, turn: CompileTurn) -> bool:
        has_room = turn.has_begun or len(self._begun) < self._most_started
        return has_room and self._free > 0 and self._running[turn.client] < self._share

    def _grant(self, turn: CompileTurn) -> None:
        self._free -= 1
        self._running[turn.client] += 1
        self._begun.add(turn)
        turn.grant()

    def _release(self, turn: CompileTurn) -> None:
        """Take the slot back."""
        if turn.has_slot:
            turn.has_slot = False
            self._free += 1
            self._running[turn.client] -= 1
            self._running += Counter()  # drops clients with a count of 0

    def _hand_out(self) -> None:
        """Give free slots to waiting clients, one after the other."""
        for client in list(self._waiting):
            while client in self._waiting and self._may_run(turn := self._waiting[client][0]):
                self._waiting.move_to_end(client)
                self._leave(turn)
                if turn.has_begun or not turn.starts.done():
                    self._grant(turn)

    def _leave(self, turn: CompileTurn) -> None:
        mine = self._waiting.get(turn.client)
        if mine is not None and turn in mine:
            mine.remove(turn)
            if not mine:
                del self._waiting[turn.client]

    def _end(self, turn: CompileTurn) -> None:
        self._begun.discard(turn)
        turn.budget.on_pause = None
        # it may have ended while it waited: cancelled, or after ``MAX_SUSPENDED_S``
        self._leave(turn)
        self._release(turn)
        self._hand_out()

    # -- suspended compiles ------------------------------------------------------------------------
    def _suspend(self, turn: CompileTurn) -> bool:
        """Ask the event loop to suspend a compile if another client waits, in the compile's thread.
        Return whether to wait for ``goes_on``.
        """
        # a look without a lock: the event loop decides
        if self._loop is None or len(self._waiting) <= (turn.client in self._waiting):
            return False
        turn.goes_on.clear()
        if turn.is_cancelled:
            return False
        try:
            self._loop.call_soon_threadsafe(self._suspended, turn)
        except RuntimeError:
            # the event loop is closed
            return False
        return True

    def _suspended(self, turn: CompileTurn) -> None:
        if not turn.has_slot:
            # it has ended, or goes on without a slot
            turn.goes_on.set()
            return
        self._release(turn)
        mine = self._waiting.setdefault(turn.client, deque())
        mine.appendleft(turn)
        # behind all clients that wait
        self._waiting.move_to_end(turn.client)
        self._hand_out()
        if turn in mine:
            self._counts["suspended"] += 1


def run_compile(work: Callable[[WorkBudget], Result], budget: WorkBudget) -> Result:
    """Return the result of the work. An error keeps its traceback, but not the variables of its
    frames: they are the half-made grammar, and who handles the error may keep it for long.
    """
    try:
        return work(budget)
    except BaseException as error:
        _clear_frames(error)
        if budget.spent >= TRIM_STEPS:
            trim()
        raise


def _clear_frames(error: BaseException | None) -> None:
    """Clear the frames of an error and of those in whose handling it was raised."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def _too_many() -> ApiError:
    return ApiError(
        429,
        "Too many requests wait for their schemas to be compiled. Try again later.",
        code="rate_limit_exceeded",
        headers={"Retry-After": str(RETRY_AFTER)},
    )
