"""Several workers of one model, as one.

A request goes to the worker with the fewest running generations among those that are healthy, or
among all when none is: what health checks know is some seconds old. A worker that fails before its
first chunk, with an error that says another may do better, is taken for sick until its next check,
and another one is tried. After the first chunk there is no second try: the client has seen text.

Invariants   I1 ``running`` of a member is the number of its open generations. I2 no generation
             tries a member twice.
Threads      the event loop only.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from adapters.workers import Chunk, Generation, Health, Worker, WorkerError

_UNKNOWN = Health(True, "not asked yet")


class Member:
    """A worker with what the pool knows about it."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.running = 0
        self.health = _UNKNOWN


class Pool:
    """See the file's header. ``on_failure`` is told the name of a worker that failed."""

    def __init__(
        self,
        workers: Sequence[Worker],
        *,
        health_seconds: float = 5.0,
        on_failure: Callable[[str], None] = lambda name: None,
    ) -> None:
        if not workers:
            raise ValueError("a pool needs at least one worker")
        self.members = [Member(worker) for worker in workers]
        self._health_seconds = health_seconds
        self._on_failure = on_failure
        self._checks: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts the workers and the health checks."""
        await asyncio.gather(*(member.worker.start() for member in self.members))
        await self.check()
        self._checks = asyncio.create_task(self._check_for_ever())

    async def aclose(self) -> None:
        """Stops the checks, then the workers."""
        if self._checks is not None:
            self._checks.cancel()
            await asyncio.wait({self._checks})
        await asyncio.gather(*(member.worker.aclose() for member in self.members))

    async def check(self) -> None:
        """Asks every worker how it is."""
        answers = await asyncio.gather(*(member.worker.health() for member in self.members))
        for member, health in zip(self.members, answers, strict=True):
            member.health = health

    async def _check_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._health_seconds)
            await self.check()

    @property
    def ready(self) -> bool:
        return any(member.health.ready for member in self.members)

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Raises WorkerError: the last worker's, when none could start."""
        tried: list[Member] = []
        while True:
            member = self._pick(tried)
            tried.append(member)
            started = False
            member.running += 1
            try:
                async with aclosing(member.worker.generate(generation)) as chunks:
                    async for chunk in chunks:
                        started = True
                        yield chunk
                return
            except WorkerError as error:
                if error.status >= 500:
                    self._on_failure(member.worker.name)
                if started or not error.retryable:
                    raise
                member.health = Health(False, error.message)
                if len(tried) == len(self.members):
                    raise
            finally:
                member.running -= 1

    def _pick(self, tried: Sequence[Member]) -> Member:
        left = [member for member in self.members if member not in tried]
        healthy = [member for member in left if member.health.ready]
        return min(healthy or left, key=lambda member: member.running)
