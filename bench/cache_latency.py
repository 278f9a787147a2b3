"""python -m bench.cache_latency: what a request waits for the shared cache, healthy and hung.

Two gateways side by side, with and without Redis, get the same requests in turn, of which each has
schemas that nobody sent before. The one with Redis is made to ask and to write as often as can be:
all it learns is worth sharing, and the map of keys says of every rule that it may be there. So each
compile waits for some round trips, which on real schemas few do (``--usual``: as it is). Then Redis
is stopped (SIGSTOP): the first request meets it, those after that should not.

A figure is the difference of two answers to the same request, one behind the other.
"""

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import httpx
import numpy as np
from redis import Redis

from cache import NAMESPACE
from tests.faults.asking import body_of, counters
from tests.real_input.served import served_gateway
from tests.redis_server import PATIENCE_SECONDS, RedisServer

from .report import markdown

GATEWAY, USUAL_GATEWAY = "tests.faults.sharing_gateway", "app"
KEY = "sixteen bytes of secret"
#: tokens of an answer: what is asked for here is asked while compiling
TOKENS = 1
#: requests that nobody measures: the first ones of a process
UNCOUNTED = 20
#: requests behind the first one that meets a stopped Redis
BEHIND = 20


class Pair(NamedTuple):
    """Milliseconds of one request at both gateways."""

    without: float
    with_redis: float

    @property
    def added(self) -> float:
        return self.with_redis - self.without


class Found(NamedTuple):
    """What was measured; ``asked`` counts the rules that Redis was asked for while it was well."""

    healthy: list[Pair]
    first: list[Pair]
    behind: list[Pair]
    asked: int
    failures: int


class Gateways:
    """Both of them; ``ask`` sends the next request, which no other was like, to both."""

    def __init__(self, without: str, with_redis: str, client: httpx.Client) -> None:
        self.with_redis = with_redis
        self._urls = (without, with_redis)
        self._client = client
        self._number = 0
        self._chance = random.Random(0)

    def ask(self) -> Pair:
        self._number += 1
        body = {**body_of(self._number), "max_completion_tokens": TOKENS, "stream": False}
        took = {}
        for url in self._chance.sample(self._urls, 2):
            start = time.perf_counter()
            reply = self._client.post(f"{url}/v1/chat/completions", json=body)
            took[url] = (time.perf_counter() - start) * 1000
            reply.raise_for_status()
        return Pair(*(took[url] for url in self._urls))

    def until_asked_again(self) -> None:
        """Wait for the breaker."""
        end = time.monotonic() + 2 * PATIENCE_SECONDS
        while counters(self.with_redis)["l2_open"]:
            if time.monotonic() > end:
                raise TimeoutError("the gateway left Redis alone for too long")
            time.sleep(0.05)


@contextmanager
def gateways(redis: RedisServer, read_seconds: float, module: str) -> Iterator[Gateways]:
    common = {"CACHE_KEY": KEY, "CACHE_READ_SECONDS": str(read_seconds)}
    with ExitStack() as stack:
        urls = [
            stack.enter_context(served_gateway({**common, "REDIS_URL": url}, module=module))
            for url in ("", redis.url)
        ]
        yield Gateways(*urls, stack.enter_context(httpx.Client(timeout=60)))


def measure(asked: argparse.Namespace) -> Found:
    redis = RedisServer()
    redis.start()
    try:
        if not asked.usual:
            with Redis.from_url(redis.url) as admin:
                admin.set(f"{NAMESPACE}:map", b"\xff" * (1 << 17))
        module = USUAL_GATEWAY if asked.usual else GATEWAY
        with gateways(redis, asked.read_seconds, module) as both:
            for _ in range(UNCOUNTED):
                both.ask()
            start = counters(both.with_redis)
            healthy = [both.ask() for _ in range(asked.requests)]
            now = counters(both.with_redis)
            rise = {name: now[name] - start[name] for name in now}
            first, behind = _stopped(redis, both, asked.stops)
            return Found(
                healthy,
                first,
                behind,
                rise["l2_hits"] + rise["l2_misses"] - rise["l2_absent"] - rise["l2_skipped"],
                rise["l2_failures"],
            )
    finally:
        redis.close()


def _stopped(redis: RedisServer, both: Gateways, stops: int) -> tuple[list[Pair], list[Pair]]:
    first, behind = [], []
    for _ in range(stops):
        both.until_asked_again()
        both.ask()
        redis.pause()
        try:
            first.append(both.ask())
            behind += [both.ask() for _ in range(BEHIND)]
        finally:
            redis.resume()
    return first, behind


def table(found: Found) -> str:
    rows = [["", "without (ms) p50", "with p50", "added p50", "p90", "p99", "most"]]
    for name, pairs in (
        ("Redis healthy", found.healthy),
        ("Redis stopped, the first request", found.first),
        ("Redis stopped, those behind it", found.behind),
    ):
        added = [pair.added for pair in pairs]
        figures = [
            np.median([pair.without for pair in pairs]),
            np.median([pair.with_redis for pair in pairs]),
            *np.quantile(added, (0.5, 0.9, 0.99, 1)),
        ]
        rows.append([f"{name} ({len(pairs)})", *(f"{figure:.2f}" for figure in figures)])
    return markdown(rows)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cache_latency",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--requests", type=int, default=500, help="while Redis is healthy")
    add("--stops", type=int, default=10, help="times that Redis is stopped")
    add("--usual", action="store_true", help="ask and write no more than gateways do")
    add("--read-seconds", type=float, default=0.02, help="what a compile waits for Redis")
    return parser.parse_args(given)


def main() -> None:
    found = measure(arguments())
    print(table(found))
    print(
        f"\nwhile healthy, Redis was asked for {found.asked} rules in {len(found.healthy)} "
        f"requests, and failed {found.failures} times"
    )


if __name__ == "__main__":
    main()
