"""What stands behind the gateway of a campaign: a Redis, a proxy before it, and what lies in it."""

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from redis import Redis

from tests.redis_server import RedisServer, SentinelServer

from .proxy import Proxy, proxy_to

#: the key of the gateways' MACs
KEY = "a key of the campaigns"
#: the user that gateways are, where a fault is about rights
USER, PASSWORD = "cache", "the password of the user"
#: what a Sentinel calls its primary
NAME = "ours"
#: the entries of a Redis: keys, and values as DUMP writes them
Stock = list[tuple[bytes, bytes]]


@dataclass
class World:
    """``server`` is what ``proxy`` leads to, until a fault says otherwise."""

    server: RedisServer
    proxy: Proxy
    stock: Stock
    chance: random.Random = field(default_factory=lambda: random.Random(0))
    others: ExitStack = field(default_factory=ExitStack)
    sentinel: SentinelServer | None = None

    @property
    def url(self) -> str:
        """Of the proxy."""
        return f"redis://127.0.0.1:{self.proxy.port}/0"

    @property
    def user_url(self) -> str:
        """Of the proxy, for a user with a password."""
        return self.url.replace("//", f"//{USER}:{PASSWORD.replace(' ', '%20')}@")

    @property
    def sentinel_url(self) -> str:
        assert self.sentinel is not None
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{NAME}"

    def other_server(self) -> RedisServer:
        """One more Redis, which ends with this world."""
        server = RedisServer()
        self.others.callback(server.close)
        server.start()
        return server

    def fill(self, server: RedisServer) -> None:
        """The stock is in this Redis again, whatever it holds."""
        with admin_of(server) as admin:
            for key, value in self.stock:
                admin.restore(key, 0, value, replace=True)


@contextmanager
def admin_of(server: RedisServer) -> Iterator[Redis]:
    """Somebody who may do everything in this Redis."""
    with Redis.from_url(server.url) as client:
        yield client


def take_stock(server: RedisServer) -> Stock:
    """All that lies in a Redis."""
    with admin_of(server) as admin:
        return [(key, admin.dump(key)) for key in sorted(admin.scan_iter())]


@contextmanager
def world_of(stock: Stock) -> Iterator[World]:
    """A world whose Redis has the stock, for the length of a with block."""
    server = RedisServer()
    with ExitStack() as stack:
        stack.callback(server.close)
        server.start()
        world = World(server, stack.enter_context(proxy_to(server.port)), stock)
        stack.push(world.others)
        world.fill(server)
        yield world
