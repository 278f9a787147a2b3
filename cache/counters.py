"""Named counters that any thread may raise.

Cost        one lock a call; the stores count batches, not keys, where they can.
Threads     all methods may be called from anywhere.
"""

from threading import Lock


class Counters:
    """A fixed set of names, each with a number that only grows."""

    def __init__(self, *names: str) -> None:
        self._lock = Lock()
        self._counts = dict.fromkeys(names, 0)

    def add(self, **amounts: int) -> None:
        """Raise each named counter. A name that was not declared is a KeyError, so typos show."""
        with self._lock:
            for name, amount in amounts.items():
                self._counts[name] += amount

    def snapshot(self) -> dict[str, int]:
        """All counters at one moment."""
        with self._lock:
            return dict(self._counts)
