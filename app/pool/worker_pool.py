"""The worker pool: several workers of one model as one.

Picking      the worker with the fewest running generations among those that are healthy and not
             ejected. If there is none, the least bad one: no request is refused because of an
             ejection.
Sampling     a request may use the options that every worker supports, so that the picked worker
             does not decide whether it is refused.
Retries      a failure before the first output is retried on every other worker. A refusal (400)
             needs a second worker that agrees; a worker that refused what another one accepts has
             failed. After the first output there is no retry: the client has seen text.
Ejection     every failure counts (member). An ejected worker is probed with a generation of one
             token, so that no request pays for the attempt; a health check alone does not prove
             that it answers.
Health       each worker has its own loop and deadline: a hung one delays no other. A check that
             raises is a failed check.

Invariants   I1 no generation tries a member twice. I2 what ``generate`` yields to its end is a
             complete answer: its last chunk has a finish reason.
Threads      the event loop only.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Literal, TypeVar

from adapters.workers import (
    Chunk,
    FailureReason,
    Generation,
    Health,
    PromptTooLong,
    Worker,
    WorkerError,
)
from engine import EngineError, ParseDivergence

from ..observability.logs import Logger
from .member import Member

Item = TypeVar("Item")
#: ok: every worker is available; degraded: some are ejected or unhealthy; unready: none is healthy
Status = Literal["ok", "degraded", "unready"]

#: seconds of one health check
HEALTH_DEADLINE_S = 5.0
#: workers that must refuse a request before it is refused
OPINIONS = 2
#: the generation that an ejected worker must answer to be readmitted
PROBE = Generation(rid="probe", prompt="Hello", spec=None, max_tokens=1, temperature=0.0)


class Pool:
    """See the file's header.

    Args:
        health_seconds: between two health checks of a worker.
        first_token_seconds: until a worker's first chunk, its queue included; None: no limit.
        token_seconds: between two chunks; None: no limit.
        on_failure: called with the worker's name and the reason of each failure.
        on_ejection: called with the name of each ejected worker.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        *,
        health_seconds: float = 5.0,
        first_token_seconds: float | None = None,
        token_seconds: float | None = None,
        on_failure: Callable[[str, FailureReason], None] = lambda name, reason: None,
        on_ejection: Callable[[str], None] = lambda name: None,
        logger: Logger | None = None,
    ) -> None:
        if not workers:
            raise ValueError("a pool needs at least one worker")
        self.members = [Member(worker) for worker in workers]
        self._health_seconds = health_seconds
        self._first_token_seconds = first_token_seconds
        self._token_seconds = token_seconds
        self._on_failure = on_failure
        self._on_ejection = on_ejection
        self._logger = logger
        self._watches: list[asyncio.Task[None]] = []
        self._is_closed = False

    async def start(self) -> None:
        """Start the workers and the health checks."""
        await asyncio.gather(*(member.worker.start() for member in self.members))
        await self.check()
        self._watches = [asyncio.create_task(self._watch(member)) for member in self.members]

    async def aclose(self) -> None:
        """Stop the checks and probes, then the workers."""
        self._is_closed = True
        recoveries = [member.recovery for member in self.members if member.recovery is not None]
        tasks = [*self._watches, *recoveries]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await asyncio.gather(*(member.worker.aclose() for member in self.members))

    @property
    def supported_sampling(self) -> frozenset[str]:
        """The SamplingOptions that every worker supports."""
        return frozenset.intersection(
            *(member.worker.supported_sampling for member in self.members)
        )

    @property
    def max_model_len(self) -> int | None:
        """The longest context of a worker in tokens; None while one is unknown."""
        lengths = [member.worker.max_model_len for member in self.members]
        return None if None in lengths else max(length for length in lengths if length is not None)

    @property
    def status(self) -> Status:
        """The status according to the last checks and answers."""
        if not any(member.health.ready for member in self.members):
            return "unready"
        return "ok" if all(member.available for member in self.members) else "degraded"

    # -- generations -------------------------------------------------------------------------------

    async def generate(
        self,
        generation: Generation,
        read: Callable[[AsyncGenerator[Chunk, None]], AsyncGenerator[Item, None]],
    ) -> AsyncGenerator[Item, None]:
        """Yield the items that ``read`` makes of a worker's chunks; it is called for every attempt.

        Workers whose context has no room for the prompt are not asked.

        Raises:
            PromptTooLong: no worker's context has room.
            WorkerError: a refusal; or 503 when every worker failed before its first item.
            Exception: what the last attempt raised, if it is a bug of ours or comes mid-answer.
        """
        tried: list[Member] = []
        refusals: list[tuple[Member, WorkerError]] = []
        last: Exception | None = None
        members = self._with_room(generation)
        while len(tried) < len(members):
            member = self._pick(members, tried)
            tried.append(member)
            begun = False
            member.running += 1
            answers = member.answers
            try:
                async with aclosing(read(self._chunks(member, generation))) as items:
                    async for item in items:
                        if not begun:
                            begun = True
                            self._contradict(refusals)
                        yield item
                self._answered(member)
                return
            except Exception as error:
                reason = reason_of(error)
                if isinstance(error, WorkerError) and reason == "refused" and not begun:
                    refusals.append((member, error))
                elif reason is not None:
                    self._failed(member, reason, error, answers)
                if begun or reason is None or len(refusals) == OPINIONS:
                    raise
                last = error
            finally:
                member.running -= 1
        assert last is not None
        raise _verdict(last, refusals)

    async def _chunks(self, member: Member, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Yield the worker's chunks, each within its deadline, the last with a finish reason."""
        seconds, what = self._first_token_seconds, "first token"
        async with aclosing(member.worker.generate(generation)) as chunks:
            while True:
                try:
                    async with asyncio.timeout(seconds):
                        chunk = await anext(chunks)
                except StopAsyncIteration:
                    message = "the worker's stream ended without a finish reason"
                    raise WorkerError(502, message, reason="truncated") from None
                except TimeoutError as error:
                    message = f"no {what} within {seconds} s"
                    raise WorkerError(504, message, reason="timeout") from error
                if chunk.finish_reason in ("abort", "error"):
                    message = f"the worker ended the answer early ({chunk.finish_reason})"
                    raise WorkerError(502, message, reason="aborted")
                yield chunk
                if chunk.finish_reason is not None:
                    return
                seconds, what = self._token_seconds, "next token"

    def _with_room(self, generation: Generation) -> list[Member]:
        if isinstance(generation.prompt, str):
            return self.members
        got, most = len(generation.prompt), 0
        members = []
        for member in self.members:
            length = member.worker.max_model_len
            most = max(most, length or 0)
            if length is None or got < length:
                members.append(member)
        if not members:
            raise PromptTooLong(got, most)
        return members

    def _pick(self, members: Sequence[Member], tried: Sequence[Member]) -> Member:
        left = (member for member in members if member not in tried)
        return min(left, key=lambda member: member.rank)

    # -- failures ----------------------------------------------------------------------------------

    def _failed(
        self, member: Member, reason: FailureReason, error: Exception, answers: int
    ) -> None:
        """Log, count and judge a failure. A refusal's message may repeat what a client wrote."""
        name = member.worker.name
        self._on_failure(name, reason)
        facts: dict[str, Any] = {"name": name, "kind": reason}
        if reason == "internal":
            facts["exc_info"] = error
        elif isinstance(error, WorkerError) and reason != "refused":
            facts["reason"] = error.message
        self._log("attempt failed", **facts)
        if member.fail(reason, answers) and not self._is_closed:
            self._eject(member)

    def _contradict(self, refusals: list[tuple[Member, WorkerError]]) -> None:
        """Count refusals as failures: another worker accepted the request."""
        for member, error in refusals:
            self._failed(member, "refused", error, member.answers)
        refusals.clear()

    def _answered(self, member: Member) -> None:
        if member.recovery is not None:
            member.recovery.cancel()
            self._readmitted(member)
        member.answer()

    def _eject(self, member: Member) -> None:
        self._on_ejection(member.worker.name)
        self._log("worker ejected", name=member.worker.name, failures=member.failures)
        self._keep_out(member)

    def _keep_out(self, member: Member) -> None:
        """Open the circuit, and start probing."""
        if member.recovery is not None:
            member.recovery.cancel()
        member.recovery = asyncio.create_task(self._recover(member, member.open()))

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
            async with aclosing(self._chunks(member, PROBE)) as chunks:
                async for _ in chunks:
                    pass
        except Exception as error:
            self._on_failure(member.worker.name, reason_of(error) or "internal")
            return False
        return True

    def _readmitted(self, member: Member) -> None:
        member.recovery = None
        self._log("worker readmitted", name=member.worker.name)

    # -- health ------------------------------------------------------------------------------------

    async def check(self) -> None:
        """Check the health of all workers at once."""
        await asyncio.gather(*(self._check(member) for member in self.members))

    async def _watch(self, member: Member) -> None:
        while True:
            await asyncio.sleep(self._health_seconds)
            await self._check(member)

    async def _check(self, member: Member) -> None:
        try:
            async with asyncio.timeout(HEALTH_DEADLINE_S):
                health = await member.worker.health()
        except TimeoutError:
            health = Health(False, f"no answer to the health check within {HEALTH_DEADLINE_S} s")
        except Exception as error:
            health = Health(False, f"{type(error).__name__}: {error}")
        before, member.health = member.health, health
        if (before.ready, before.reason) == (health.ready, health.reason):
            return
        event = "worker ready" if health.ready else "worker unready"
        self._log(event, name=member.worker.name, reason=health.reason)
        if health.ready and member.recovery is not None:  # back from the dead: probe it soon
            member.ejections = 0
            self._keep_out(member)

    def _log(self, event: str, **facts: Any) -> None:
        if self._logger is not None:
            self._logger.warning(event, **facts)


def reason_of(error: Exception) -> FailureReason | None:
    """Return the reason of a failed attempt; None: not the worker's fault."""
    match error:
        case WorkerError():
            return error.reason
        case ParseDivergence():
            return "diverged"
        case EngineError():
            return None
    return "internal"


def _verdict(error: Exception, refusals: Sequence[tuple[Member, WorkerError]]) -> Exception:
    """Return the error of a request that no worker accepted."""
    if refusals:
        return refusals[0][1]
    if isinstance(error, WorkerError) and error.reason != "internal":
        message = f"no worker took the request; the last one: {error.message}"
        return WorkerError(503, message, reason=error.reason)
    return error
