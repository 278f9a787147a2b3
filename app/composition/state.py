"""The store of the bytes of responses."""

from cache import may_use_redis

from ..observability import Logger
from ..settings import PREFIX, GatewaySettings, SettingError
from ..state import ByteStore, MemoryStore, RedisStore


def make_bytes(gateway: GatewaySettings, logger: Logger) -> ByteStore:
    """Return a store in Redis, or in memory if Redis is not configured or not trusted.

    Raises:
        SettingError: the clients of the store lack an option of the URL.
    """
    url, ttl_s = gateway.redis_url, gateway.responses_ttl_seconds
    if url is None or not may_use_redis(gateway.secret, gateway.cache_trust):
        return MemoryStore(max_bytes=gateway.responses_memory_bytes, ttl_s=ttl_s)
    try:
        return RedisStore(
            url.get_secret_value(),
            secret=gateway.secret,
            ttl_s=ttl_s,
            max_bytes=gateway.responses_max_bytes,
            room_bytes=gateway.responses_redis_bytes,
            logger=logger,
        )
    except ValueError as error:
        raise SettingError(f"{PREFIX}REDIS_URL: {error}") from error
