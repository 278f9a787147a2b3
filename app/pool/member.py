"""A member of a pool: one worker with a circuit breaker and its seats, without I/O.

States       closed: takes requests. open: ejected, a backoff runs. half-open: one probe runs.

                 closed    -- failure in AT_ONCE, or EJECT_AFTER failures in a row --> open
                 closed    -- a failure, and it is an outlier (outliers) ---------> open
                 open      -- the backoff is over -------------------------------> half-open
                 half-open -- the probe fails: the backoff doubles --------------> open
                 half-open -- the probe succeeds --------------------------------> closed
                 any       -- a request's answer is complete --------------------> closed

Seats        where its generations run: one, or one for each of its data-parallel ranks, which are
             schedulers with a KV cache each behind one address. A policy picks among the seats of
             all workers, so that a conversation meets the rank that has its prompt.

Invariants   I1 closing the circuit does not reset the record: only a complete answer resets
                failures and backoff, so a worker that passes every probe and fails every request is
                ejected at its next failure, for longer each time.
             I2 ``running`` is the number of its open generations.
             I3 a draining worker gets no request, whatever its state.
             I4 it has at least one seat. An only one names no rank: the worker chooses. Generations
                of a rank that has gone end on a seat that is no candidate any more.
Not here     which seat gets a generation (policies), probes and timers (recovery), health checks
             (health_checks), retries (worker_pool).
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Literal

from adapters.workers import FailureReason, Health, PromptImage, Worker

from .outliers import Outcomes

CircuitState = Literal["closed", "open", "half-open"]
#: a worker's state for operators, the first that applies
Service = Literal["draining", "unready", "ejected", "available"]

#: failures in a row that eject: one request that breaks every worker must not eject a busy one
EJECT_AFTER = 3
#: failures that a request cannot cause. One of them ejects, because each costs a request seconds.
#: It does not if the worker answered another request meanwhile: then it is only busy
AT_ONCE: frozenset[FailureReason] = frozenset({"connection", "timeout"})
#: seconds until the first probe; doubles with every further ejection
BACKOFF_S = 1.0
#: maximal seconds between two probes. With PROBE_S of recovery, a recovered worker is readmitted
#: within ten seconds; a probe costs a worker one token
BACKOFF_MAX_S = 5.0
#: the random part of a backoff, so that gateways do not probe in step
JITTER = 0.5


class Member:
    """See the file's header.

    Attributes:
        watch: the task of its health checks.
        recovery: the task that probes it while it is ejected.
        takes_salts: whether prompts with different salts share no keys and values.
        answering: its open generations that have begun to answer, also at the other half of a pair.
        idle: set while no generation runs.
    """

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.health = Health(True)  # until a check says otherwise
        self.seats: tuple[Seat, ...] = (Seat(self),)
        self.state: CircuitState = "closed"
        self.is_draining = False
        self.takes_salts = True
        self.running = self.answering = 0
        self.answers = 0
        self.failures = 0
        self.ejections = 0
        self.outcomes = Outcomes()
        self.watch: asyncio.Task[None] | None = None
        self.recovery: asyncio.Task[None] | None = None
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def name(self) -> str:
        return self.worker.name

    @property
    def available(self) -> bool:
        return self.health.ready and self.state == "closed" and not self.is_draining

    @property
    def service(self) -> Service:
        if self.is_draining:
            return "draining"
        if not self.health.ready:
            return "unready"
        return "available" if self.state == "closed" else "ejected"

    @property
    def bad_signals(self) -> int:
        """The order of picking, smallest first: signs that a request would fail.

        On probation, until its first complete answer, a worker gets one request at a time.
        """
        is_taken = self.ejections > 0 and self.running > 0
        return (not self.health.ready) + (self.state != "closed" or is_taken)

    @property
    def badness(self) -> tuple[int, int]:
        """The order among workers with bad signals: failures if ejected, load."""
        return self.failures if self.state != "closed" else 0, self.running

    def has_room(self, tokens: int) -> bool:
        """Whether its context has room for an answer to a prompt of this length."""
        length = self.worker.max_model_len
        return length is None or tokens < length

    def sees(self, images: Sequence[PromptImage]) -> bool:
        """Whether its model sees the images of a prompt."""
        return not images or self.worker.sees_images is True

    def check(self, health: Health) -> None:
        """Take what a check found."""
        self.health = health
        if health.salts is not None:
            self.takes_salts = health.salts
        if health.ranks is not None and health.ranks != len(self.seats):
            self._set_ranks(health.ranks)

    def _set_ranks(self, ranks: int) -> None:
        """Have a seat for each rank; those of the same ranks stay."""
        if ranks == 1:
            self.seats = (Seat(self),)
            return
        kept = self.seats[:ranks] if len(self.seats) > 1 else ()
        self.seats = (*kept, *(Seat(self, rank) for rank in range(len(kept), ranks)))

    def has_adapter(self, name: str | None) -> bool:
        """Whether it is known to have a LoRA adapter; each has the model itself (None)."""
        return name is None or name in self.worker.adapters

    def take(self) -> None:
        """Count a generation that begins at one of its seats."""
        self.running += 1
        self.idle.clear()

    def release(self) -> None:
        """Count a generation that ends."""
        self.running -= 1
        if not self.running:
            self.idle.set()

    def is_full(self, reason: FailureReason) -> bool:
        """Whether a failure only means that its queue is full. A worker that answers no request
        meanwhile has failed: it would get all requests, since none runs there for long.
        """
        return reason == "full" and self.answering > 0

    def fail(self, reason: FailureReason, answers: int) -> bool:
        """Count a failure of an attempt that began after ``answers`` answers.

        Returns:
            Whether the worker must be ejected now.
        """
        self.failures += 1
        self.outcomes.failures.add()
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
        self.outcomes.answers.add()
        self.state = "closed"
        self.failures = self.ejections = 0


class Seat:
    """A worker, or one of its ranks. ``rank``: None for an only seat. ``running``: the open
    generations that went to it.
    """

    __slots__ = ("member", "name", "rank", "running")

    def __init__(self, member: Member, rank: int | None = None) -> None:
        self.member = member
        self.name = member.name if rank is None else f"{member.name}#{rank}"
        self.rank = rank
        self.running = 0

    def take(self) -> None:
        """Count a generation that begins."""
        self.running += 1
        self.member.take()

    def release(self) -> None:
        """Count a generation that ends."""
        self.running -= 1
        self.member.release()
