"""The log of one process as its settings describe it. Gateways and workers share one, so both open
it here.
"""

from typing import Literal

from .address import RedisAddress
from .redis_log import RedisLog
from .seal import Seal

#: what separates our entries from others' in one Redis
NAMESPACE = "switchyard"


def may_use_redis(key: bytes | None, trust: str) -> bool:
    """Whether values from Redis may be believed: they are sealed, or nobody else can write them."""
    return key is not None or trust == "network"


def open_store(
    *,
    redis_url: str | None,
    key: bytes | None,
    ttl_s: int,
    trust: Literal["key", "network"] = "key",
) -> RedisLog | None:
    """The log in Redis; None where no Redis is set, or it may not be used. Nothing is connected.

    Raises:
        ValueError: an invalid URL, time to live or key.
    """
    if redis_url is None or not may_use_redis(key, trust):
        return None
    address = RedisAddress.of(redis_url)
    return RedisLog(address, namespace=NAMESPACE, seal=Seal(key), ttl_s=ttl_s)
