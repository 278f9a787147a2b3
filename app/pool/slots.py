"""Slots: the bounded running generations of workers, and the requests that wait for one.

A slot is the worker's, whichever of its seats the generation takes.

Invariants   I1 a slot is taken when it is granted, not when the request continues: no later request
                overtakes.
             I2 a request that is cancelled, or whose deadline passes, leaves the queue; a slot
                granted at the same moment goes to the next one.
             I3 requests are granted in the order of arrival. A request passes another one only to
                a worker that the other one cannot use: it has tried it, or needs more context or
                an adapter.
Threads      the event loop only.
Not here     how many requests may wait, and who may (the admission in front of the pool).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adapters.workers import WorkerError

from .member import Member, Seat

#: waiting requests that one change looks at; usually the first one gets the free slot. More would
#: be looked at only if so many wait for a long context while another worker is free. Those whose
#: adapter no free worker has are passed over and do not count: workers may differ in adapters, and
#: thousands may wait for one of them
LOOKED_AT = 256

#: returns a seat of a worker with a free slot; None: there is none for this request
Pick = Callable[[], Seat | None]


@dataclass(eq=False, slots=True)
class _Waiting:
    pick: Pick
    granted: "asyncio.Future[Seat | None]"
    adapter: str | None


class Slots:
    """See the file's header.

    Args:
        members: returns the workers that get requests.
        bound: running generations of each worker; None: no limit.
    """

    def __init__(self, members: Callable[[], Sequence[Member]], bound: int | None = None) -> None:
        self._members = members
        self._bound = bound
        self._queue: deque[_Waiting] = deque()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def is_free(self, member: Member) -> bool:
        return self._bound is None or member.running < self._bound

    def take_free(self, pick: Pick) -> Seat | None:
        """Return a seat that is taken; the caller must ``release`` it. None: others wait, or there
        is no free one.
        """
        seat = None if self._queue else pick()
        if seat is not None:
            seat.take()
        return seat

    async def take(
        self, pick: Pick, seconds: float | None, adapter: str | None = None
    ) -> Seat | None:
        """Wait for a seat, of a worker that has ``adapter`` if there is one, and return it as
        ``take_free`` does; None: no worker has the adapter any more.

        Raises:
            WorkerError: 503, no slot was free within ``seconds``.
        """
        waiting = _Waiting(pick, asyncio.get_running_loop().create_future(), adapter)
        self._queue.append(waiting)
        self.wake()
        try:
            async with asyncio.timeout(seconds):
                return await waiting.granted
        except TimeoutError:
            self._leave(waiting)
            message = f"no worker was free within {seconds} s"
            raise WorkerError(503, message, reason="unavailable") from None
        except BaseException:
            self._leave(waiting)
            raise

    def release(self, seat: Seat) -> None:
        """Free a slot, and grant it."""
        seat.release()
        if self._queue:
            self.wake()

    def wake(self) -> None:
        """Grant slots to waiting requests; call it after any change that may free a worker."""
        free = self._free() if self._queue else []
        looked_at = 0
        lacking: set[str | None] = set()
        for waiting in list(self._queue) if free else ():
            if not free or looked_at == LOOKED_AT:
                return
            adapter = waiting.adapter
            if adapter in lacking or waiting.granted.done():  # cancelled, and about to leave
                continue
            if not any(member.has_adapter(adapter) for member in free):
                lacking.add(adapter)
                continue
            looked_at += 1
            seat = waiting.pick()
            if seat is not None:
                seat.take()
                self._queue.remove(waiting)
                waiting.granted.set_result(seat)
                free = self._free()

    def check(self) -> None:
        """End waits for adapters that no worker has any more, and grant slots; call it after a
        health check.
        """
        members = self._members() if self._queue else ()
        had: dict[str | None, bool] = {}
        for waiting in list(self._queue):
            adapter = waiting.adapter
            if adapter not in had:
                had[adapter] = any(member.has_adapter(adapter) for member in members)
            if adapter is not None and not had[adapter] and not waiting.granted.done():
                self._queue.remove(waiting)
                waiting.granted.set_result(None)
        self.wake()

    def _free(self) -> list[Member]:
        return [member for member in self._members() if self.is_free(member)]

    def _leave(self, waiting: _Waiting) -> None:
        if waiting.granted.done() and not waiting.granted.cancelled():
            seat = waiting.granted.result()
            if seat is not None:
                self.release(seat)
        elif waiting in self._queue:
            self._queue.remove(waiting)
            self.wake()
