"""Request bodies that are arriving or wait to be parsed, and the bytes that they take in memory.

When all of them together exceed a bound, the newest body of the client with the most bytes is
refused, and so on until the others fit. So clients that send many large bodies, or send them
slowly, make room themselves, and no client loses a body while another one has more bytes. A fixed
bound per client would also hit proxies, whose clients share an address.

Invariants   I1 bodies exceed the bound by the last part of one of them at most.
Cost         O(1) per part; O(clients) per refusal.
Threads      the event loop only.
Not here     the limit of one body (body_limit); what is left of one that was parsed.
"""

import math
from collections.abc import Callable
from types import TracebackType

from ..concurrency import Bound, DeadlineSweep
from ..errors import ApiError, unavailable


class ArrivingBody:
    """One body, which is held within its context; ``data``: the bytes so far."""

    def __init__(self, bodies: "ArrivingBodies", client: str, timer: Bound) -> None:
        self.client = client
        self.data = bytearray()
        self.is_refused = False
        self._bodies = bodies
        self._timer = timer

    async def __aenter__(self) -> "ArrivingBody":
        self._bodies.hold(self)
        self._timer.__enter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._timer.__exit__(kind, error, trace)
        except TimeoutError:
            if self.is_refused:
                raise self._bodies.refusal() from None
            raise
        finally:
            self._bodies.remove(self)

    def end(self) -> None:
        """Let the body, which is whole, wait as long as it must to be parsed."""
        self._timer.move(math.inf)

    def refuse(self) -> None:
        """Free the bytes, and end the wait for more."""
        self.is_refused = True
        self.data = bytearray()
        self._timer.move(0.0)


class ArrivingBodies:
    """See the file's header. ``on_refused`` is called for each refused body."""

    def __init__(self, max_bytes: int, on_refused: Callable[[], None] = lambda: None) -> None:
        self._max_bytes = max_bytes
        self._on_refused = on_refused
        self._deadlines = DeadlineSweep()
        self._size = 0
        #: of each client: its bytes, and its bodies in the order in which they began
        self._sizes: dict[str, int] = {}
        self._bodies: dict[str, dict[ArrivingBody, None]] = {}

    def body(self, client: str, seconds: float) -> ArrivingBody:
        """Return a new body, to be held within its context.

        Raises:
            ApiError: 503, it was refused.
            TimeoutError: the seconds are over.
        """
        return ArrivingBody(self, client, Bound(self._deadlines, seconds))

    def hold(self, body: ArrivingBody) -> None:
        """Add a body."""
        self._bodies.setdefault(body.client, {})[body] = None

    def add(self, body: ArrivingBody, part: bytes) -> bytearray:
        """Add bytes to a body; return it so far. Raises ApiError 503 if it is refused."""
        if not body.is_refused:
            body.data += part
            self._count(body.client, len(part))
            while self._size > self._max_bytes:
                self._refuse_one()
        if body.is_refused:
            raise self.refusal()
        return body.data

    def _refuse_one(self) -> None:
        client = max(self._sizes, key=self._sizes.__getitem__)
        newest = next(body for body in reversed(self._bodies[client]) if body.data)
        self._count(client, -len(newest.data))
        newest.refuse()
        self._on_refused()

    def remove(self, body: ArrivingBody) -> None:
        """Let a body go."""
        self._count(body.client, -len(body.data))
        del self._bodies[body.client][body]
        if not self._bodies[body.client]:
            del self._bodies[body.client]

    def _count(self, client: str, size: int) -> None:
        self._size += size
        self._sizes[client] = self._sizes.get(client, 0) + size
        if not self._sizes[client]:
            del self._sizes[client]

    def refusal(self) -> ApiError:
        """Return the error of a refused body."""
        return unavailable(
            "Too many request bodies are arriving: together they may have at most "
            f"{self._max_bytes:,} bytes, and this client sends the most.",
            "overloaded",
        )
