"""Bytes by key: what one process worked out is there for the next. Memory, Redis, both in tiers.

Every store has the same face, and no method of it raises because of what it holds or where it lies:

    get_many(keys) -> list of bytes or None, in the order of the keys; None is a miss
    get_newest(keys)                         the same, what others wrote last
    put_many([(key, value), ...])            may keep them, or not
    hottest(group, most) -> list of keys     of those that begin with "group/", the most used ones
    stats() -> dict[str, int]                counters since start, and what is held now
    close()                                  afterwards everything is a miss

Not here    what the bytes mean, and what makes two keys equal (the engine's business).
"""

from typing import TYPE_CHECKING

from .address import RedisAddress
from .key_file import key_of
from .memory import MemoryStore
from .opening import NAMESPACE, may_use_redis, open_store
from .tiered import Layer, TieredStore

if TYPE_CHECKING:
    from .redis_store import RedisBounds, RedisStore

__all__ = [
    "NAMESPACE",
    "Layer",
    "MemoryStore",
    "RedisAddress",
    "RedisBounds",
    "RedisStore",
    "TieredStore",
    "key_of",
    "may_use_redis",
    "open_store",
]


def __getattr__(name: str) -> object:
    """Import the Redis half when it is asked for: without Redis no client need be there."""
    if name in ("RedisBounds", "RedisStore"):
        from . import redis_store

        return getattr(redis_store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
