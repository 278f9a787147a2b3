"""redis-py's clients of a Redis, however it is set up: one server, Sentinels, or a cluster.

All are redis-py's own, with its time-outs and reconnects: only a background thread and operators'
commands wait for them.
"""

from typing import Any, Final

from .address import RedisAddress

#: seconds to connect, and for one reply or write. A blocking read waits less than that
CONNECT_SECONDS: Final = 2.0
SOCKET_SECONDS: Final = 5.0


def connect(address: RedisAddress) -> Any:
    """A ``Redis`` or ``RedisCluster``. A cluster's nodes are looked up now; all others connect when
    they are first used. redis-py is imported here, so that it is needed where a Redis is set.

    Raises:
        redis.RedisError: no node of the cluster answers.
    """
    from redis import Redis
    from redis.cluster import ClusterNode, RedisCluster
    from redis.sentinel import Sentinel

    login: dict[str, Any] = {"username": address.username, "password": address.password}
    shared = _options(address)
    if address.kind == "unix":
        return Redis(unix_socket_path=address.path, db=address.db, **login, **shared)
    if address.kind == "cluster":
        nodes = [ClusterNode(host, port) for host, port in address.hosts]
        return RedisCluster(startup_nodes=nodes, ssl=address.tls, **login, **shared)
    if address.kind == "sentinel":
        own = {
            name: address.options[f"sentinel_{name}"]
            for name in ("username", "password")
            if f"sentinel_{name}" in address.options
        }
        asked = {"ssl": address.tls, **shared, **own}
        sentinel = Sentinel(address.hosts, sentinel_kwargs=asked)
        return sentinel.master_for(
            address.primary, db=address.db, ssl=address.tls, **login, **shared
        )
    ((host, port),) = address.hosts[:1]
    return Redis(host=host, port=port, db=address.db, ssl=address.tls, **login, **shared)


def _options(address: RedisAddress) -> dict[str, Any]:
    from redis.backoff import NoBackoff
    from redis.retry import Retry

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
    return {
        **options,
        "socket_timeout": SOCKET_SECONDS,
        "socket_connect_timeout": CONNECT_SECONDS,
        # the caller backs off
        "retry": Retry(NoBackoff(), 0),
        "protocol": 2,
        "decode_responses": False,
    }
