"""One attempt of a generation at one worker: its deadlines, and the meaning of its failure.

Invariant   an ``attempt`` that ends without an error was a complete answer: its last chunk has a
            finish reason.
Not here    a second attempt (worker_pool), the consequences for the worker (recovery).
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from adapters.workers import Chunk, FailureReason, Generation, Worker, WorkerError
from engine import ParseDivergence


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds until a worker's first chunk, its queue included, and between two; None: no limit."""

    first_token: float | None = None
    token: float | None = None


#: what a worker did that sent tokens beyond the end of its answer
OVERRUN = WorkerError(502, "tokens beyond the limit or a stop token", reason="overrun")


async def attempt(
    worker: Worker,
    generation: Generation,
    deadlines: Deadlines,
    on_overrun: Callable[[], None] = lambda: None,
) -> AsyncGenerator[Chunk, None]:
    """Yield the worker's chunks, each within its deadline, the last with a finish reason.

    ``on_overrun`` is called before the last chunk of a worker that went on beyond it.
    """
    seconds, what = deadlines.first_token, "first token"
    async with aclosing(worker.generate(generation)) as chunks:
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
            if chunk.overran:
                on_overrun()
            yield chunk
            if chunk.finish_reason is not None:
                return
            seconds, what = deadlines.token, "next token"


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
