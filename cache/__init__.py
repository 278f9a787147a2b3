"""The shared cache: a log of artifacts in Redis.

    log = open_store(redis_url=..., key=..., ttl_s=...)     None if Redis must not be used
    Compiler(vocabulary, store=log).start()                 follow it in the background

Not here    the content of artifacts, and when to read and write them (the engine's artifact_cache).
"""

from .address import RedisAddress
from .async_clients import connect_async
from .clients import StoreUnusable
from .dump import DumpRefused
from .namespace import Group, Namespace
from .opening import NAMESPACE, key_of, may_use_redis, open_store
from .redis_log import RedisLog
from .seal import Seal
from .transfer import Transferred, export_namespace, import_namespace

__all__ = [
    "NAMESPACE",
    "DumpRefused",
    "Group",
    "Namespace",
    "RedisAddress",
    "RedisLog",
    "Seal",
    "StoreUnusable",
    "Transferred",
    "connect_async",
    "export_namespace",
    "import_namespace",
    "key_of",
    "may_use_redis",
    "open_store",
]
