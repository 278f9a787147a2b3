"""Clients of a Redis, however it is set up: one server, Sentinels before it, or a cluster.

Nothing here connects by itself: a client does on first use, tries once, and reads no more than its
bounds allow (bounded_connection), nor longer than the reading that waits for it (deadline).

Representation   of one server and behind Sentinels a ``redis.Redis``, of a cluster a
                 ``ClusterClient``. What they have in common is all that a store may use: commands
                 and pipelines whose first argument is their one key; ``ping``, which is answered
                 when all is there that reading needs; ``close``, after which they connect anew.
Invariants       I1 replies come as they were sent, bytes, numbers, lists and None: what redis-py
                    would make of them raises anything where a reply has another shape, and in the
                    midst of a pipeline leaves the other replies to whoever asks next.
Not here         what is said on the connections (redis_store).
"""

from dataclasses import dataclass, replace
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelConnectionPool

from . import cluster_layout
from .address import RedisAddress
from .bounded_connection import connection_class, sentinel_connection_class
from .cluster import ClusterClient
from .cluster_layout import Host
from .sentinel_answer import primaries_named


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionBounds:
    """Of one connection: bytes and seconds of all replies to one request, seconds of one write, and
    seconds to connect.
    """

    reply_bytes: int
    reply_seconds: float
    socket_seconds: float
    connect_seconds: float


def client_of(address: RedisAddress, bounds: ConnectionBounds) -> Any:
    """A client that was not connected yet."""
    if address.kind == "cluster":
        return _of_cluster(address, bounds)
    if address.kind == "sentinel":
        return _behind_sentinels(address, bounds)
    places = {"path": address.path} if address.kind == "unix" else _place(address.hosts[0])
    return _of_server(address, bounds, {**_login(address), **places, "db": address.db})


def primaries_of(client: Any) -> list[Redis]:
    """Clients of all servers that have keys; raises what the client raises."""
    return client.primaries() if isinstance(client, ClusterClient) else [client]


def _of_server(address: RedisAddress, bounds: ConnectionBounds, more: dict[str, Any]) -> Redis:
    chosen = connection_class(address.kind == "unix", address.tls)
    return _of_pool(ConnectionPool(connection_class=chosen, **_bounded(address, bounds), **more))


def _of_pool(pool: ConnectionPool) -> Redis:
    client = Redis.from_pool(pool)
    client.response_callbacks.clear()
    return client


def _behind_sentinels(address: RedisAddress, bounds: ConnectionBounds) -> Redis:
    login = {
        name: address.options.get(f"sentinel_{name}")
        for name in ("username", "password")
        if f"sentinel_{name}" in address.options
    }
    sentinel = Sentinel([])
    sentinel.sentinels = [
        _of_server(address, bounds, {**_place(host), **login}) for host in address.hosts
    ]
    for client in sentinel.sentinels:
        client.set_response_callback("SENTINEL MASTERS", primaries_named)
    pool = SentinelConnectionPool(
        address.primary,
        sentinel,
        connection_class=sentinel_connection_class(address.tls),
        **_bounded(address, bounds),
        **_login(address),
        db=address.db,
    )
    return _of_pool(pool)


def _of_cluster(address: RedisAddress, bounds: ConnectionBounds) -> ClusterClient:
    def node_at(host: Host) -> Redis:
        return _of_server(address, bounds, {**_login(address), **_place(host)})

    def asker_of(host: Host) -> Redis:
        of_layout = replace(bounds, reply_bytes=cluster_layout.MOST_BYTES)
        return _of_server(address, of_layout, {**_login(address), **_place(host)})

    return ClusterClient(address.hosts, node_at, asker_of)


def _place(host: Host) -> dict[str, Any]:
    return {"host": host[0], "port": host[1]}


def _login(address: RedisAddress) -> dict[str, Any]:
    return {"username": address.username, "password": address.password}


def _bounded(address: RedisAddress, bounds: ConnectionBounds) -> dict[str, Any]:
    """What our connection classes take."""
    return {
        **_options(address),
        "reply_bytes": bounds.reply_bytes,
        "reply_seconds": bounds.reply_seconds,
        "socket_timeout": min(bounds.socket_seconds, bounds.reply_seconds),
        "socket_connect_timeout": bounds.connect_seconds,
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "decode_responses": False,
    }


def _options(address: RedisAddress) -> dict[str, Any]:
    """Those of the URL that connections take."""
    options: dict[str, Any] = {
        name: value
        for name, value in address.options.items()
        if not name.startswith("sentinel_") and name != "ssl_check_hostname"
    }
    if address.tls:
        verifies = options.get("ssl_cert_reqs") != "none"
        options["ssl_check_hostname"] = (
            verifies and address.options.get("ssl_check_hostname") != "false"
        )
    return options
