"""Threads that clients share fairly.

The steps of requests are jobs of a fair queue (fair_queue): threads take a step of one
client after the other, and if too many steps wait, the newest one of the client with the most is
refused, a second later: a client that tried again at once would keep the event loop busy with
reading bodies.

Only one of the threads runs Python at a time: the event loop waits for the GIL after each event,
and threads that hand it to each other would keep it waiting. Steps let the others go on while they
call code that releases the GIL (``gil_released``). In long loops of Python they give way to steps
of other FairThreads, those of smaller requests (``give_way``).

Invariants   I1 no step waits while a thread is free that its client may use.
             I2 a thread counts as taken until its step has ended and it has rested, also after the
                request is cancelled; a waiting step of a cancelled request never runs.
Cost         O(waiting clients) per step.
Threads      the event loop; steps run in threads of their own.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from ..errors import ApiError
from .fair_queue import FairQueue, Job

Result = TypeVar("Result")

#: rest after a step, in seconds per second of the step: the 90th percentile of small chats beside
#: a flood of large bodies that are no JSON is 77 ms without a rest, 61 ms with 1, 16 ms with 3
RESTS = 3
#: seconds before a refusal: beside 70 clients that send 4 MiB each, the median of small chats is
#: 16 ms with it, 58 ms without
REFUSAL_S = 1.0
#: seconds for which a step gives way, at most three times as long as it works in between
AWAY_S = 0.003
#: the lock that steps of this thread hold while they run Python; None: it is no thread of steps
_PYTHON: "ContextVar[threading.Lock | None]" = ContextVar("python", default=None)
#: the locks of steps that go before those of this thread
_FIRST: "ContextVar[Sequence[threading.Lock]]" = ContextVar("first", default=())


class FairThreads:
    """See the file's header.

    Args:
        threads: steps that run at once; one client may use all but one, at least one.
        waiting: maximum steps that wait.
        refusal: makes the error of a refused step.
        rest_s: maximum seconds that a thread rests after a step, RESTS times as long as that took:
            a step may be calls that hold the GIL throughout, one after the other.
        first: threads whose steps go before these.
    """

    def __init__(
        self,
        threads: int,
        name: str,
        *,
        waiting: int,
        refusal: Callable[[], ApiError],
        rest_s: float = 0.0,
        first: Iterable["FairThreads"] = (),
    ) -> None:
        self._python = threading.Lock()
        locks = self._python, [each._python for each in first]
        self._pool = ThreadPoolExecutor(threads, name, _set_locks, locks)
        self._queue = FairQueue(running=threads, waiting=waiting)
        self._share = max(1, threads - 1)
        self._refusal = refusal
        self._refusing, self._most_refusing = 0, waiting
        self._rest_s = rest_s
        self._turns: dict[Job, asyncio.Future[None]] = {}

    async def run(self, client: str, step: Callable[[], Result]) -> Result:
        """Return the step's result. Raises ApiError, the refusal, if too many steps wait."""
        loop = asyncio.get_running_loop()
        job = Job(client, "", client_bound=self._share)
        await self._wait(job)
        rest_s = 0.0
        # not those of the future: it is part of a reference cycle, which would keep the megabytes
        # of a body until the next collection
        results: list[Result] = []
        errors: list[BaseException] = []

        def run() -> None:
            nonlocal rest_s
            with self._python:
                start = time.thread_time()
                try:
                    results.append(step())
                except BaseException as error:
                    errors.append(error)
                finally:
                    rest_s = min(RESTS * (time.thread_time() - start), self._rest_s)

        running = self._pool.submit(run)
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._rest, job, rest_s))
        await asyncio.wrap_future(running)
        if errors:
            raise errors.pop()
        return results.pop()

    def close(self) -> None:
        """Wait for running steps. Call it when no request is left."""
        self._pool.shutdown(cancel_futures=True)

    def _start(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            # a cancelled one ends as soon as its request learns of it
            if not self._turns[job].done():
                self._turns[job].set_result(None)

    async def _wait(self, job: Job) -> None:
        """Wait for the job's turn. Raises ApiError, the refusal."""
        turn = self._turns[job] = asyncio.get_running_loop().create_future()
        refused, started = self._queue.submit(job)
        if refused is not None and not self._turns[refused].done():
            self._turns[refused].set_exception(self._refusal())
        self._start(started)
        try:
            await turn
        except BaseException as error:
            self._end(job)
            if isinstance(error, ApiError):
                await self._wait_to_refuse()
            raise

    async def _wait_to_refuse(self) -> None:
        """Wait, unless as many refusals as steps wait: each holds a body."""
        if self._refusing >= self._most_refusing:
            return
        self._refusing += 1
        try:
            await asyncio.sleep(REFUSAL_S)
        finally:
            self._refusing -= 1

    def _rest(self, job: Job, seconds: float) -> None:
        if seconds:
            asyncio.get_running_loop().call_later(seconds, self._end, job)
        else:
            self._end(job)

    def _end(self, job: Job) -> None:
        del self._turns[job]
        self._start(self._queue.remove(job))


def _set_locks(own: threading.Lock, first: Sequence[threading.Lock]) -> None:
    _PYTHON.set(own)
    _FIRST.set(first)


def give_way() -> None:
    """Sleep for a moment if a step that goes before runs Python. To be called every millisecond or
    so: small chats beside two loops of Python take five times as long as beside one.
    """
    if any(lock.locked() for lock in _FIRST.get()):
        time.sleep(AWAY_S)


@contextmanager
def gil_released() -> Iterator[None]:
    """Let another step run Python meanwhile. Hold no lock that a step may wait for."""
    python = _PYTHON.get()
    if python is None:
        yield
        return
    python.release()
    try:
        yield
    finally:
        python.acquire()
