"""What tests of stores have in common: a secret, bounds that no busy machine passes, patience."""

import time
from collections.abc import Callable

from cache import RedisBounds, RedisStore, WriteBounds
from tests.redis_server import PATIENCE_SECONDS

SECRET = b"a secret of the tests"

#: generous waits, so that a busy machine fails no test, and short pauses, so that recovery is soon
WRITES = WriteBounds(close_seconds=PATIENCE_SECONDS, pause_seconds=0.01, max_pause_seconds=0.05)
BOUNDS = RedisBounds(
    connect_seconds=PATIENCE_SECONDS,
    socket_seconds=PATIENCE_SECONDS,
    reply_seconds=PATIENCE_SECONDS,
    read_seconds=PATIENCE_SECONDS,
    map_seconds=0,
    writes=WRITES,
)

MakeStore = Callable[..., RedisStore]


def until(happened: Callable[[], bool]) -> None:
    """Wait for something that others bring about."""
    end = time.monotonic() + 2 * PATIENCE_SECONDS
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)
