"""Bytes by key: what one process worked out is there for the next. Memory, a file of the host's,
Redis, and these in tiers.

Every store has the same face, and no method of it raises because of what it holds or where it lies:

    get_many(keys) -> list of bytes or None, in the order of the keys; None is a miss. A use
    get_newest(keys)                         the same, what others wrote last; not a use
    may_have(key) -> bool                    False: a reading would be in vain
    used(keys)                               as if they had been read
    put_many([(key, value), ...])            may keep them, or not
    hottest(group, most) -> list of keys     of those that begin with "group/", the most used ones
    claim(keys, seconds) -> list of bool     False: another makes that value now; ask again later
    release(keys)                            what was claimed is made, and was put
    stats() -> dict[str, int]                counters since start, and what is held now
    flush(seconds) -> bool                   waits until what was put is written, or given up
    close()                                  afterwards everything is a miss

Where a request waits, it reads and claims with ``urgent=True``, which bounds the wait. With
``urgent=False`` something is loaded ahead, and no use: whoever needs it later says ``used``.

Not here    what the bytes mean, and what makes two keys equal (the engine's business).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .address import RedisAddress
from .dump import DumpRefused
from .key_file import key_of
from .memory import MemoryStore
from .opening import NAMESPACE, may_use_redis, open_store
from .seal import Seal
from .tiered import Layer, TieredStore
from .write_behind import WriteBounds

if TYPE_CHECKING:
    from .host import HostStore
    from .host_bounds import HostBounds
    from .namespace import Group, Namespace
    from .redis_bounds import RedisBounds
    from .redis_store import RedisStore
    from .replies import RedisUnusable
    from .transfer import Transferred, export_namespace, import_namespace

__all__ = [
    "NAMESPACE",
    "DumpRefused",
    "Group",
    "HostBounds",
    "HostStore",
    "Layer",
    "MemoryStore",
    "Namespace",
    "RedisAddress",
    "RedisBounds",
    "RedisStore",
    "RedisUnusable",
    "Seal",
    "TieredStore",
    "Transferred",
    "WriteBounds",
    "export_namespace",
    "import_namespace",
    "key_of",
    "may_use_redis",
    "open_store",
]

_LAZY = {
    "host": ("HostStore",),
    "host_bounds": ("HostBounds",),
    "namespace": ("Group", "Namespace"),
    "redis_bounds": ("RedisBounds",),
    "redis_store": ("RedisStore",),
    "replies": ("RedisUnusable",),
    "transfer": ("Transferred", "export_namespace", "import_namespace"),
}


def __getattr__(name: str) -> object:
    """Import what is asked for: its client or SQLite need be there only then."""
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
