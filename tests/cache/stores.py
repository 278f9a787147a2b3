"""Helpers for tests of the log: a secret, logs of one namespace, waiting."""

import time
from collections.abc import Callable

from cache import RedisAddress, RedisLog, Seal
from tests.redis_server import PATIENCE_SECONDS

SECRET = b"a secret of the tests"

MakeLog = Callable[..., RedisLog]


def new_log(
    url: str, namespace: str, *, key: bytes | None = SECRET, ttl_s: int = 1_000
) -> RedisLog:
    return RedisLog(RedisAddress.of(url), namespace=namespace, seal=Seal(key), ttl_s=ttl_s)


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that others bring about."""
    end = time.monotonic() + 2 * PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
