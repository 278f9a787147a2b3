"""The retry budget: retries are a share of recent requests, so that they cannot flood a bad pool.

If every worker of a pool fails, retrying each request on each worker multiplies the load by the
number of workers, when they can bear it least. So the retries of the last WINDOW_S seconds are at
most ``share`` times the requests of that time plus ``floor`` per second. Without the floor a quiet
gateway could retry nothing.

A pool does not spend the budget on a retry that leads from an ejected worker to one in service:
such a request loads one working worker, like any other. So the budget never limits the retries that
one bad worker of several causes after its ejection.

Source   Finagle's RetryBudget, with its defaults: 20 %, 10 per second, 10 seconds.
"""

import time

from .window import Clock, WindowCounter

#: seconds over which requests and retries are counted
WINDOW_S = 10.0
#: retries per request, and retries per second in any case
SHARE, FLOOR = 0.2, 10.0


class RetryBudget:
    """See the file's header."""

    def __init__(
        self, share: float = SHARE, floor: float = FLOOR, clock: Clock = time.monotonic
    ) -> None:
        self._share = share
        self._floor = floor * WINDOW_S
        self._requests = WindowCounter(WINDOW_S, clock)
        self._retries = WindowCounter(WINDOW_S, clock)

    def count_request(self) -> None:
        self._requests.add()

    def spend(self) -> bool:
        """Count a retry and return True, if the budget allows it."""
        if self._retries.total + 1 > self._share * self._requests.total + self._floor:
            return False
        self._retries.add()
        return True
