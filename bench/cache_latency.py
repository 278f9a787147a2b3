"""python -m bench.cache_latency: the latency that Redis adds to answers, healthy or not.

Two gateways, one with Redis and one without, get the same requests in turn. Every request has a new
schema, so the gateway with Redis always has something to publish. A figure is the difference of two
consecutive answers to one request; between two gateways without Redis it is the noise.

    healthy    a working Redis
    hung       stopped by a signal: connections stay open, but get no replies
    hostile    another server in its place sends endless replies
    killed     no server listens
"""

import argparse
import random
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import httpx
import numpy as np

from tests.cache.hostile_server import hostile_server
from tests.faults.asking import body_of
from tests.real_input.served import served_gateway
from tests.redis_server import RedisServer

from .report import markdown

KEY = "sixteen bytes of secret"
TOKENS = 8
#: requests that are not measured: the first ones of a process
UNCOUNTED = 20


class Pair(NamedTuple):
    """Milliseconds of one request at two gateways."""

    without: float
    with_redis: float


class Gateways:
    """Two gateways: one without Redis and, unless ``url`` is None, one with it."""

    def __init__(self, stack: ExitStack, url: str | None, client: httpx.Client) -> None:
        settings = [{"CACHE_KEY": KEY, "REDIS_URL": each} for each in ("", url or "")]
        self._urls = [stack.enter_context(served_gateway(each)) for each in settings]
        self._client = client
        self._number = 0
        self._chance = random.Random(0)
        self.ask(UNCOUNTED)

    def ask(self, requests: int) -> list[Pair]:
        return [self._pair() for _ in range(requests)]

    def _pair(self) -> Pair:
        self._number += 1
        body = {**body_of(self._number), "max_completion_tokens": TOKENS, "stream": False}
        took = {}
        for url in self._chance.sample(self._urls, 2):
            start = time.perf_counter()
            reply = self._client.post(f"{url}/v1/chat/completions", json=body)
            took[url] = (time.perf_counter() - start) * 1000
            reply.raise_for_status()
        return Pair(*(took[url] for url in self._urls))


def measure(requests: int) -> dict[str, list[Pair]]:
    """Return the pairs by the state of Redis."""
    found: dict[str, list[Pair]] = {}
    with httpx.Client(timeout=60) as client:
        with ExitStack() as stack:
            found["none, twice"] = Gateways(stack, None, client).ask(requests)
        with ExitStack() as stack, _redis() as redis:
            both = Gateways(stack, redis.url, client)
            found["healthy"] = both.ask(requests)
            redis.pause()
            found["hung"] = both.ask(requests)
            redis.resume()
            redis.kill()
            found["killed"] = both.ask(requests)
        with ExitStack() as stack, hostile_server(_flood) as hostile:
            found["hostile"] = Gateways(stack, hostile.url, client).ask(requests)
    return found


@contextmanager
def _redis() -> Iterator[RedisServer]:
    redis = RedisServer()
    redis.start()
    try:
        yield redis
    finally:
        redis.close()


def _flood(connection: socket.socket) -> None:
    """Send an endless string."""
    connection.sendall(b"$1000000000000\r\n")
    while True:
        connection.sendall(b"x" * (1 << 20))


def table(found: dict[str, list[Pair]]) -> str:
    rows = [["Redis", "without (ms) p50", "with p50", "added p50", "p90", "p99"]]
    for name, pairs in found.items():
        added = [pair.with_redis - pair.without for pair in pairs]
        figures = [
            np.median([pair.without for pair in pairs]),
            np.median([pair.with_redis for pair in pairs]),
            *np.quantile(added, (0.5, 0.9, 0.99)),
        ]
        rows.append([f"{name} ({len(pairs)})", *(f"{figure:.2f}" for figure in figures)])
    return markdown(rows)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cache_latency",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--requests", type=int, default=300, help="of each state")
    return parser.parse_args(given)


def main() -> None:
    print(table(measure(arguments().requests)))


if __name__ == "__main__":
    main()
