"""redis-py's asyncio clients, with a limit on the bytes of replies, as clients.py has one.

Callers limit the seconds of a request, with ``asyncio.timeout``.

Invariants   I1 at most ``reply_bytes`` are read between two requests of a connection.
Threads      the event loop of the first request.
"""

import asyncio
from functools import partial
from typing import Any, Final

from .address import RedisAddress
from .clients import redis_options

#: options of addresses that redis-py's asyncio client of a cluster lacks
_NOT_IN_CLUSTERS: Final = ("ssl_ca_path", "ssl_password")


def connect_async(address: RedisAddress, *, reply_bytes: int) -> Any:
    """Return an asyncio ``Redis`` or ``RedisCluster``, which connects on first use.

    Raises:
        ValueError: the address has an option that the client lacks.
    """
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.asyncio.sentinel import Sentinel
    from redis.backoff import NoBackoff

    login: dict[str, Any] = {"username": address.username, "password": address.password}
    # once: the server may have restarted since the last request, and all requests are idempotent
    shared = {**redis_options(address), "retry": Retry(NoBackoff(), 1)}
    if address.kind == "cluster":
        return _cluster(address, {**login, **shared}, reply_bytes)
    shared["redis_connect_func"] = partial(_connect_bounded, reply_bytes)
    if address.kind == "unix":
        return Redis(unix_socket_path=address.path, db=address.db, **login, **shared)
    if address.kind == "sentinel":
        own = {
            name: address.options[f"sentinel_{name}"]
            for name in ("username", "password")
            if f"sentinel_{name}" in address.options
        }
        asked = {"ssl": address.tls, **shared, **own}
        sentinel = Sentinel(list(address.hosts), sentinel_kwargs=asked)
        return sentinel.master_for(
            address.primary, db=address.db, ssl=address.tls, **login, **shared
        )
    ((host, port),) = address.hosts[:1]
    return Redis(host=host, port=port, db=address.db, ssl=address.tls, **login, **shared)


def _cluster(address: RedisAddress, options: dict[str, Any], reply_bytes: int) -> Any:
    from redis.asyncio.cluster import ClusterNode, RedisCluster

    class BoundedCluster(RedisCluster):
        async def on_connect(self, connection: Any) -> None:
            _bound(connection, reply_bytes)
            await super().on_connect(connection)

    for name in _NOT_IN_CLUSTERS:
        if name in address.options:
            raise ValueError(f"redis-py's asyncio client of a cluster has no option {name}")
    nodes = [ClusterNode(host, port) for host, port in address.hosts]
    return BoundedCluster(startup_nodes=nodes, ssl=address.tls, **options)


async def _connect_bounded(reply_bytes: int, connection: Any) -> None:
    _bound(connection, reply_bytes)
    await connection.on_connect()


def _bound(connection: Any, most: int) -> None:
    """Limit the replies of a new connection; must run before the first read."""
    reader = _BoundedReader(connection._reader, most)
    connection._reader = reader
    connection._writer = _Writer(connection._writer, reader)


class _BoundedReader:
    """A stream with one limit for all reads after a request."""

    def __init__(self, inner: asyncio.StreamReader, most: int) -> None:
        self._inner = inner
        self._most = self._left = most

    def begin(self) -> None:
        """Begin a new request."""
        self._left = self._most

    async def read(self, size: int = -1) -> bytes:
        data = await self._inner.read(size)
        self._spend(len(data))
        return data

    async def readexactly(self, size: int) -> bytes:
        self._spend(size)
        return await self._inner.readexactly(size)

    async def readline(self) -> bytes:
        data = await self._inner.readline()
        self._spend(len(data))
        return data

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise OSError(f"a reply is larger than {self._most:,} bytes")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Writer:
    """A stream whose writes begin a new request."""

    def __init__(self, inner: asyncio.StreamWriter, reader: _BoundedReader) -> None:
        self._inner = inner
        self._reader = reader

    def writelines(self, data: Any) -> None:
        self._reader.begin()
        self._inner.writelines(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
