"""redis-py's asyncio clients, with a limit on the bytes of all replies to one request.

Seconds are the caller's: ``asyncio.timeout`` around a call ends it, and redis-py then closes the
connection, so that no late reply is taken for that of another request.

Threads    the event loop that makes the first call.
"""

from functools import partial
from typing import Any, Final

from .address import RedisAddress
from .clients import REPLY_BYTES, client_options, primary_of

#: connections of one client; further calls wait for a free one
MAX_CONNECTIONS: Final = 16
#: options of addresses that redis-py's asyncio client of a cluster lacks
_NOT_IN_CLUSTERS: Final = ("ssl_ca_path", "ssl_password")


def connect_async(
    address: RedisAddress, *, reply_bytes: int | None = None, retries: int = 0
) -> Any:
    """Return an asyncio ``Redis`` or ``RedisCluster``, which connects on first use.

    Args:
        reply_bytes: maximum bytes of all replies to one request; default: REPLY_BYTES.
        retries: of a request whose connection breaks, for instance because the server has
            restarted; only for idempotent requests.

    Raises:
        ValueError: the address has an option that the client lacks.
    """
    from redis.asyncio import BlockingConnectionPool, Redis
    from redis.asyncio.cluster import ClusterNode, RedisCluster
    from redis.asyncio.connection import Connection, SSLConnection, UnixDomainSocketConnection
    from redis.asyncio.retry import Retry
    from redis.asyncio.sentinel import Sentinel
    from redis.backoff import NoBackoff

    options = client_options(address) | {"retry": Retry(NoBackoff(), retries)}
    connect = partial(_connect_bounded, reply_bytes or REPLY_BYTES)
    if address.kind == "cluster":
        for name in _NOT_IN_CLUSTERS:
            if name in address.options:
                raise ValueError(f"redis-py's asyncio client of a cluster has no option {name}")
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        cluster = RedisCluster(startup_nodes=nodes, ssl=address.tls, **options)
        # the constructor takes no connect callback; nodes that are discovered later take this one
        manager: Any = cluster.nodes_manager
        for each in (manager, *manager.startup_nodes.values()):
            each.connection_kwargs["redis_connect_func"] = connect
        return cluster
    options["redis_connect_func"] = connect
    if address.kind == "sentinel":
        return primary_of(Sentinel, address, options)
    place: dict[str, Any]
    if address.kind == "unix":
        place = {"connection_class": UnixDomainSocketConnection, "path": address.path}
    else:
        ((host, port),) = address.hosts[:1]
        kind = SSLConnection if address.tls else Connection
        place = {"connection_class": kind, "host": host, "port": port}
    pool = BlockingConnectionPool(
        max_connections=MAX_CONNECTIONS, timeout=None, db=address.db, **place, **options
    )
    return Redis.from_pool(pool)


async def _connect_bounded(most: int, connection: Any) -> None:
    """Limit the replies of a new connection; must run before the first read."""
    reader = _BoundedReader(connection._reader, most)
    connection._reader = reader
    connection._writer = _Writer(connection._writer, reader)
    await connection.on_connect()


class _BoundedReader:
    """A StreamReader with one limit for all reads after a request."""

    def __init__(self, inner: Any, most: int) -> None:
        self._inner = inner
        self._most = self._left = most

    def begin(self) -> None:
        """Begin a new request."""
        self._left = self._most

    async def readexactly(self, size: int) -> bytes:
        self._spend(size)
        data: bytes = await self._inner.readexactly(size)
        return data

    async def readline(self) -> bytes:
        # asyncio limits a line to 64 KiB
        data: bytes = await self._inner.readline()
        self._spend(len(data))
        return data

    async def read(self, size: int) -> bytes:
        data: bytes = await self._inner.read(size)
        self._spend(len(data))
        return data

    def _spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise OSError(f"a reply is larger than {self._most:,} bytes")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Writer:
    """A StreamWriter; writing begins a new request."""

    def __init__(self, inner: Any, reader: _BoundedReader) -> None:
        self._inner = inner
        self._reader = reader

    def writelines(self, data: Any) -> None:
        self._reader.begin()
        self._inner.writelines(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
