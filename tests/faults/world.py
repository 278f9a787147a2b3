"""The surroundings of a campaign's gateway: a Redis behind a proxy, and another replica."""

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from redis import Redis

from cache import NAMESPACE, RedisLog, open_store
from cache.entries import Entry
from tests.redis_server import RedisServer

from .proxy import Proxy, proxy_to

#: the key of the gateways' MACs
KEY = "a key of the campaigns"
PREFIX = f"{NAMESPACE}:".encode()
LOG = PREFIX + b"log"


@dataclass
class World:
    """``server`` is the primary, and ``url`` where the gateway finds it.

    ``fresh`` are entries that the gateway knows nothing of when the fault begins.
    """

    server: RedisServer
    proxy: Proxy
    fresh: Sequence[Entry]
    url: str
    others: ExitStack
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    def other_server(self) -> RedisServer:
        """One more Redis, which ends with this world."""
        server = RedisServer()
        self.others.callback(server.close)
        server.start()
        return server

    def publish(self, entries: Sequence[Entry]) -> None:
        """As another replica does."""
        with replica_of(self.server) as log:
            assert log.publish([(entry.key, entry.value) for entry in entries]) == len(entries)


@contextmanager
def admin_of(server: RedisServer) -> Iterator[Redis]:
    """Somebody who may do everything in this Redis."""
    with Redis.from_url(server.url) as client:
        yield client


@contextmanager
def replica_of(server: RedisServer) -> Iterator[RedisLog]:
    """Another replica's view of the log."""
    log = open_store(redis_url=server.url, key=KEY.encode(), ttl_s=1000)
    assert log is not None
    try:
        yield log
    finally:
        log.close()


@contextmanager
def world_of(stock: Sequence[Entry], fresh: Sequence[Entry]) -> Iterator[World]:
    """A world whose Redis has the stock, for the length of a with block."""
    server = RedisServer()
    with ExitStack() as stack:
        stack.callback(server.close)
        server.start()
        proxy = stack.enter_context(proxy_to(server.port))
        world = World(server, proxy, fresh, f"redis://127.0.0.1:{proxy.port}/0", stack)
        world.publish(stock)
        yield world
