"""Helpers for tests of the log: a secret, logs of one namespace, waiting."""

from collections.abc import Callable

from cache import RedisAddress, RedisLog, Seal

SECRET = b"a secret of the tests"

MakeLog = Callable[..., RedisLog]


def new_log(
    url: str, namespace: str, *, key: bytes | None = SECRET, ttl_s: int = 1_000
) -> RedisLog:
    return RedisLog(RedisAddress.of(url), namespace=namespace, seal=Seal(key), ttl_s=ttl_s)
