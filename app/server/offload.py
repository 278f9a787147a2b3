"""Threads for the slow steps of requests, so that the event loop stays free.

Tiny requests need no thread: they take less time than switching to one. Small requests use
asyncio's threads, large ones share one thread of their own, so that small requests never wait
behind large ones.

Bounds     one large request at once, MOST_WAITING in all; more are refused with 503.
Threads    the event loop only.
Not here   how long a step holds the GIL: a step that is one call of C code stops every thread. The
           bounds on bodies (api.body, protocol) keep such calls short.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import unavailable

Result = TypeVar("Result")

#: body size from which a request is large, in bytes: parsing 64 KiB takes a few milliseconds at
#: most, switching threads about 0.1 ms
LARGE_BYTES = 64 << 10
#: body size from which a request is not tiny. Switching threads takes 0.03 ms, and more while the
#: event loop is busy; hostile 4 KiB (a long word, control tokens, tools) took 4 to 14 ms on a
#: machine with eight times as much to do as it can
SMALL_BYTES = 2 << 10
#: large requests that wait or run; each holds a body, and the last one waits for seconds
MOST_WAITING = 64


class Offload:
    """The threads of one app."""

    def __init__(self) -> None:
        # two threads would hand the GIL to each other and starve the event loop
        self._threads = ThreadPoolExecutor(1, "large-requests")
        self._waiting = 0

    async def run(self, size: int, step: Callable[[], Result]) -> Result:
        """Return the step's result; ``size``: bytes of the request's body.

        Raises:
            ApiError: 503, too many large requests wait.
        """
        if size < SMALL_BYTES:
            return step()
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
        """Wait for running steps, drop waiting ones."""
        self._threads.shutdown(cancel_futures=True)
