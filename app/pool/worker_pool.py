"""The worker pool: several workers of one model as one.

Picking      among the seats of the workers that are healthy, not ejected, not draining and below
             their bound of running generations, the pool's policy decides (policies). If no worker
             is healthy, the least bad one: no request is refused because of an ejection. If all are
             at their bound, the request waits for its turn (slots).
Images       only workers that see images are asked about a prompt with images: others may answer
             as if it had none. So with salts: others may share its keys and values.
Adapters     only workers that have a LoRA adapter are asked for it. One that has lost it refuses,
             which costs no forward pass, and others are asked beyond the retry budget.
Sampling     a request may use the options that every worker supports, so that the picked worker
             does not decide whether it is refused.
Retries      a failure before the first output is retried on the other workers, one after another,
             within the retry budget. A refusal (400) needs a second worker that agrees, beyond the
             budget; a worker that refused what another one accepts has failed. After the first
             output there is no retry: the client has seen text. A fault of this process counts
             against no worker, and is not repeated on another one.
Ejection     see recovery. Health: see health_checks.
Members      may be added and removed at any time (discovery). A removed or draining member gets no
             new generation and finishes its answers; then a removed one is closed.

Invariants   I1 no generation tries a member twice. I2 when ``generate`` returns, the last attempt
             was a complete answer.
Threads      the event loop only.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

from adapters.workers import (
    SAMPLING_OPTIONS,
    Generation,
    Half,
    PromptTooLong,
    Receive,
    Worker,
    WorkerError,
)

from ..concurrency import DeadlineSweep, cancel
from ..observability import Attempt
from .attempts import OVERRUN, AttemptRun, Deadlines, reason_of, verdict
from .discovery import Discovery
from .health_checks import HealthChecks
from .member import Member, Seat
from .policies import LeastLoad, Policy
from .recovery import PROBE, Observer, Recovery
from .retry_budget import RetryBudget
from .slots import Slots

#: returns the receiver of one attempt
Begin = Callable[[AttemptRun], Receive]
#: ok: every worker is available; degraded: some are ejected, unhealthy or draining; unready: no
#: worker that takes requests is healthy
Status = Literal["ok", "degraded", "unready"]

#: workers that must refuse a request before it is refused
OPINIONS = 2
EVERY_OPTION = frozenset(SAMPLING_OPTIONS)


class Pool:
    """See the file's header.

    Args:
        workers: the first members; there may be none if ``discovery`` finds others.
        health_seconds: between two health checks of a worker.
        first_token_seconds: until a worker's first chunk, its queue included, and for the wait
            until a worker is free; None: no limit.
        token_seconds: between two chunks; None: no limit.
        policy: decides between the seats of equally fit workers; default: the least busy one.
        max_running: generations of a worker that run at a time, on all its seats; None: no limit.
        retry_budget: default: see RetryBudget.
        discovery: adds and removes workers while the pool runs.
        observer: receives failures, ejections and removals, and logs.
        probe: default: see Recovery.

    Attributes:
        recovery: counts failures and answers of members.
    """

    #: what takes a generation, in errors
    taker: ClassVar[str] = "worker"

    def __init__(
        self,
        workers: Sequence[Worker],
        *,
        health_seconds: float = 5.0,
        first_token_seconds: float | None = None,
        token_seconds: float | None = None,
        policy: Policy | None = None,
        max_running: int | None = None,
        retry_budget: RetryBudget | None = None,
        discovery: Discovery | None = None,
        observer: Observer | None = None,
        probe: Generation = PROBE,
    ) -> None:
        if not workers and discovery is None:
            raise ValueError("a pool needs at least one worker")
        self.members = [Member(worker) for worker in workers]
        self._deadlines = Deadlines(first_token_seconds, token_seconds)
        self._policy = policy or LeastLoad()
        self._budget = retry_budget or RetryBudget()
        self._discovery = discovery
        self._observer = observer or Observer()
        self._slots = Slots(lambda: self._in_service, max_running)
        changed = self._slots.wake
        self._sweep = DeadlineSweep()
        self.recovery = Recovery(
            lambda: self.members, self._deadlines, self._sweep, self._observer, changed, probe
        )
        self._health = HealthChecks(
            health_seconds, self.recovery, self._observer, self._slots.check
        )
        self._leaving: dict[asyncio.Task[None], Member] = {}

    # -- life --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the workers and the health checks, and find further workers."""
        await asyncio.gather(*(member.worker.start() for member in self.members))
        await self.check()
        for member in self.members:
            self._health.watch(member)
        if self._discovery is not None:
            await self._discovery.start(self, self._observer)

    async def aclose(self) -> None:
        """Stop the checks and probes, then the workers."""
        self.recovery.close()
        if self._discovery is not None:
            await self._discovery.aclose()
        members = [*self.members, *self._leaving.values()]
        await cancel(*self._leaving)
        await cancel(*(task for member in members for task in (member.watch, member.recovery)))
        await asyncio.gather(*(member.worker.aclose() for member in members))

    async def check(self) -> None:
        """Check the health of all workers at once."""
        await self._health.check(self.members)

    # -- members -----------------------------------------------------------------------------------

    async def add(self, worker: Worker) -> Member:
        """Start a worker, check its health and let it join."""
        member = Member(worker)
        try:
            await worker.start()
            await self._health.check([member])
        except BaseException:
            await worker.aclose()
            raise
        self.members = [*self.members, member]
        self._health.watch(member)
        self._slots.wake()
        return member

    def remove(self, member: Member) -> None:
        """Let a worker leave; it finishes its answers and is closed."""
        self.members = [each for each in self.members if each is not member]
        member.is_draining = True
        task = asyncio.create_task(self._retire(member))
        self._leaving[task] = member
        task.add_done_callback(self._leaving.pop)

    async def _retire(self, member: Member) -> None:
        """Close a removed worker after its last answer; if cancelled, ``aclose`` closes it."""
        await cancel(member.watch, member.recovery)
        await member.idle.wait()
        await cancel(member.recovery)  # its last answer may have failed
        await member.worker.aclose()
        if all(each.name != member.name for each in self.members):
            self._observer.on_removal(member.name)

    def drain(self, name: str, *, is_draining: bool) -> list[Member]:
        """Begin or end draining the workers of this name, and return them; none: no such worker."""
        members = [member for member in self.members if member.name == name]
        for member in members:
            if member.is_draining != is_draining:
                member.is_draining = is_draining
                event = "worker draining" if is_draining else "worker no longer draining"
                self._observer.warn(event, name=name, running=member.running)
        self._slots.wake()
        return members

    @property
    def _in_service(self) -> list[Member]:
        return [member for member in self.members if not member.is_draining]

    # -- facts -------------------------------------------------------------------------------------

    @property
    def sides(self) -> tuple[Sequence[Member], ...]:
        """The members by what they do: those of one side can replace each other."""
        return (self.members,)

    def half_of(self, member: Member) -> Half | None:
        """The half of generations that a member runs; None: it runs whole ones."""
        return None

    @property
    def supported_sampling(self) -> frozenset[str]:
        """The SamplingOptions that every worker supports; all while there is no worker."""
        supported = EVERY_OPTION
        for member in self.members:
            supported &= member.worker.supported_sampling
        return supported

    @property
    def max_model_len(self) -> int | None:
        """The longest context of a worker in tokens; None while one is unknown."""
        longest: int | None = None
        for member in self.members:
            length = member.worker.max_model_len
            if length is None:
                return None
            longest = length if longest is None or length > longest else longest
        return longest

    @property
    def sees_images(self) -> bool:
        """Whether a worker sees images, or may see them, as long as none is known: one that is
        down or draining is no client's fault.
        """
        seeing = [member.worker.sees_images for member in self.members]
        return any(each is not False for each in seeing) or not seeing

    def has_adapter(self, name: str) -> bool:
        """Whether a worker is known to have a LoRA adapter; it may be down."""
        return any(member.has_adapter(name) for member in self.members)

    @property
    def adapters(self) -> dict[str, list[Member]]:
        """The LoRA adapters that workers are known to have, in the order of their names."""
        found: dict[str, list[Member]] = {}
        for member in self.members:
            for name in member.worker.adapters:
                found.setdefault(name, []).append(member)
        return dict(sorted(found.items()))

    @property
    def takes_salts(self) -> bool:
        """Whether a worker keeps the KV caches of salts apart, or may do so."""
        return any(member.takes_salts for member in self.members) or not self.members

    @property
    def status(self) -> Status:
        """The status according to the last checks and answers."""
        if not any(member.health.ready for member in self._in_service):
            return "unready"
        return "ok" if all(member.available for member in self.members) else "degraded"

    @property
    def waiting(self) -> int:
        """The number of generations that wait for a free worker."""
        return self._slots.waiting

    # -- generations -------------------------------------------------------------------------------

    async def generate(
        self,
        generation: Generation,
        begin: Begin,
        *,
        on_attempt: Callable[[str], Attempt] = Attempt,
    ) -> None:
        """Pass the chunks of a worker on, and return after the last one that is wanted.

        ``begin`` returns the receiver of one attempt, and can pause it; it is called for every
        attempt. So is ``on_attempt``, with the name of the seat, which begins with the worker's;
        its result receives the outcome.

        Workers whose context has no room for the prompt are not asked.

        Raises:
            PromptTooLong: no worker's context has room.
            WorkerError: a refusal; or 503 when no worker takes requests, none was free in time, or
                every attempt failed before its first chunk was received.
            Exception: what the last attempt raised, if it is a bug of ours or comes mid-answer.
        """
        asked = Asked(generation)
        del generation
        error: Exception | None = None
        # errors hold this frame, and so the images of the prompt
        try:
            while not asked.tried or self._may_retry(asked):
                seat = await self.take(asked)
                if seat is None:
                    break
                if not asked.tried:
                    self._budget.count_request()
                asked.tried.append(seat.member)
                error = None  # its frames would keep the prompt while this worker answers
                error = await self._attempted(seat, asked, begin, on_attempt)
                if error is None:
                    return
                if len(asked.refusals) == OPINIONS:
                    raise error
            if error is None:
                raise self._untaken(asked.generation)
            raise verdict(error, [refusal for _, refusal in asked.refusals])
        finally:
            error = None
            asked.refusals.clear()

    async def _attempted(
        self,
        seat: Seat,
        asked: "Asked",
        begin: Begin,
        on_attempt: Callable[[str], Attempt],
    ) -> Exception | None:
        """Ask a worker whose seat is taken. Return why it gave no answer, if another one may be
        asked; None: the answer is complete. Another failure is raised.
        """
        member, noted = seat.member, on_attempt(seat.name)
        answers = member.answers

        def on_begin() -> None:
            asked.begin()
            member.answering += 1
            self.recovery.contradict(asked.refusals)

        try:
            attempt = AttemptRun(
                member.worker, asked.sent(noted, seat), self._deadlines, self._sweep, on_begin
            )
            await attempt.wait(begin(attempt))
            if attempt.overran:
                self.recovery.failed(member, "overrun", OVERRUN, answers)
            else:
                self.recovery.answered(member)
            noted.error = None
            return None
        except Exception as raised:
            reason = reason_of(raised)
            noted.error = asked.failure = reason or "internal"
            if isinstance(raised, WorkerError) and reason == "refused" and not asked.has_begun:
                asked.refusals.append((member, raised))
            elif reason is not None:
                self.recovery.failed(member, reason, raised, answers)
            if asked.has_begun or reason is None:
                raise
            return raised
        finally:
            member.answering -= asked.has_begun
            self.release(seat)
            noted.end()

    # -- parts of a generation (also used by pools of pairs) ---------------------------------------

    async def take(self, asked: "Asked") -> Seat | None:
        """Return a seat for a generation, which is taken; wait for one if all fit workers are at
        their bound. The caller must ``release`` it. None: no worker takes the generation.

        Raises:
            PromptTooLong: no worker's context has room.
            WorkerError: 503, none was free in time.
        """
        pick = partial(self._pick, asked)
        seat = self._slots.take_free(pick)
        if seat is not None:
            return seat
        if not self.candidates(asked):
            self._check_room(asked)
            return None
        return await self._slots.take(pick, self._deadlines.first_token, asked.generation.lora)

    def release(self, seat: Seat) -> None:
        """Give a seat back that was taken."""
        self._slots.release(seat)

    def candidates(self, asked: "Asked") -> list[Member]:
        """Return the workers that may be asked."""
        got, images = _length(asked.generation), asked.generation.images
        adapter, salt = asked.generation.lora, asked.generation.cache_salt
        return [
            member
            for member in self.members
            if not member.is_draining
            and member not in asked.tried
            and member.has_room(got)
            and member.sees(images)
            and (salt is None or member.takes_salts)
            and member.has_adapter(adapter)
        ]

    def _check_room(self, asked: "Asked") -> None:
        """Raise PromptTooLong if no worker's context has room."""
        got, adapter = _length(asked.generation), asked.generation.lora
        members = [member for member in self.members if member.has_adapter(adapter)]
        if members and not any(member.has_room(got) for member in members):
            raise PromptTooLong(got, max(member.worker.max_model_len or 0 for member in members))

    def _untaken(self, generation: Generation) -> WorkerError:
        """Return the error of a generation that no worker can be asked for."""
        adapter = generation.lora
        if adapter is not None and not self.has_adapter(adapter):
            message = f"no {self.taker} has the adapter {adapter!r}"
            return WorkerError(503, message, reason="adapter")
        what = "images" if generation.images else "requests"
        where = "" if adapter is None else f" for the adapter {adapter!r}"
        return WorkerError(503, f"no {self.taker} takes {what}{where}", reason="unavailable")

    def _may_retry(self, asked: "Asked") -> bool:
        """Return whether another worker is left, and the budget allows to ask it.

        A second opinion on a refusal is free: it costs a worker no forward pass, and clients whose
        requests are refused must not use up the budget. So is one at a worker that has the adapter
        that another one has lost, and one that leads from an ejected worker to one in service
        (retry_budget).
        """
        left = self.candidates(asked)
        if not left:
            return False
        is_free = bool(asked.refusals or asked.failure == "adapter") or (
            not asked.tried[-1].available and any(member.available for member in left)
        )
        is_allowed = is_free or self._budget.spend()
        self._observer.on_retry(is_allowed)
        return is_allowed

    def _pick(self, asked: "Asked") -> Seat | None:
        """Return the seat to ask; None: the fit workers are at their bound."""
        best = math.inf
        free: list[Seat] = []
        for member in self.candidates(asked):
            signals = member.bad_signals
            if signals < best:
                best, free = signals, []
            if signals == best and self._slots.is_free(member):
                free += member.seats
        if not free:
            return None
        if best:
            return min(free, key=lambda seat: (seat.member.badness, seat.running))
        return self._policy.pick(free, asked.generation)


class Asked:
    """A generation until a worker begins to answer: then it goes, and with it the prompt, which may
    have megabytes. ``tried``: the members that were asked; ``refusals``: of some of them;
    ``failure``: of the last one.
    """

    def __init__(self, generation: Generation) -> None:
        self.tried: list[Member] = []
        self.refusals: list[tuple[Member, WorkerError]] = []
        self.failure: str | None = None
        self._waiting: Generation | None = generation

    @property
    def has_begun(self) -> bool:
        return self._waiting is None

    @property
    def generation(self) -> Generation:
        assert self._waiting is not None, "no other worker is asked once one has begun"
        return self._waiting

    def sent(self, attempt: Attempt, seat: Seat) -> Generation:
        """Return the generation as an attempt at it sends it."""
        trace, rank = attempt.traceparent, seat.rank
        if trace is None and rank is None:
            return self.generation
        return replace(self.generation, traceparent=trace, rank=rank)

    def begin(self) -> None:
        self._waiting = None


def _length(generation: Generation) -> int:
    """Return the prompt's tokens, one for each image; 0: text, whose tokens are unknown."""
    return 0 if isinstance(generation.prompt, str) else len(generation.prompt)
