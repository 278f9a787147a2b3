"""Shutdown: warning load balancers, and ending requests that outlive the grace period.

uvicorn would cancel those, and clients would get the text "Internal Server Error" or half a stream.

Phases           serving; draining (``begin``: requests are answered, ``/health/ready`` is not 200,
                 connections close after their answer); ended (``end``).

Threads          the event loop only.
"""

from types import TracebackType

from ..concurrency import Bound, DeadlineSweep
from ..errors import ApiError, unavailable


class Drain:
    """The running requests of one app."""

    def __init__(self) -> None:
        self._running = DeadlineSweep()
        self._ended = False
        self.draining = False

    @property
    def running(self) -> int:
        """Number of running requests."""
        return self._running.watched

    def request(self) -> "_Request":
        """Enclose one request. Raises ApiError 503 when the grace period ends first."""
        if self._ended:
            raise _shutdown()
        return _Request(self._running)

    def begin(self) -> None:
        """Tell load balancers to send no more requests."""
        self.draining = True

    def end(self) -> None:
        """Cancel every running request, and refuse new ones."""
        self._ended = True
        self._running.pass_all()


class _Request:
    """A running request: a class, since a generator takes a third more time."""

    __slots__ = ("_bound",)

    def __init__(self, running: DeadlineSweep) -> None:
        self._bound = Bound(running)

    async def __aenter__(self) -> None:
        self._bound.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._bound.__exit__(kind, error, trace)
        except TimeoutError:
            raise _shutdown() from None
        if isinstance(error, TimeoutError) and self._bound.has_passed:
            raise _shutdown() from None


def _shutdown() -> ApiError:
    return unavailable("The server is shutting down. Please try again.", "server_shutdown")
