"""Threads for the slow steps of requests, so that the event loop stays free.

A small request takes asyncio's own threads, large ones share a thread of their own, so these steps
of small requests never wait behind those of large ones.

Bounds           one large request at once and MOST_WAITING in all; one more is refused with 503.
Threads          the event loop only.
Not here         how long a step may hold the GIL: a step that is one call of C code stops every
                 thread. The bounds on bodies (api/body, request) keep such calls short.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import unavailable

Result = TypeVar("Result")

#: bytes of a body from which a request is large: parsing 64 KiB takes at most some milliseconds, a
#: change of threads about 0.1 ms
LARGE_BYTES = 64 << 10
#: large requests that may wait or run; each holds a body, and its client waits for seconds already
MOST_WAITING = 64


class Offload:
    """One for an app."""

    def __init__(self) -> None:
        # two threads would pass the GIL to each other, past the event loop
        self._threads = ThreadPoolExecutor(1, "large-requests")
        self._waiting = 0

    async def run(self, size: int, step: Callable[[], Result]) -> Result:
        """The step's result; ``size``: bytes of the request's body.

        Raises:
            ApiError: 503, too many large requests wait already.
        """
        if size < LARGE_BYTES:
            return await asyncio.to_thread(step)
        if self._waiting >= MOST_WAITING:
            raise unavailable(
                f"Too many large requests at the moment: at most {MOST_WAITING} may wait.",
                "overloaded",
            )
        running = self._threads.submit(step)
        self._waiting += 1
        loop = asyncio.get_running_loop()
        running.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        return await asyncio.wrap_future(running)

    def _done(self) -> None:
        self._waiting -= 1

    def close(self) -> None:
        """Waits for running steps, drops waiting ones."""
        self._threads.shutdown(cancel_futures=True)
