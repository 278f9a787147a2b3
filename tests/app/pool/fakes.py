"""Workers that follow a script, and pools that keep what happens to them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from adapters.workers import Chunk, FailureReason, Generation, Health, WorkerError
from app.pool.recovery import PROBE, Observer
from app.pool.worker_pool import Pool
from tests.generating import Generating
from tests.pulling import pulled_from

DONE = Chunk((1,), "stop")
#: a step of a script: a chunk, an error to raise, an event to wait for, or None to wait for ever
Step = Chunk | Exception | asyncio.Event | None


class Fake(Generating):
    """A worker that follows a script."""

    description = "fake"
    model = "m"
    max_model_len: int | None = None
    sees_images: bool | None = False

    def __init__(
        self, name: str, *script: Step, health: Any = True, sampling: Sequence[str] = ()
    ) -> None:
        self.supported_sampling = frozenset(sampling)
        self.name = name
        self.script = script
        self.state = health
        #: of the next health check
        self.ranks: int | None = None
        self.salts: bool | None = None
        #: of each generation that was sent, but for probes
        self.sent_ranks: list[int | None] = []
        self.calls = self.probes = self.open = self.checks = 0
        self.asked: list[Generation] = []
        self.started = self.closed = False

    async def start(self) -> None:
        self.started = True

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        if generation.rid == PROBE.rid:
            self.probes += 1
        else:
            self.calls += 1
            self.sent_ranks.append(generation.rank)
        self.asked.append(generation)
        self.open += 1
        try:
            for step in self.script:
                if step is None:
                    await asyncio.Event().wait()
                elif isinstance(step, Exception):
                    raise step
                elif isinstance(step, asyncio.Event):
                    await step.wait()
                else:
                    yield step
        finally:
            self.open -= 1

    async def health(self) -> Health:
        self.checks += 1
        if self.state is None:
            await asyncio.Event().wait()
        if isinstance(self.state, Exception):
            raise self.state
        return Health(self.state, "" if self.state else "sick", ranks=self.ranks, salts=self.salts)

    async def aclose(self) -> None:
        self.closed = True


class Log:
    """Collects what the pool logs."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def warning(self, event: str, **facts: Any) -> None:
        self.events.append(event)

    info = warning


class First:
    """A policy that takes the first candidate, so that a test knows which worker is asked."""

    def pick(self, candidates: Sequence[Any], generation: Generation) -> Any:
        return candidates[0]


class Counted:
    """A pool whose failures, ejections, removals and retries are kept."""

    def __init__(self, *workers: Fake, **options: Any) -> None:
        self.failures: list[tuple[str, FailureReason]] = []
        self.ejections: list[str] = []
        self.removals: list[str] = []
        self.retries: list[bool] = []
        self.log = Log()
        self.observer = Observer(
            on_failure=lambda name, reason: self.failures.append((name, reason)),
            on_ejection=self.ejections.append,
            on_removal=self.removals.append,
            on_retry=self.retries.append,
            logger=self.log,  # type: ignore[arg-type]
        )
        self.pool = self._made(workers, options)

    def _made(self, workers: Sequence[Fake], options: dict[str, Any]) -> Pool:
        return Pool(workers, observer=self.observer, **options)


@asynccontextmanager
async def counted(*workers: Fake, **options: Any) -> AsyncIterator[Counted]:
    made = Counted(*workers, **options)
    yield made
    await made.pool.aclose()


def generation() -> Generation:
    return Generation(rid="r", prompt="p", spec=None, max_tokens=1)


def chunks_of(pool: Pool) -> AsyncGenerator[Chunk, None]:
    return pulled_from(pool, generation())


async def run(pool: Pool) -> list[Chunk]:
    return [chunk async for chunk in chunks_of(pool)]


REFUSED = WorkerError(400, "no")
GONE = WorkerError(503, "gone", reason="unavailable")
BROKEN = WorkerError(502, "broken", reason="protocol")
NO_CONNECTION = WorkerError(502, "refused", reason="connection")
