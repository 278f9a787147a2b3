"""When to leave a failing server alone, and when to knock again.

Closed, everything goes through. The first failure opens it for ``first_s``; each knock that fails
doubles the wait, up to ``most_s``; one that succeeds closes it. Time is used here and nowhere near
the engine: a cache that is left alone costs speed, never an answer.

Threads     all methods may be called from anywhere; reading ``is_open`` takes no lock.
Not here    the knocking itself (write_behind's thread does it, so that no request pays for it).
"""

from collections.abc import Callable
from threading import Lock
from time import monotonic


class Breaker:
    """Open means: don't try. ``wait_s`` tells when a knock is due."""

    def __init__(
        self, *, first_s: float, most_s: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._first_s = first_s
        self._most_s = most_s
        self._clock = clock
        self._lock = Lock()
        self._wait = 0.0
        self._until = 0.0
        self.is_open = False
        self.times_opened = 0

    def failed(self) -> bool:
        """Count a failure; True if it opened the breaker. An open one ignores late failures."""
        with self._lock:
            now = self._clock()
            if self.is_open and now < self._until:
                return False
            opened = not self.is_open
            self._wait = self._first_s if opened else min(2 * self._wait, self._most_s)
            self._until = now + self._wait
            self.is_open = True
            self.times_opened += opened
            return opened

    def knocked(self) -> None:
        """A knock was answered: close."""
        with self._lock:
            self.is_open = False

    def wait_s(self) -> float | None:
        """Seconds until the next knock is due (0 if it is), or None while closed."""
        with self._lock:
            return max(0.0, self._until - self._clock()) if self.is_open else None
