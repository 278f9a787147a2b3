"""Outliers: workers that fail far more often than their peers, although not several times in a row.

A worker that fails every fourth request rarely reaches EJECT_AFTER failures in a row. Its peers
show whether the requests are at fault: if all workers fail alike, none is an outlier.

Source   Envoy's outlier detection. Its bound, a multiple of the standard deviation of success
         rates, needs five workers; a margin below the peers' rate works with two.
"""

import time
from collections.abc import Sequence

from .window import Clock, WindowCounter

#: seconds of answers and failures that count
WINDOW_S = 30.0
#: attempts that a worker, and its peers together, need before they are compared
MIN_ATTEMPTS = 30
#: how far a success rate must be below that of the peers. Of 30 attempts with 5 % failures, 8 or
#: more fail, which would pass the margin, in one of 7,000 windows
MARGIN = 0.2
#: share of the pool that may be ejected when an outlier is: the others must bear its load
MAX_EJECTED = 0.5


class Outcomes:
    """Answers and failures of one worker in the last WINDOW_S seconds."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self.answers = WindowCounter(WINDOW_S, clock)
        self.failures = WindowCounter(WINDOW_S, clock)


def is_outlier(worker: Outcomes, peers: Sequence[Outcomes]) -> bool:
    """Return whether the worker's success rate is well below that of its peers together."""
    rate, peer_rate = _success_rate([worker]), _success_rate(peers)
    return rate is not None and peer_rate is not None and rate < peer_rate - MARGIN


def may_eject(ejected: int, workers: int) -> bool:
    """Return whether one more of the workers may be ejected as an outlier."""
    return ejected + 1 <= MAX_EJECTED * workers


def _success_rate(outcomes: Sequence[Outcomes]) -> float | None:
    """Return the rate of success; None: too few attempts."""
    answers = sum(each.answers.total for each in outcomes)
    attempts = answers + sum(each.failures.total for each in outcomes)
    return answers / attempts if attempts >= MIN_ATTEMPTS else None
