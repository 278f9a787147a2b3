"""The compile scheduler: threads for compiles, shared fairly between clients.

A compile takes a millisecond, or up to a second of one core for a costly schema (``Limits.
compile_steps``), and compiling threads take turns at one interpreter lock. So there are few
threads, one client may use all but one of them, and waiting clients take turns. Kept grammars are
found before (planner), in other threads, and never wait here.

Invariants   I1 a cancelled request ends its compile: cancelling ``run`` cancels the budget. The
                thread counts as taken until the compile has ended.
             I2 no request waits while a thread is free that its client may use.
Threads      the event loop; compiles run in threads of their own.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from engine import Limits, WorkBudget

from ..errors import ApiError

Result = TypeVar("Result")

#: default threads, and waiting compiles per client
THREADS, QUEUE = 2, 512
#: waiting compiles of all clients: each holds its request, mostly some KB, at most 4 MB
MOST_WAITING = 4_096
#: seconds after which a refused client may retry; most compiles take less
RETRY_AFTER = 1


class CompileScheduler:
    """The compile threads of one app.

    Args:
        limits: the compiler's; each request has a budget of ``compile_steps``.
        threads: compiles that run at once; one client may use all but one, at least one.
        queue: waiting compiles of one client.
    """

    def __init__(self, limits: Limits, *, threads: int = THREADS, queue: int = QUEUE) -> None:
        self._limits = limits
        self._pool = ThreadPoolExecutor(threads, "compile")
        self._free, self._share, self._queue = threads, max(1, threads - 1), queue
        self._running: Counter[str] = Counter()
        # waiting clients; the first has the next turn
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._budgets: set[WorkBudget] = set()
        self._counts = dict.fromkeys(("started", "cancelled", "rejected"), 0)

    async def run(self, client: str, work: Callable[[WorkBudget], Result]) -> Result:
        """Call ``work`` with a budget in a compile thread; return its result.

        Raises:
            ApiError: 429, the client has too many waiting compiles.
        """
        await self._take(client)
        loop, budget = asyncio.get_running_loop(), WorkBudget(self._limits)
        self._budgets.add(budget)
        self._counts["started"] += 1
        made = self._pool.submit(work, budget)
        made.add_done_callback(lambda _: loop.call_soon_threadsafe(self._give_back, client, budget))
        try:
            return await asyncio.wrap_future(made)
        except asyncio.CancelledError:
            self._counts["cancelled"] += 1
            budget.cancel()
            raise

    async def aclose(self) -> None:
        """Cancel running compiles and end the threads. Call it when no request is left."""
        for budget in self._budgets:
            budget.cancel()
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    def stats(self) -> dict[str, int]:
        """Return counters since start, and the numbers of running and waiting compiles."""
        waiting = sum(map(len, self._waiting.values()))
        return {**self._counts, "running": self._running.total(), "waiting": waiting}

    # -- turns -------------------------------------------------------------------------------------
    async def _take(self, client: str) -> None:
        """Wait for the client's turn, and take a thread."""
        if self._may_run(client):
            self._start(client)
            return
        mine = self._waiting.get(client, ())
        if len(mine) >= self._queue or sum(map(len, self._waiting.values())) >= MOST_WAITING:
            self._counts["rejected"] += 1
            raise _too_many()
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(client, turn)
            else:
                self._stop(client)
            raise

    def _may_run(self, client: str) -> bool:
        return self._free > 0 and self._running[client] < self._share

    def _start(self, client: str) -> None:
        self._free -= 1
        self._running[client] += 1

    def _stop(self, client: str) -> None:
        """Free a thread, and give it to the next waiting client."""
        self._free += 1
        self._running[client] -= 1
        self._running += Counter()  # drops clients with a count of 0
        for other in list(self._waiting):
            while other in self._waiting and self._may_run(other):
                self._waiting.move_to_end(other)
                turn = self._waiting[other][0]
                self._leave(other, turn)
                if not turn.done():
                    self._start(other)
                    turn.set_result(None)

    def _leave(self, client: str, turn: "asyncio.Future[None]") -> None:
        mine = self._waiting.get(client)
        if mine is not None and turn in mine:
            mine.remove(turn)
            if not mine:
                del self._waiting[client]

    def _give_back(self, client: str, budget: WorkBudget) -> None:
        self._budgets.discard(budget)
        self._stop(client)


def _too_many() -> ApiError:
    return ApiError(
        429,
        "Too many requests wait for their schemas to be compiled. Try again later.",
        code="rate_limit_exceeded",
        headers={"Retry-After": str(RETRY_AFTER)},
    )
