"""Admission: a ticket for each request, from its headers to its last byte.

    ticket = Ticket(admission, client, record, headers)
    await ticket.charge(size)            before the body is read: refusals that need no body
    ticket.count_off(media)              when it has been read
    await ticket.enter(...)              waits in the queue
    ticket.close()                       frees the streams, settles the record's tokens

Invariants       I1 every refusal is an ApiError before the first byte: 429 for a limit of the key,
                    503 for the capacity of this process.
                 I2 a ticket frees its streams once, in ``close``, which may be repeated and is
                    called on every way out. Cancelling ``enter`` leaves the queue at once.
                 I3 a refusal that needs no body costs no more than a look at counters.
Threads          the event loop only.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final, Literal

from ..access import PRIORITIES, Client
from ..concurrency import FairQueue, Job
from ..errors import RETRY_AFTER, ApiError, bad_request
from ..observability import Metrics, RequestRecord
from .rate_limits import Levels, Limiter, LimitName, is_limited, limit_headers, wait_ms

#: bytes of a request's body per token, for the estimate before the prompt is read
BYTES_PER_TOKEN: Final = 4

#: why a request was refused; a label of metrics, so the set is closed
Reason = Literal[
    "queue_full",
    "queue_timeout",
    "key_max_running",
    "requests_per_minute",
    "tokens_per_minute",
    "limits_unavailable",
]


class Admission:
    """The admission control of one app. ``queue_seconds``: maximum time in the queue."""

    def __init__(
        self, queue: FairQueue, limiter: Limiter, metrics: Metrics, *, queue_seconds: float
    ) -> None:
        self._queue = queue
        self._limiter = limiter
        self._metrics = metrics
        self._queue_seconds = queue_seconds
        self._turns: dict[Job, asyncio.Future[None]] = {}
        self._settling: set[asyncio.Task[None]] = set()

    def stats(self) -> dict[str, int]:
        """Return running streams and waiting requests."""
        return {"running": self._queue.running, "waiting": self._queue.waiting}

    async def aclose(self) -> None:
        """Settle what was not settled yet, and close the limiter."""
        if self._settling:
            await asyncio.wait(self._settling)
        await self._limiter.aclose()

    # -- limits ------------------------------------------------------------------------------------
    async def charge(self, client: Client, tokens: int) -> Levels | None:
        """Take a request and tokens of the client's limits; None: it has none. Raises ApiError."""
        priority, bound = PRIORITIES.index(client.priority), client.max_running
        if self._queue.would_refuse(client.id, priority, bound):
            raise self._refusal(client, 1, "queue_full")
        if not is_limited(client):
            return None
        try:
            return await self._limiter.charge(client, tokens)
        except ApiError:
            self._count("limits_unavailable")
            raise

    def over_limit(self, client: Client, levels: Levels, kind: LimitName, tokens: int) -> ApiError:
        """Return the 429 of a limit per minute."""
        self._count("requests_per_minute" if kind == "requests" else "tokens_per_minute")
        limit = client.requests_per_minute if kind == "requests" else client.tokens_per_minute
        wait = wait_ms(client, levels, tokens)
        return ApiError(
            429,
            f"Rate limit reached on {kind} per minute: limit {limit:,}. "
            f"Please try again in {wait / 1000:g}s.",
            code="rate_limit_exceeded",
            headers={"Retry-After": str(-(-wait // 1000)), "retry-after-ms": str(wait)},
        )

    def settle(self, client: Client, tokens: int) -> None:
        """Take more tokens, or give some back, in the background."""
        task = asyncio.get_running_loop().create_task(self._limiter.settle(client, tokens))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    # -- the queue ---------------------------------------------------------------------------------
    async def enter(self, job: Job, client: Client) -> None:
        """Run the job, or wait for its turn. Raises ApiError."""
        most = self._queue.most_streams(job.model, job.client_bound)
        if job.streams > most:
            raise bad_request(
                f"Invalid 'n': this API key may have at most {most:,} choices at once, got "
                f"{job.streams:,}.",
                "n",
                "integer_above_max_value",
            )
        start = time.monotonic()
        evicted, started = self._queue.submit(job)
        self._wake(started)
        if evicted is job:
            raise self._refusal(client, job.streams, "queue_full")
        if evicted is not None and (turn := self._turns.get(evicted)) and not turn.done():
            turn.set_exception(_Evicted())
        if job.state == "waiting":
            await self._wait(job, client)
        self._metrics.queue_seconds.observe(time.monotonic() - start)

    def leave(self, job: Job) -> None:
        """Free the streams of a job, or end its waiting."""
        self._wake(self._queue.remove(job))

    async def _wait(self, job: Job, client: Client) -> None:
        turn = self._turns[job] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self._queue_seconds):
                await turn
        except _Evicted:
            raise self._refusal(client, job.streams, "queue_full") from None
        except TimeoutError:
            # the turn may come in the same moment as the deadline
            if job.state != "running":
                self.leave(job)
                raise self._refusal(client, job.streams, "queue_timeout") from None
        except BaseException:
            self.leave(job)
            raise
        finally:
            del self._turns[job]
            if turn.done() and not turn.cancelled():
                turn.exception()

    def _wake(self, started: list[Job]) -> None:
        for job in started:
            turn = self._turns.get(job)
            if turn is not None and not turn.done():
                turn.set_result(None)

    def _refusal(
        self, client: Client, streams: int, reason: Literal["queue_full", "queue_timeout"]
    ) -> ApiError:
        """Return the error of a request without a place: 429 if its own key has no stream left."""
        headers = {"Retry-After": str(RETRY_AFTER)}
        bound = client.max_running
        if bound is not None and self._queue.running_of(client.id) + streams > bound:
            self._count("key_max_running")
            return ApiError(
                429,
                f"Too many requests at once with this API key: at most {bound:,} answers may run. "
                "Please try again later.",
                code="rate_limit_exceeded",
                headers=headers,
            )
        self._count(reason)
        return ApiError(
            503,
            "The server is overloaded. Please try again later.",
            code="overloaded",
            headers=headers,
        )

    def _count(self, reason: Reason) -> None:
        self._metrics.admission_refused.labels(reason).inc()


class _Evicted(Exception):
    """A waiting job gave way to that of a client with fewer waiting jobs."""


@dataclass(eq=False, slots=True)
class Ticket:
    """See the file's header. ``headers`` get those of the client's limits."""

    _admission: Admission
    client: Client
    record: RequestRecord
    headers: dict[str, str] = field(default_factory=dict)
    _job: Job | None = None
    #: tokens taken in advance; tokens of the prompt, if it ran and no worker reports them
    _charged: int | None = None
    _estimate: int = 0
    #: bytes of the body that are media
    _media: int = 0

    async def charge(self, size: int) -> None:
        """Count the request; ``size``: bytes of its body, 0 if not known. Raises ApiError."""
        tokens = -(-size // BYTES_PER_TOKEN)
        levels = await self._admission.charge(self.client, tokens)
        if levels is None:
            return
        self.headers.update(limit_headers(self.client, levels))
        if levels.refused is not None:
            raise self._admission.over_limit(self.client, levels, levels.refused, tokens)
        self._charged = tokens

    def count_off(self, media: int) -> None:
        """Give back the tokens of ``media`` bytes of the body: they are no text."""
        self._media = media
        if media and self._charged is not None:
            given = min(media // BYTES_PER_TOKEN, self._charged)
            self._charged -= given
            self._admission.settle(self.client, -given)

    async def enter(self, model: str, streams: int, size: int = 0) -> None:
        """Wait until the request may run; ``size``: bytes of its body. Raises ApiError."""
        client = self.client
        priority = PRIORITIES.index(client.priority)
        self._job = Job(client.id, model, streams, priority, client.max_running)
        record = self.record
        record.phase, record.queued_at = "queued", time.perf_counter()
        await self._admission.enter(self._job, client)
        record.queue_s = time.perf_counter() - record.queued_at
        # counts also if the client leaves before the first token
        self._estimate = -(-(size - self._media) // BYTES_PER_TOKEN)

    def close(self) -> None:
        """Free the streams and settle the tokens."""
        if self._job is not None:
            self._admission.leave(self._job)
            self._job = None
        charged, self._charged = self._charged, None
        if charged is not None and self.client.tokens_per_minute is not None:
            prompt = self.record.prompt_tokens or self._estimate
            used = prompt + self.record.completion_tokens
            if used != charged:
                self._admission.settle(self.client, used - charged)
