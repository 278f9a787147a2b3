"""One attempt of a generation at one worker: its deadlines, and the meaning of its failure.

Invariant   an attempt that ends without an error was a complete answer: its last chunk has a finish
            reason, or its receiver wanted no more.
Not here    a second attempt (worker_pool), the consequences for the worker (recovery).
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adapters.text_path import TextPath
from adapters.workers import (
    Chunk,
    FailureReason,
    Generation,
    Receive,
    Run,
    TextRun,
    Worker,
    WorkerError,
)
from engine import ParseDivergence

from ..concurrency import Bound, DeadlineSweep


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds until a worker's first chunk, its queue included, and between two; None: no limit."""

    first_token: float | None = None
    token: float | None = None


#: what a worker did that sent tokens beyond the end of its answer
OVERRUN = WorkerError(502, "tokens beyond the limit or a stop token", reason="overrun")


class TokenDeadline(Bound):
    """The deadline of the next token, or of the first one. ``seconds``: between two; a ``path``
    takes tokens without moving it.
    """

    __slots__ = ("path", "seconds")

    def __init__(self, sweep: DeadlineSweep, seconds: float | None) -> None:
        super().__init__(sweep)
        self.path: TextPath | None = None
        self.seconds = math.inf if seconds is None else seconds

    def due(self) -> float:
        if self.path is None:
            return self.at
        silent = time.perf_counter() - self.path.last_at
        return max(self.at, asyncio.get_running_loop().time() + self.seconds - silent)


class AttemptRun:
    """A generation at one worker.

    ``on_begin``: called after the first chunk that its receiver took. ``has_begun``: there was one.
    ``text_path``: for a run that can use one; set it before ``wait``.
    ``overran``: the worker went on beyond the end of its answer.
    """

    def __init__(
        self,
        worker: Worker,
        generation: Generation,
        deadlines: Deadlines,
        sweep: DeadlineSweep,
        on_begin: Callable[[], None] = lambda: None,
    ) -> None:
        self.has_begun = self.overran = False
        self.text_path: TextPath | None = None
        self._worker = worker
        self._generation = generation
        self._run: Run | None = None
        self._deadlines = deadlines
        self._sweep = sweep
        self._on_begin = on_begin
        self._receive: Receive = _take_all
        self._is_complete = False
        self._is_paused = False
        self._time = asyncio.get_running_loop().time
        self._deadline = TokenDeadline(sweep, deadlines.token)

    async def wait(self, receive: Receive) -> None:
        """Pass the worker's chunks on, each within its deadline, until the last one, or until the
        receiver wants no more. Raises WorkerError, and what the receiver raised.
        """
        self._receive = receive
        self._run = self._worker.run(self._generation, self._take)
        del self._generation  # the run knows how long it needs the prompt
        if self.text_path is not None and isinstance(self._run, TextRun):
            self._run.text_path = self._deadline.path = self.text_path
        if self._is_paused:
            self._run.pause()
        self._set_deadline()
        try:
            with self._deadline:
                await self._run.wait()
        except TimeoutError as error:
            if not self._deadline.has_passed:
                raise
            what, seconds = "first token", self._deadlines.first_token
            if self.has_begun:
                what, seconds = "next token", self._deadlines.token
            message = f"no {what} within {seconds} s"
            raise WorkerError(504, message, reason="timeout") from error
        finally:
            # else these and the attempt would hold each other, and the images of the prompt
            self._run = None
            self._receive = _take_all
        if not self._is_complete:
            message = "the worker's stream ended without a finish reason"
            raise WorkerError(502, message, reason="truncated")

    def pause(self) -> None:
        """Ask the worker for no chunks; meanwhile no deadline passes."""
        self._is_paused = True
        if self._run is not None:
            self._run.pause()
            self._set_deadline()

    def resume(self) -> None:
        self._is_paused = False
        if self._run is not None:
            self._set_deadline()
            self._run.resume()

    def interrupt(self) -> None:
        """End ``wait`` as if a deadline had passed: another part of the generation has failed."""
        self._deadline.end()

    def _take(self, chunk: Chunk) -> bool:
        if self._deadline.has_passed and not self.has_begun:
            return False  # another worker may be asked: the client must not see this one's text
        finish = chunk.finish_reason
        if finish in ("abort", "error"):
            message = f"the worker ended the answer early ({finish})"
            raise WorkerError(502, message, reason="aborted")
        if chunk.overran:
            self.overran = True
        wants_more = self._receive(chunk)
        if not self.has_begun:
            self.has_begun = True
            self._on_begin()
        self._is_complete = not wants_more or finish is not None
        self._set_deadline()
        return not self._is_complete

    def _set_deadline(self) -> None:
        seconds = self._deadlines.token if self.has_begun else self._deadlines.first_token
        is_off = seconds is None or self._is_paused or self._is_complete
        left = math.inf if is_off or seconds is None else seconds
        self._sweep.move(self._deadline, self._time() + left)


def _take_all(chunk: Chunk) -> bool:
    return True


def reason_of(error: Exception) -> FailureReason | None:
    """Return why the worker failed; None: the fault is ours, or the request's.

    Only a WorkerError describes the worker, and output that does not fit its grammar. Any other
    exception comes from this process while it reads the answer, and would come from every worker.
    """
    match error:
        case WorkerError():
            return None if error.reason == "internal" else error.reason
        case ParseDivergence():
            return "diverged"
    return None


def verdict(error: Exception, refusals: Sequence[WorkerError]) -> Exception:
    """Return the error of a request that no worker accepted; ``error``: of the last attempt."""
    if refusals:
        return refusals[0]
    if isinstance(error, WorkerError):
        message = f"no worker took the request; the last one: {error.message}"
        return WorkerError(503, message, reason=error.reason)
    return error
