"""redis-py's clients for one server, Sentinels, or a cluster.

redis-py makes connections, applies timeouts and finds primaries. This module limits the bytes and
seconds of all replies to one request: redis-py reads as many bytes as a reply claims to have, and
its timeout applies to each read, so a server that sends a byte now and then could block its caller
forever.

Invariants   I1 at most ``REPLY_BYTES`` are read between two requests of a connection.
             I2 reading the replies to a request takes at most ``REPLY_SECONDS`` plus
                ``SOCKET_SECONDS``.
Threads      any thread may use a client, as in redis-py.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final

from .address import RedisAddress
from .entries import AT_ONCE, MAX_VALUE_BYTES

#: seconds to connect, and for one read or write. Blocking commands wait for less than that
CONNECT_SECONDS: Final = 2.0
SOCKET_SECONDS: Final = 5.0
#: limits for all replies to a request: the values of one batch, and the largest other reply
REPLY_SECONDS: Final = 10.0
REPLY_BYTES: Final = (AT_ONCE + 1) * MAX_VALUE_BYTES

#: errors of a server, or of one entry, that do not affect other reads
_REFUSALS: Final = ("OutOfMemoryError", "ReadOnlyError")
_REFUSAL_CODES: Final = ("WRONGTYPE", "MISCONF", "NOREPLICAS")


class StoreUnusable(Exception):
    """Redis cannot be reached, rejects a command, or sends an invalid reply.

    The message names the kind of failure, never an address or what the server sent.
    """


@contextmanager
def asking() -> Iterator[None]:
    """Turn every failure into StoreUnusable, also the errors that invalid replies cause."""
    try:
        yield
    except StoreUnusable:
        raise
    except Exception as error:
        # the type only: a message may quote an address or data of the server
        raise StoreUnusable(f"Redis failed ({type(error).__name__})") from None


def is_refused(reply: Any) -> bool:
    """Return whether a pipeline's reply means that one command was rejected: the server is full or
    read-only, or the key has a value of another type.

    Raises:
        Exception: the reply, if it is any other error.
    """
    if not isinstance(reply, Exception):
        return False
    if type(reply).__name__ in _REFUSALS or str(reply).startswith(_REFUSAL_CODES):
        return True
    raise reply


def connect(address: RedisAddress) -> Any:
    """Return a ``Redis`` or ``RedisCluster``. A cluster's nodes are looked up now; other clients
    connect on first use. redis-py is imported here, because only users of Redis need it.

    Raises:
        redis.RedisError: no node of the cluster responds.
    """
    from redis import Redis
    from redis.sentinel import Sentinel

    options = client_options(address)
    if address.kind == "cluster":
        return _cluster(address, options)
    options["redis_connect_func"] = _connect_bounded
    if address.kind == "unix":
        return Redis(unix_socket_path=address.path, db=address.db, **options)
    if address.kind == "sentinel":
        return primary_of(Sentinel, address, options)
    ((host, port),) = address.hosts[:1]
    return Redis(host=host, port=port, db=address.db, ssl=address.tls, **options)


def primary_of(sentinels: Any, address: RedisAddress, options: dict[str, Any]) -> Any:
    """Return a client of the primary; ``sentinels``: redis-py's class for Sentinels."""
    login = {name: address.options.get(f"sentinel_{name}") for name in ("username", "password")}
    asked = {"ssl": address.tls, **options, **login}
    sentinel = sentinels(address.hosts, sentinel_kwargs=asked)
    return sentinel.master_for(address.primary, db=address.db, ssl=address.tls, **options)


def _cluster(address: RedisAddress, options: dict[str, Any]) -> Any:
    from redis.cluster import ClusterNode, RedisCluster

    class BoundedCluster(RedisCluster):
        def on_connect(self, connection: Any) -> None:
            _bound(connection)
            super().on_connect(connection)  # type: ignore[no-untyped-call]

    nodes = [ClusterNode(host, port) for host, port in address.hosts]
    return BoundedCluster(startup_nodes=nodes, ssl=address.tls, **options)


def client_options(address: RedisAddress) -> dict[str, Any]:
    """Return redis-py's options for all kinds of clients, the login included."""
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    options: dict[str, Any] = {
        name: value
        for name, value in address.options.items()
        if not name.startswith("sentinel_") and name != "ssl_check_hostname"
    }
    if address.tls:
        named = address.options.get("ssl_check_hostname") != "false"
        options["ssl_check_hostname"] = named and options.get("ssl_cert_reqs") != "none"
    return {
        **options,
        "username": address.username,
        "password": address.password,
        "socket_timeout": SOCKET_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        # the caller backs off
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "decode_responses": False,
    }


# -- limits of replies -----------------------------------------------------------------------------


def _connect_bounded(connection: Any) -> None:
    _bound(connection)
    connection.on_connect()


def _bound(connection: Any) -> None:
    """Limit the replies of a new connection; must run before the first read."""
    connection._sock = _BoundedSocket(connection._sock)


class _BoundedSocket:
    """A socket with one limit for all reads after a request. Sending begins a new request."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner
        self._begin()

    def _begin(self) -> None:
        self._left = REPLY_BYTES
        self._until = monotonic() + REPLY_SECONDS

    def sendall(self, data: bytes) -> None:
        self._begin()
        self._inner.sendall(data)

    def recv(self, size: int) -> bytes:
        data = self._inner.recv(size)
        self._spend(len(data))
        return data

    def recv_into(self, buffer: Any) -> int:
        count = self._inner.recv_into(buffer)
        self._spend(count)
        return count

    def _spend(self, count: int) -> None:
        if self._inner.gettimeout() == 0:
            return  # redis-py only checks the connection and expects no reply
        self._left -= count
        if self._left < 0:
            raise OSError(f"a reply is larger than {REPLY_BYTES:,} bytes")
        if monotonic() > self._until:
            raise TimeoutError("a reply took too long")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)
