"""Threads that clients share fairly.

Each client has a queue, and the threads take a step from one queue after the other. So a client
waits for one step of each other client, however many those have waiting. If too many steps wait,
the newest one of the client with the most waiting steps is refused (longest queue drop): no client
can fill the queue for others.

Invariants   I1 no step waits while a thread is free that its client may use.
             I2 a thread counts as taken until its step has ended, also after its request is
                cancelled; a waiting step of a cancelled request never runs.
             I3 if more steps wait than allowed, the refused one is of a client that has at least
                as many waiting steps as any other.
Cost         O(waiting clients) per step.
Threads      the event loop; steps run in threads of their own.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import ApiError

Result = TypeVar("Result")


class FairThreads:
    """See the file's header.

    Args:
        threads: steps that run at once; one client may use all but one, at least one.
        waiting: maximum steps that wait.
        refusal: makes the error of a refused step.
    """

    def __init__(
        self, threads: int, name: str, *, waiting: int, refusal: Callable[[], ApiError]
    ) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._free, self._share = threads, max(1, threads - 1)
        self._most_waiting, self._refusal = waiting, refusal
        self._running: Counter[str] = Counter()
        # waiting clients; the first has the next turn
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    async def run(self, client: str, step: Callable[[], Result]) -> Result:
        """Return the step's result. Raises ApiError, the refusal, if too many steps wait."""
        await self._take(client)
        running, loop = self._pool.submit(step), asyncio.get_running_loop()
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._give_back, client))
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """Wait for running steps. Call it when no request is left."""
        self._pool.shutdown(cancel_futures=True)

    # -- turns -------------------------------------------------------------------------------------
    async def _take(self, client: str) -> None:
        """Wait for the client's turn, and take a thread."""
        if self._may_run(client):
            self._start(client)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        if sum(map(len, self._waiting.values())) > self._most_waiting:
            self._refuse_one(client)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._leave(client, turn)
            elif turn.exception() is None:
                self._give_back(client)
            raise

    def _refuse_one(self, newcomer: str) -> None:
        most = max(map(len, self._waiting.values()))
        longest = (client for client, turns in self._waiting.items() if len(turns) == most)
        client = newcomer if len(self._waiting[newcomer]) == most else next(longest)
        refused = self._waiting[client][-1]
        self._leave(client, refused)
        if not refused.done():
            refused.set_exception(self._refusal())

    def _may_run(self, client: str) -> bool:
        return self._free > 0 and self._running[client] < self._share

    def _start(self, client: str) -> None:
        self._free -= 1
        self._running[client] += 1

    def _give_back(self, client: str) -> None:
        """Free a thread, and let the next waiting clients run."""
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
        turns = self._waiting.get(client)
        if turns is not None and turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[client]
