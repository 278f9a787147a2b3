"""Failures of workers and their consequences: ejection, probes, readmission.

Every failure counts (member), and so does a success rate below that of the peers (outliers). An
ejected worker is probed with a generation of one token, so that no request pays for the attempt; a
health check alone does not prove that it answers.

Threads    the event loop only.
Not here   picking, retries (worker_pool), health checks (health_checks).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.workers import FailureReason, Generation, WorkerError

from ..concurrency import DeadlineSweep
from ..observability import Logger
from .attempts import AttemptRun, Deadlines, reason_of
from .member import Member
from .outliers import is_outlier, may_eject

#: the generation that an ejected worker must answer to be readmitted
PROBE = Generation(rid="probe", prompt="Hello", spec=None, max_tokens=1, temperature=0.0)
#: maximal seconds of a probe. A hung worker would otherwise hold it for the whole deadline of a
#: first token, and the worker would stay ejected as long after it is well
PROBE_S = 4.0


@dataclass(frozen=True, slots=True)
class Observer:
    """Receives the events of a pool.

    ``on_failure``: a worker's name and the reason of each failure. ``on_ejection``: the name of
    each ejected worker. ``on_removal``: the name of each worker that has left the pool.
    ``on_retry``: whether the budget allowed a retry.
    """

    on_failure: Callable[[str, FailureReason], None] = lambda name, reason: None
    on_ejection: Callable[[str], None] = lambda name: None
    on_removal: Callable[[str], None] = lambda name: None
    on_retry: Callable[[bool], None] = lambda is_allowed: None
    logger: Logger | None = None

    def warn(self, event: str, **facts: Any) -> None:
        if self.logger is not None:
            self.logger.warning(event, **facts)

    def inform(self, event: str, **facts: Any) -> None:
        if self.logger is not None:
            self.logger.info(event, **facts)


class Recovery:
    """See the file's header.

    Args:
        members: returns the members of the pool.
        on_change: called when a worker has become available.
        probe: the generation that an ejected worker must answer.
    """

    def __init__(
        self,
        members: Callable[[], Sequence[Member]],
        deadlines: Deadlines,
        sweep: DeadlineSweep,
        observer: Observer,
        on_change: Callable[[], None],
        probe: Generation = PROBE,
    ) -> None:
        self._members = members
        self._generation = probe
        first = PROBE_S if deadlines.first_token is None else min(PROBE_S, deadlines.first_token)
        self._deadlines = replace(deadlines, first_token=first)
        self._sweep = sweep
        self._observer = observer
        self._on_change = on_change
        self._is_closed = False

    def close(self) -> None:
        """Start no more probes."""
        self._is_closed = True

    def failed(self, member: Member, reason: FailureReason, error: Exception, answers: int) -> None:
        """Log, count and judge a failure. A refusal's message may repeat what a client wrote."""
        self._observer.on_failure(member.name, reason)
        if member.is_full(reason):
            return
        facts: dict[str, Any] = {"name": member.name, "kind": reason}
        if isinstance(error, WorkerError) and reason != "refused":
            facts["reason"] = error.message
        self._observer.warn("attempt failed", **facts)
        if reason == "adapter":
            return  # it is not asked for it until a check finds it, and serves all else as before
        is_ripe = member.fail(reason, answers)
        if (is_ripe or self._is_outlier(member)) and not self._is_closed:
            self._eject(member)

    def contradict(self, refusals: list[tuple[Member, WorkerError]]) -> None:
        """Count refusals as failures: another worker accepted the request."""
        for member, error in refusals:
            self.failed(member, "refused", error, member.answers)
        refusals.clear()

    def answered(self, member: Member) -> None:
        """Count a complete answer, which readmits the worker."""
        if member.recovery is not None:
            member.recovery.cancel()
            self._readmitted(member)
        member.answer()

    def keep_out(self, member: Member) -> None:
        """Open the circuit, and start probing."""
        if member.recovery is not None:
            member.recovery.cancel()
        member.recovery = asyncio.create_task(self._recover(member, member.open()))

    def _is_outlier(self, member: Member) -> bool:
        members = self._members()
        ejected = sum(each.state != "closed" for each in members)
        peers = [each.outcomes for each in members if each is not member]
        return (
            member.state == "closed"
            and may_eject(ejected, len(members))
            and is_outlier(member.outcomes, peers)
        )

    def _eject(self, member: Member) -> None:
        self._observer.on_ejection(member.name)
        self._observer.warn("worker ejected", name=member.name, failures=member.failures)
        self.keep_out(member)

    async def _recover(self, member: Member, delay: float) -> None:
        """Probe an ejected worker until it answers."""
        await asyncio.sleep(delay)
        member.state = "half-open"
        while not (member.health.ready and await self._probe(member)):
            await asyncio.sleep(member.open())
            member.state = "half-open"
        member.close()
        self._readmitted(member)

    async def _probe(self, member: Member) -> bool:
        try:
            probe = AttemptRun(member.worker, self._generation, self._deadlines, self._sweep)
            await probe.wait(lambda chunk: True)
        except Exception as error:
            self._observer.on_failure(member.name, reason_of(error) or "internal")
            return False
        return True

    def _readmitted(self, member: Member) -> None:
        member.recovery = None
        self._observer.warn("worker readmitted", name=member.name)
        self._on_change()
