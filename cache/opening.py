"""The store of one process as its settings describe it: memory, and behind it Redis.

Gateways and workers share what lies in Redis, so both open it here.
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
) -> TieredStore:
    """Memory, and Redis where there is one that may be used (``may_use_redis``).

    ``read_seconds``: what a reading of Redis may take, see ``RedisBounds``.
    """
    layers: list[Layer] = [MemoryStore(memory_bytes)]
    if redis_url is not None and may_use_redis(key, trust):
        from .redis_store import RedisBounds, RedisStore

        bounds = RedisBounds(read_seconds=read_seconds)
        layers.append(
            RedisStore(
                redis_url, namespace=NAMESPACE, key=key, ttl_s=ttl_s, trust=trust, bounds=bounds
            )
        )
    return TieredStore(layers)
