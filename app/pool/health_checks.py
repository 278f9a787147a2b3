"""Health checks: one loop per worker, so that a hung worker delays no other.

Invariants   I1 a check that raises, or takes longer than HEALTH_DEADLINE_S, is a failed check.
             I2 a change is logged once.
             I3 checks begin ``seconds`` apart, however long one takes: a worker that recovers
                during a hung check is checked again at once.
Threads      the event loop only.
"""

import asyncio
from collections.abc import Callable, Iterable

from adapters.workers import Health

from .member import Member
from .recovery import Observer, Recovery

#: seconds of one health check
HEALTH_DEADLINE_S = 5.0


class HealthChecks:
    """See the file's header. ``on_check``: called after each check, which may have found an adapter
    or a rank as well as another readiness.
    """

    def __init__(
        self,
        seconds: float,
        recovery: Recovery,
        observer: Observer,
        on_check: Callable[[], None],
    ) -> None:
        self._seconds = seconds
        self._recovery = recovery
        self._observer = observer
        self._on_check = on_check

    def watch(self, member: Member) -> None:
        """Check the worker from now on; its task is ``member.watch``."""
        member.watch = asyncio.create_task(self._watch(member))

    async def check(self, members: Iterable[Member]) -> None:
        """Check the workers at once."""
        await asyncio.gather(*(self._check(member) for member in members))

    async def _watch(self, member: Member) -> None:
        clock = asyncio.get_running_loop().time
        pause = self._seconds
        while True:
            await asyncio.sleep(pause)
            begun = clock()
            await self._check(member)
            pause = max(0.0, begun + self._seconds - clock())

    async def _check(self, member: Member) -> None:
        try:
            async with asyncio.timeout(HEALTH_DEADLINE_S):
                health = await member.worker.health()
        except TimeoutError:
            health = Health(False, f"no answer to the health check within {HEALTH_DEADLINE_S} s")
        except Exception as error:
            health = Health(False, f"{type(error).__name__}: {error}")
        before = member.health
        member.check(health)
        if (before.ready, before.reason) != (health.ready, health.reason):
            self._changed(member, health)
        self._on_check()

    def _changed(self, member: Member, health: Health) -> None:
        """Log the change, and probe a worker that is ready again."""
        event = "worker ready" if health.ready else "worker unready"
        self._observer.warn(event, name=member.name, reason=health.reason)
        if health.ready and member.recovery is not None:  # back from the dead: probe it soon
            member.ejections = 0
            self._recovery.keep_out(member)
