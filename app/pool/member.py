"""A member of a pool: one worker with a circuit breaker, without I/O.

States       closed: takes requests. open: ejected, a backoff runs. half-open: one probe runs.

                 closed    -- failure in AT_ONCE, or EJECT_AFTER failures in a row --> open
                 open      -- the backoff is over -------------------------------> half-open
                 half-open -- the probe fails: the backoff doubles --------------> open
                 half-open -- the probe succeeds --------------------------------> closed
                 any       -- a request's answer is complete --------------------> closed

Invariants   I1 closing the circuit does not reset the record: only a complete answer resets
                failures and backoff, so a worker that passes every probe and fails every request is
                ejected at its next failure, for longer each time.
             I2 ``running`` is the number of its open generations.
Not here     probes, timers, health checks, retries (worker_pool).
"""

import asyncio
import random
from typing import Literal

from adapters.workers import FailureReason, Health, Worker

State = Literal["closed", "open", "half-open"]

#: failures in a row that eject: one request that breaks every worker must not eject a busy one
EJECT_AFTER = 3
#: failures that a request cannot cause. One of them ejects, because each costs a request seconds.
#: It does not if the worker answered another request meanwhile: then it is only busy
AT_ONCE: frozenset[FailureReason] = frozenset({"connection", "timeout"})
#: seconds until the first probe; doubles with every further ejection
BACKOFF_S = 1.0
#: maximal seconds between two probes: how long a recovered worker may stay ejected
BACKOFF_MAX_S = 30.0
#: the random part of a backoff, so that gateways do not probe in step
JITTER = 0.5


class Member:
    """See the file's header. ``recovery``: the pool's task that probes the ejected worker."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.health = Health(True)  # until a check says otherwise
        self.state: State = "closed"
        self.running = 0
        self.answers = 0
        self.failures = 0
        self.ejections = 0
        self.recovery: asyncio.Task[None] | None = None

    @property
    def available(self) -> bool:
        return self.health.ready and self.state == "closed"

    @property
    def rank(self) -> tuple[int, int, int]:
        """The order of picking, smallest first: bad signals, failures if ejected, load.

        On probation, until its first complete answer, a worker gets one request at a time.
        """
        is_open = self.state != "closed"
        is_taken = self.ejections > 0 and self.running > 0
        signals = (not self.health.ready) + (is_open or is_taken)
        return signals, self.failures if is_open else 0, self.running

    def fail(self, reason: FailureReason, answers: int) -> bool:
        """Count a failure of an attempt that began after ``answers`` answers.

        Returns:
            Whether the worker must be ejected now.
        """
        self.failures += 1
        at_once = reason in AT_ONCE and self.answers == answers
        ripe = at_once or self.failures >= EJECT_AFTER
        return ripe and self.state == "closed"

    def open(self) -> float:
        """Eject the worker; return the seconds until its next probe."""
        self.state = "open"
        longest = min(BACKOFF_MAX_S, BACKOFF_S * 2.0 ** min(self.ejections, 16))
        self.ejections += 1
        return longest * (1 - JITTER * random.random())

    def close(self) -> None:
        """Readmit the worker on probation."""
        self.state = "closed"

    def answer(self) -> None:
        """Count a complete answer: close the circuit and reset the record."""
        self.answers += 1
        self.state = "closed"
        self.failures = self.ejections = 0
