"""The shared cache: a log of artifacts in Redis.

    log = open_store(redis_url=..., key=..., ttl_s=...)     None if Redis must not be used
    Compiler(vocabulary, store=log).start()                 follow it in the background

``connect_async`` makes clients for the other data of a gateway in Redis (its keys and limits).

Not here    the content of artifacts, and when to read and write them (the engine's artifact_cache).
"""

from .address import RedisAddress
from .async_clients import connect_async
from .clients import StoreUnusable, asking
from .dump import DumpRefused
from .opening import NAMESPACE, key_of, may_use_redis, open_store
from .redis_log import RedisLog
from .seal import Seal
from .transfer import export_namespace, import_namespace
