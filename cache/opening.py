"""The store of one process as its settings describe it: memory, a file of the host's, Redis.

Gateways and workers share what lies in the file and in Redis, so both open it here.
"""

from typing import Literal

from .memory import MemoryStore
from .tiered import Layer, TieredStore

#: what separates our entries from others' in one Redis
NAMESPACE = "switchyard"


def may_use_redis(key: bytes | None, trust: str) -> bool:
    """Whether values from Redis may be believed: they are sealed, or nobody else can write them."""
    return key is not None or trust == "network"


def open_store(
    *,
    memory_bytes: int,
    redis_url: str | None = None,
    key: bytes | None = None,
    ttl_s: int,
    trust: Literal["key", "network"] = "key",
    read_seconds: float = 0.02,
    host_file: str | None = None,
    host_bytes: int = 256 << 20,
) -> TieredStore:
    """Memory, the host's file where one is named, and Redis where there is one that may be used
    (``may_use_redis``).

    ``read_seconds``: what a reading of Redis may take, see ``RedisBounds``. ``host_bytes``: what
    the file may take, see ``HostStore``.
    """
    layers: list[Layer] = [MemoryStore(memory_bytes)]
    if host_file is not None:
        from .host import HostStore

        layers.append(HostStore(host_file, key=key, max_bytes=host_bytes))
    if redis_url is not None and may_use_redis(key, trust):
        from .redis_bounds import RedisBounds
        from .redis_store import RedisStore

        bounds = RedisBounds(read_seconds=read_seconds)
        layers.append(
            RedisStore(
                redis_url, namespace=NAMESPACE, key=key, ttl_s=ttl_s, trust=trust, bounds=bounds
            )
        )
    return TieredStore(layers)
