"""A pool of pairs: prefill workers fill the KV cache, decode workers go on from there.

    a generation, with a room of its own, goes to both at the same time:
      a prefill worker    sends the prompt's keys and values and the first token to the decode
                          worker; its own answer is read and dropped
      a decode worker     its stream is the answer

Sides        the members of this pool are the decode side. The prefill side is a pool of its own,
             with its policy, slots, health checks and ejection. A slot of the decode side is taken
             first, as the server itself reserves memory there before the prefill begins.
One half     that fails before the first token ends the other one, which is aborted at its server.
             After the first token, only the decode half matters; the prefill half is still read to
             its end, since it holds a slot, and its failure counts.
Blame        a failure counts against the half that reports it. Neither half can tell why it waits
             in vain (``SHARED``): that counts against both. A worker that answered others meanwhile
             is not ejected by it (member), and a probe concerns one half alone, so it readmits the
             half that was not to blame. The answer of a prefill worker counts once the decode
             worker has begun.
Retries      as in Pool, at other workers of the side to blame. After a failure of both, a side that
             has no other worker is asked again, with a new one of the other side.

Invariants   I1 a generation asks a worker that it has blamed once more at most.
             I2 when ``generate`` returns or raises, the decode half has ended, and the prefill half
                has ended, is cancelled, or has the keys and values behind it.
             I3 a slot of the prefill side is free again when its half has ended, however it ends.
Threads      the event loop only.
Not here     how servers meet and what they send each other (SGLang).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import randrange
from typing import Any

from adapters.workers import (
    ALONE,
    Bootstrap,
    Chunk,
    FailureReason,
    Generation,
    Half,
    Worker,
    WorkerError,
)

from ..concurrency import cancel
from ..observability import Attempt
from .attempts import OVERRUN, AttemptRun, reason_of, verdict
from .member import Member, Seat
from .recovery import PROBE
from .worker_pool import OPINIONS, Asked, Begin, Pool, Status

#: failures that either half may cause
SHARED: frozenset[FailureReason] = frozenset({"timeout", "transfer"})
#: rooms are below this; 0 means none to SGLang
ROOMS = 1 << 63
#: what an ejected worker of either side must answer, alone
HALF_PROBE = replace(PROBE, bootstrap=ALONE)

#: returns where a prefill worker and a decode worker meet, in a room
Meet = Callable[[Worker, int], Bootstrap]


class PairedPool(Pool):
    """See the file's header.

    Args:
        workers: those that decode.
        prefill: the pool of those that fill the KV cache.
        meet: returns where decode workers meet one of these.
        options: of Pool.
    """

    taker = "pair of workers"

    def __init__(
        self, workers: Sequence[Worker], *, prefill: Pool, meet: Meet, **options: Any
    ) -> None:
        super().__init__(workers, **options)
        self.prefill = prefill
        self._meet = meet
        self._halves: set[asyncio.Task[None]] = set()

    # -- life --------------------------------------------------------------------------------------

    async def start(self) -> None:
        await asyncio.gather(super().start(), self.prefill.start())

    async def aclose(self) -> None:
        await cancel(*self._halves)
        await asyncio.gather(super().aclose(), self.prefill.aclose())

    async def check(self) -> None:
        await asyncio.gather(super().check(), self.prefill.check())

    def drain(self, name: str, *, is_draining: bool) -> list[Member]:
        """See Pool; a worker of either side."""
        return [
            *super().drain(name, is_draining=is_draining),
            *self.prefill.drain(name, is_draining=is_draining),
        ]

    # -- facts -------------------------------------------------------------------------------------

    @property
    def sides(self) -> tuple[Sequence[Member], ...]:
        """Those that decode, and those that fill the KV cache."""
        return self.members, self.prefill.members

    def half_of(self, member: Member) -> Half | None:
        return "prefill" if member in self.prefill.members else "decode"

    @property
    def supported_sampling(self) -> frozenset[str]:
        return super().supported_sampling & self.prefill.supported_sampling

    @property
    def max_model_len(self) -> int | None:
        """The longest context that both sides have; None while one is unknown."""
        lengths = super().max_model_len, self.prefill.max_model_len
        return None if None in lengths else min(filter(None, lengths))

    @property
    def sees_images(self) -> bool:
        return super().sees_images and self.prefill.sees_images

    def has_adapter(self, name: str) -> bool:
        return super().has_adapter(name) and self.prefill.has_adapter(name)

    @property
    def adapters(self) -> dict[str, list[Member]]:
        """Those that workers of both sides have."""
        decode, prefill = super().adapters, self.prefill.adapters
        return {name: decode[name] + prefill[name] for name in decode if name in prefill}

    @property
    def takes_salts(self) -> bool:
        return super().takes_salts and self.prefill.takes_salts

    @property
    def status(self) -> Status:
        both = {super().status, self.prefill.status}
        return next(each for each in ("unready", "degraded", "ok") if each in both)

    @property
    def waiting(self) -> int:
        return super().waiting + self.prefill.waiting

    # -- generations -------------------------------------------------------------------------------

    async def generate(
        self,
        generation: Generation,
        begin: Begin,
        *,
        on_attempt: Callable[[str], Attempt] = Attempt,
    ) -> None:
        """See Pool. ``on_attempt`` is called for both halves, the decode half first."""
        asked = _AskedPairs(_Side(self, generation), _Side(self.prefill, generation))
        del generation
        error: Exception | None = None
        # errors hold this frame, and so the images of the prompt
        try:
            while error is None or self._may_ask_others(asked):
                pair = await self._taken_pair(asked)
                if pair is None:
                    break
                if error is None:
                    self._budget.count_request()
                error = None  # its frames would keep the prompt while this pair answers
                error = await self._answered_by(pair, asked, begin, on_attempt)
                if error is None:
                    return
                if len(asked.refusals) >= OPINIONS:
                    raise error
            if error is None:
                raise self._untaken(asked.generation)
            raise verdict(error, asked.refusals)
        finally:
            error = None
            asked.forget()

    async def _taken_pair(self, asked: "_AskedPairs") -> "_Pair | None":
        """Return a worker of each side, whose slots are taken; None: a side has none."""
        decode = await self.take(asked.decode.asked)
        if decode is None:
            return None
        prefill: Seat | None = None
        try:
            prefill = await self.prefill.take(asked.prefill.asked)
        finally:
            if prefill is None:
                self.release(decode)
        return None if prefill is None else _Pair(decode, prefill)

    def _may_ask_others(self, asked: "_AskedPairs") -> bool:
        """Return whether another pair is left, and the budget allows to ask it (Pool)."""
        if not any(side.left for side in asked.sides):
            return False
        if not all(side.left or side.asks_again() for side in asked.sides):
            return False
        is_free = (
            bool(asked.refusals)
            or asked.failure == "adapter"
            or (
                not any(member.available for member in asked.blamed)
                and all(any(each.available for each in side.left) for side in asked.sides)
            )
        )
        is_allowed = is_free or self._budget.spend()
        self._observer.on_retry(is_allowed)
        return is_allowed

    async def _answered_by(
        self,
        pair: "_Pair",
        asked: "_AskedPairs",
        begin: Begin,
        on_attempt: Callable[[str], Attempt],
    ) -> Exception | None:
        """Ask a pair whose slots are taken. Return why it gave no answer, if another one may be
        asked; None: the answer is complete. Another failure is raised.
        """
        noted = on_attempt(pair.decode_seat.name)
        half = _Half(on_attempt(pair.prefill_seat.name))
        where = self._meet(pair.prefill.worker, randrange(1, ROOMS))

        def on_begin() -> None:
            asked.begin()
            for member in (pair.decode, pair.prefill):
                member.answering += 1
            if half.is_filled:
                self.prefill.recovery.answered(pair.prefill)

        attempt = AttemptRun(
            pair.decode.worker, asked.at(where, noted), self._deadlines, self._sweep, on_begin
        )
        task = self._begin_half(pair, half, asked.first_token(where, half.noted), attempt)
        is_complete = False
        try:
            await attempt.wait(begin(attempt))
            is_complete, noted.error = True, None
            if not task.done():  # it has sent what this answer needed
                half.noted.error = None
            if attempt.overran:
                self.recovery.failed(pair.decode, "overrun", OVERRUN, pair.decode_answers)
            else:
                self.recovery.answered(pair.decode)
            return None
        except Exception as raised:
            error = asked.judged(pair, half, raised)
            noted.error = "cancelled" if error is half.error else reason_of(error) or "internal"
            try:
                if asked.has_begun or reason_of(error) is None:
                    raise error
                return error
            finally:
                del error  # its traceback refers to this frame
        finally:
            if not is_complete:
                task.cancel()
            half.error = None  # its traceback refers to frames that hold the prompt
            for member in (pair.decode, pair.prefill):
                member.answering -= attempt.has_begun
            self.release(pair.decode_seat)
            noted.end()

    def _begin_half(
        self, pair: "_Pair", half: "_Half", generation: Generation, decode: AttemptRun
    ) -> "asyncio.Task[None]":
        """Return the task of a prefill half; its slot is free when the task has ended."""
        run = AttemptRun(pair.prefill.worker, generation, self._deadlines, self._sweep)
        task = asyncio.create_task(self._fill(pair, half, run, decode))
        self._halves.add(task)

        def ended(task: "asyncio.Task[None]") -> None:
            self._halves.discard(task)
            self.prefill.release(pair.prefill_seat)
            half.noted.end()

        task.add_done_callback(ended)  # a task that is cancelled before it begins runs no code
        return task

    async def _fill(
        self, pair: "_Pair", half: "_Half", run: AttemptRun, decode: AttemptRun
    ) -> None:
        """Read the answer of a prefill worker, which ends once the decode worker has all."""
        recovery = self.prefill.recovery
        try:
            await run.wait(_take_all)
            half.noted.error = None
            if run.overran:
                recovery.failed(pair.prefill, "overrun", OVERRUN, pair.prefill_answers)
            elif decode.has_begun:
                recovery.answered(pair.prefill)
            else:
                half.is_filled = True
        except Exception as raised:
            reason = reason_of(raised)
            half.noted.error = reason or "internal"
            if not decode.has_begun:
                half.error = raised
                decode.interrupt()
            elif reason is not None:
                recovery.failed(pair.prefill, reason, raised, pair.prefill_answers)
            else:
                event = "the answer of a prefill worker could not be read"
                self._observer.warn(event, name=pair.prefill.name, exc_info=raised)


class _Pair:
    """A seat of each side, both taken, their workers, and the workers' answers before this attempt.
    Workers of halves have one seat.
    """

    def __init__(self, decode: Seat, prefill: Seat) -> None:
        self.decode_seat, self.prefill_seat = decode, prefill
        self.decode, self.prefill = decode.member, prefill.member
        self.decode_answers, self.prefill_answers = self.decode.answers, self.prefill.answers


class _Half:
    """The prefill half of an attempt. ``is_filled``: it has ended well before the first token;
    ``error``: why it failed before that.
    """

    def __init__(self, noted: Attempt) -> None:
        self.noted = noted
        self.is_filled = False
        self.error: Exception | None = None


class _Side:
    """One side of a generation: its workers that were asked. ``doubtful``: those among them that
    may not be to blame.
    """

    def __init__(self, pool: Pool, generation: Generation) -> None:
        self.pool = pool
        self.asked = Asked(generation)
        self._doubtful: list[Member] = []
        self._asked_again: list[Member] = []

    @property
    def left(self) -> list[Member]:
        """The workers that may be asked."""
        return self.pool.candidates(self.asked)

    def asks_again(self) -> bool:
        """Let doubtful workers be asked once more; return whether there is one."""
        for member in self._doubtful:
            self.asked.tried.remove(member)
        self._asked_again += self._doubtful
        self._doubtful.clear()
        return bool(self.left)

    def blame(self, member: Member, error: Exception, answers: int, *, in_doubt: bool) -> None:
        """Count a failure, and ask the worker no more; if ``in_doubt``, not before all others."""
        reason = reason_of(error)
        if isinstance(error, WorkerError) and reason == "refused" and not self.asked.has_begun:
            self.asked.refusals.append((member, error))
        elif reason is not None:
            self.pool.recovery.failed(member, reason, error, answers)
        self.asked.tried.append(member)
        if in_doubt and member not in self._asked_again:
            self._doubtful.append(member)

    def begin(self) -> None:
        """Count a pair's first token: it has accepted the generation."""
        self.asked.begin()
        self.pool.recovery.contradict(self.asked.refusals)


