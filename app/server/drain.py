"""Shutdown: warning load balancers, and ending requests that outlive the grace period.

uvicorn would cancel those, and clients would get the text "Internal Server Error" or half a stream.

Phases           serving; draining (``begin``: requests are answered, ``/health/ready`` is not 200,
                 connections close after their answer); ended (``end``).

Threads          the event loop only.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..errors import ApiError, unavailable


class Drain:
    """The running requests of one app."""

    def __init__(self) -> None:
        self._running: set[asyncio.Timeout] = set()
        self._ended = False
        self.draining = False

    @property
    def running(self) -> int:
        """Number of running requests."""
        return len(self._running)

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Enclose one request. Raises ApiError 503 when the grace period ends first."""
        if self._ended:
            raise _shutdown()
        bound = asyncio.timeout(None)
        try:
            async with bound:
                self._running.add(bound)
                try:
                    yield
                finally:
                    self._running.discard(bound)
        except TimeoutError:
            if bound.expired():
                raise _shutdown() from None
            raise

    def begin(self) -> None:
        """Tell load balancers to send no more requests."""
        self.draining = True

    def end(self) -> None:
        """Cancel every running request, and refuse new ones."""
        self._ended = True
        for bound in self._running:
            bound.reschedule(0)


def _shutdown() -> ApiError:
    return unavailable("The server is shutting down. Please try again.", "server_shutdown")
