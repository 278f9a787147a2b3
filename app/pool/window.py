"""A counter of events in the last seconds.

Representation   SLICES counts, each of an equal part of the window; a slice that has passed is
                 emptied when the counter is next used.
Cost             O(1) per event, whatever the rate; the total lags by at most one slice.
"""

import time
from collections.abc import Callable

#: slices of a window: the total changes in steps of a tenth
SLICES = 10

Clock = Callable[[], float]


class WindowCounter:
    """Counts the events of the last ``seconds``. ``clock``: for tests."""

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self._slice_s = seconds / SLICES
        self._clock = clock
        self._counts = [0] * SLICES
        self._now = self._slice()

    def add(self) -> None:
        """Count one event."""
        self._pass()
        self._counts[self._now % SLICES] += 1

    @property
    def total(self) -> int:
        self._pass()
        return sum(self._counts)

    def _slice(self) -> int:
        return int(self._clock() / self._slice_s)

    def _pass(self) -> None:
        """Empty the slices that have begun since the last use."""
        now = self._slice()
        if now == self._now:
            return
        for number in range(max(self._now, now - SLICES) + 1, now + 1):
            self._counts[number % SLICES] = 0
        self._now = now