class _AskedPairs:
    """A generation until a pair begins to answer. ``failure``: the last one; ``blamed``: for it."""

    def __init__(self, decode: _Side, prefill: _Side) -> None:
        self.decode, self.prefill = decode, prefill
        self.sides = decode, prefill
        self.blamed: list[Member] = []
        self.failure: FailureReason | None = None

    @property
    def has_begun(self) -> bool:
        return self.decode.asked.has_begun

    @property
    def generation(self) -> Generation:
        return self.decode.asked.generation

    @property
    def refusals(self) -> list[WorkerError]:
        return [error for side in self.sides for _, error in side.asked.refusals]

    def at(self, where: Bootstrap, noted: Attempt) -> Generation:
        """Return the generation as an attempt at it sends it to a decode worker."""
        generation = self.decode.asked.generation
        return replace(generation, traceparent=noted.traceparent, bootstrap=where)

    def first_token(self, where: Bootstrap, noted: Attempt) -> Generation:
        """Return it as the attempt sends it to a prefill worker, which makes one token."""
        return replace(self.at(where, noted), max_tokens=1)

    def begin(self) -> None:
        for side in self.sides:
            side.begin()

    def forget(self) -> None:
        """Drop the refusals, whose frames hold the prompt."""
        for side in self.sides:
            side.asked.refusals.clear()

    def judged(self, pair: _Pair, half: _Half, raised: Exception) -> Exception:
        """Count the failure of an attempt, of which ``raised`` ended the decode half, and return
        the error.
        """
        at_decode = (self.decode, pair.decode, pair.decode_answers)
        at_prefill = (self.prefill, pair.prefill, pair.prefill_answers)
        reported: list[tuple[tuple[_Side, Member, int], Exception]] = []
        if half.error is not None:
            reported.append((at_prefill, half.error))
        if half.error is None or reason_of(raised) != "timeout":  # else it was interrupted
            reported.append((at_decode, raised))
        clear = [each for each in reported if reason_of(each[1]) not in SHARED]
        in_doubt = not clear and not self.has_begun
        error = (clear or reported)[0][1]
        to_blame = (
            [(at, error) for at in (at_prefill, at_decode)] if in_doubt else clear or reported
        )
        self.blamed, self.failure = [member for (_, member, _), _ in to_blame], reason_of(error)
        for (side, member, answers), each in to_blame:
            side.blame(member, each, answers, in_doubt=in_doubt)
        return error


def _take_all(chunk: Chunk) -> bool:
    return True
