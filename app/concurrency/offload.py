"""Threads for the slow steps of requests, so that the event loop stays free.

Tiny requests need no thread: they take less time than switching to one. Small requests share a few
threads; large ones, and huge ones, have one thread each. So no request waits behind a step of one
that is much larger. Images have threads of their own. Clients share the threads fairly
(fair_threads): a client that floods waits for itself.

Bounds     one large and one huge request at once, and IMAGE_THREADS images; MAX_SMALL, MAX_LARGE
           (of either) and MAX_IMAGES requests that wait. Beyond them, the newest one of the client
           with the most gets 503.
Threads    the event loop only.
Not here   how long a step holds the GIL: a step that is one call of C code stops every thread. The
           bounds on bodies (api.body, protocol) keep such calls short.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from ..errors import unavailable
from .fair_threads import FairThreads

Result = TypeVar("Result")

#: body size from which a request is large, in bytes: parsing 64 KiB takes a few milliseconds at
#: most, switching threads about 0.1 ms
LARGE_BYTES: Final = 64 << 10
#: body size from which a request is huge: a step of 4 MiB takes up to a second
HUGE_BYTES: Final = 512 << 10
#: body size from which a request is not tiny. Switching threads takes 0.03 ms, and more while the
#: event loop is busy; hostile 4 KiB (a long word, control tokens, tools) took 4 to 14 ms on a
#: machine with eight times as much to do as it can
SMALL_BYTES: Final = 2 << 10
#: threads of small requests: tokenizers release the GIL
SMALL_THREADS: Final = 4
#: maximum seconds of rest after a step of a huge request: its parts that hold the GIL, such as
#: parsing 4 MiB of escapes, take up to 0.02 s; a whole step takes up to a second
HUGE_REST_S: Final = 0.06
#: small requests that wait; each holds a body of less than LARGE_BYTES
MAX_SMALL: Final = 1024
#: large requests that wait, and huge ones; each holds a body, and the last one waits for seconds
MAX_LARGE: Final = 64
#: threads of images, one of which no single client can hold: an image takes up to a second and 400
#: MB, nearly all of it in C code that releases the GIL
IMAGE_THREADS: Final = 2
#: requests whose images wait
MAX_IMAGES: Final = 256


class Offload:
    """The threads of one app."""

    def __init__(self) -> None:
        self._small = _threads(SMALL_THREADS, "small", MAX_SMALL)
        # more threads would hand the GIL to each other and starve the event loop
        self._large = _threads(1, "large", MAX_LARGE, first=[self._small])
        first = [self._small, self._large]
        self._huge = _threads(1, "huge", MAX_LARGE, rest_s=HUGE_REST_S, first=first)
        self._images = _threads(IMAGE_THREADS, "image", MAX_IMAGES)

    async def run(self, client: str, size: int, step: Callable[[], Result]) -> Result:
        """Return the step's result; ``size``: bytes of the request's body.

        Raises:
            ApiError: 503, too many requests wait, most of them this client's.
        """
        if size < SMALL_BYTES:
            return step()
        if size < LARGE_BYTES:
            threads = self._small
        else:
            threads = self._large if size < HUGE_BYTES else self._huge
        return await threads.run(client, step)

    async def run_image(self, client: str, step: Callable[[], Result]) -> Result:
        """Return the result of a step that reads an image. Raises ApiError: see ``run``."""
        return await self._images.run(client, step)

    def close(self) -> None:
        """Wait for running steps, drop waiting ones."""
        for threads in (self._small, self._large, self._huge, self._images):
            threads.close()


def _threads(number: int, kind: str, waiting: int, **options: Any) -> FairThreads:
    text = f"Too many {kind} requests at the moment: at most {waiting:,} may wait."
    refusal = partial(unavailable, text, "overloaded")
    return FairThreads(number, f"{kind}-requests", waiting=waiting, refusal=refusal, **options)
