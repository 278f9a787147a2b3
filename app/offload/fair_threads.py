"""Threads that clients share fairly.

The steps of requests are jobs of a fair queue (admission.fair_queue): threads take a step of one
client after the other, and if too many steps wait, the newest one of the client with the most is
refused.

Invariants   I1 no step waits while a thread is free that its client may use.
             I2 a thread counts as taken until its step has ended, also after its request is
                cancelled; a waiting step of a cancelled request never runs.
Cost         O(waiting clients) per step.
Threads      the event loop; steps run in threads of their own.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..admission.fair_queue import FairQueue, Job
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
        self._queue = FairQueue(running=threads, waiting=waiting)
        self._share = max(1, threads - 1)
        self._refusal = refusal
        self._turns: dict[Job, asyncio.Future[None]] = {}

    async def run(self, client: str, step: Callable[[], Result]) -> Result:
        """Return the step's result. Raises ApiError, the refusal, if too many steps wait."""
        loop = asyncio.get_running_loop()
        job = Job(client, "", client_bound=self._share)
        turn = self._turns[job] = loop.create_future()
        refused, started = self._queue.submit(job)
        if refused is not None and not self._turns[refused].done():
            self._turns[refused].set_exception(self._refusal())
        self._start(started)
        try:
            await turn
        except BaseException:
            self._end(job)
            raise
        running = self._pool.submit(step)
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._end, job))
        return await asyncio.wrap_future(running)

    def close(self) -> None:
        """Wait for running steps. Call it when no request is left."""
        self._pool.shutdown(cancel_futures=True)

    def _start(self, jobs: Iterable[Job]) -> None:
        for job in jobs:
            # a cancelled one ends as soon as its request learns of it
            if not self._turns[job].done():
                self._turns[job].set_result(None)

    def _end(self, job: Job) -> None:
        del self._turns[job]
        self._start(self._queue.remove(job))
