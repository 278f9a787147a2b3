"""Requests and tokens per minute of a client, as token buckets.

A bucket holds a minute's allowance, begins full and refills evenly. A request takes 1 from the
bucket of requests, and an estimate from that of tokens; when it has ended, the difference to its
true tokens is settled, which may leave the bucket in debt. So a client exceeds its tokens by no
more than its running answers write, and later requests wait until that is repaid. Within any minute
a client that was silent before may use its full bucket and the refill: twice the limit at most.

Representation   MemoryLimiter counts in this process, RedisLimiter (redis_limiter) for all
                 gateways. Both compute the same.
Cost             O(1) time; memory per client with a bucket that is not full.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Final, Literal, Protocol

from ..access import Client

MINUTE_MS: Final = 60_000
#: clients after which the memory limiter drops full buckets
SWEEP_AT: Final = 1_024

#: tokens that a bucket may owe: more than running answers can write. Without a bound, a value that
#: does not come from here could lock a client out for ever
MAX_DEBT: Final = 1_000_000_000

LimitName = Literal["requests", "tokens"]


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a client's buckets, negative in debt; ``refused``: the one with too little."""

    requests: float
    tokens: float
    refused: LimitName | None = None


class Limiter(Protocol):
    """Counts requests and tokens."""

    async def charge(self, client: Client, tokens: int) -> Levels:
        """Take one request and the tokens, or nothing if a bucket has too little.

        Raises:
            ApiError: 503, the counts cannot be reached, and the gateway is to refuse then.
        """
        ...

    async def settle(self, client: Client, tokens: int) -> None:
        """Take more tokens, or give some back if negative. Never raises."""
        ...

    async def aclose(self) -> None: ...


def is_limited(client: Client) -> bool:
    return client.requests_per_minute is not None or client.tokens_per_minute is not None


def needed(limit: int | None, tokens: int) -> float:
    """Return the tokens that a bucket must hold: a request larger than the bucket needs all of it,
    or it could never run.
    """
    return min(tokens, limit or 0)


class MemoryLimiter:
    """Counts in this process. ``clock``: seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # id -> levels of requests and tokens (None: no limit), and when they were true
        self._buckets: dict[str, tuple[float | None, float | None, float]] = {}
        self._sweep_at = SWEEP_AT

    async def charge(self, client: Client, tokens: int) -> Levels:
        requests, left = self._levels(client)
        refused: LimitName | None = None
        if client.tokens_per_minute is not None and left < needed(client.tokens_per_minute, tokens):
            refused = "tokens"
        if client.requests_per_minute is not None and requests < 1:
            refused = "requests"
        if refused is None:
            requests, left = requests - 1, left - tokens
        self._keep(client, requests, left)
        return Levels(requests, left, refused)

    async def settle(self, client: Client, tokens: int) -> None:
        requests, left = self._levels(client)
        left = max(-MAX_DEBT, min(left - tokens, client.tokens_per_minute or 0))
        self._keep(client, requests, left)

    async def aclose(self) -> None:
        """Do nothing: no resource is open."""

    def _levels(self, client: Client) -> tuple[float, float]:
        """Return the levels now; 0 without a limit."""
        requests, tokens, at = self._buckets.get(client.id, (None, None, 0.0))
        minutes = (self._clock() - at) / 60
        return (
            _refilled(requests, client.requests_per_minute or 0, minutes),
            _refilled(tokens, client.tokens_per_minute or 0, minutes),
        )

    def _keep(self, client: Client, requests: float, tokens: float) -> None:
        self._buckets[client.id] = (
            None if client.requests_per_minute is None else requests,
            None if client.tokens_per_minute is None else tokens,
            self._clock(),
        )
        if len(self._buckets) > self._sweep_at:
            self._sweep()

    def _sweep(self) -> None:
        """Drop buckets that were not used for a minute and are not in debt: they are full."""
        oldest = self._clock() - 60
        self._buckets = {
            name: levels
            for name, levels in self._buckets.items()
            if levels[2] > oldest or (levels[0] or 0) < 0 or (levels[1] or 0) < 0
        }
        self._sweep_at = max(SWEEP_AT, 2 * len(self._buckets))


def _refilled(level: float | None, limit: int, minutes: float) -> float:
    return limit if level is None else min(limit, level + limit * minutes)


# -- headers ---------------------------------------------------------------------------------------


def limit_headers(client: Client, levels: Levels) -> dict[str, str]:
    """Return OpenAI's headers: for each limit its size, what is left, and the time until full."""
    headers = {}
    for kind, limit, level in _limits(client, levels):
        headers[f"x-ratelimit-limit-{kind}"] = str(limit)
        headers[f"x-ratelimit-remaining-{kind}"] = str(max(0, int(level)))
        headers[f"x-ratelimit-reset-{kind}"] = duration((limit - level) * MINUTE_MS / limit)
    return headers


def wait_ms(client: Client, levels: Levels, tokens: int) -> int:
    """Return the milliseconds until the request would fit."""
    waits = [1.0]
    for kind, limit, level in _limits(client, levels):
        need = 1.0 if kind == "requests" else needed(limit, tokens)
        waits.append((need - level) * MINUTE_MS / limit)
    return ceil(max(waits))


def _limits(client: Client, levels: Levels) -> Iterator[tuple[LimitName, int, float]]:
    if client.requests_per_minute is not None:
        yield "requests", client.requests_per_minute, levels.requests
    if client.tokens_per_minute is not None:
        yield "tokens", client.tokens_per_minute, levels.tokens


def duration(milliseconds: float) -> str:
    """Return a time as OpenAI writes it: 20ms, 1.5s, 6m0s."""
    whole = max(0, ceil(milliseconds))
    if whole < 1000:
        return f"{whole}ms"
    minutes, rest = divmod(whole, MINUTE_MS)
    seconds = f"{rest / 1000:.3f}".rstrip("0").rstrip(".")
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"
