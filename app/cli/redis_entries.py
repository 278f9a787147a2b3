"""``switchyard cache stats``, ``export`` and ``import``: the entries in Redis."""

import sys
from contextlib import closing
from pathlib import Path

from cache import (
    DumpRefused,
    RedisLog,
    StoreUnusable,
    export_namespace,
    import_namespace,
    key_of,
    may_use_redis,
    open_store,
)

from ..files import replacing
from ..settings import GatewaySettings
from .environment import Unusable
from .terminal import table

#: seconds of a survey of all entries; after that the table covers a part
SURVEY_SECONDS = 30.0
#: seconds of an export
EXPORT_SECONDS = 3600.0


def open_redis(settings: GatewaySettings) -> RedisLog:
    """Return a client of the configured Redis, not yet connected. Raises Unusable."""
    if settings.redis_url is None:
        raise Unusable("SWITCHYARD_REDIS_URL is not set")
    secret = settings.secret
    if not may_use_redis(secret, settings.cache_trust):
        raise Unusable("Redis is not used: set SWITCHYARD_CACHE_KEY, or _CACHE_TRUST=network")
    store = open_store(
        redis_url=settings.redis_url.get_secret_value(),
        key=secret,
        ttl_s=settings.cache_ttl_seconds,
        trust=settings.cache_trust,
    )
    assert store is not None
    return store


def show_shared(settings: GatewaySettings) -> int:
    """Print the table; return the exit status. Raises Unusable."""
    try:
        with closing(open_redis(settings)) as store:
            survey = store.namespace().survey(SURVEY_SECONDS)
    except StoreUnusable as error:
        return _failed(error)
    head = ("kind", "version", "vocabulary", "entries", "bytes", "ttl s", "used", "most uses")
    rows = [
        (
            group.kind,
            group.version,
            group.vocabulary,
            group.entries,
            group.bytes,
            f"{group.least_ttl:,}..{group.most_ttl:,}",
            group.used,
            group.most_uses,
        )
        for group in survey.groups
    ]
    print(table([head, *rows]))
    print()
    print(table(list(survey.server.items())) if survey.server else "INFO is not permitted")
    if not survey.is_whole:
        print("switchyard: the survey is incomplete: it ran out of time", file=sys.stderr)
    return 0 if survey.is_whole else 1


def export_shared(settings: GatewaySettings, file: Path) -> int:
    """Export to a whole file or none; return the exit status. Raises Unusable."""
    try:
        with closing(open_redis(settings)) as store, replacing(file) as out:
            done = export_namespace(store, out, seconds=EXPORT_SECONDS)
    except StoreUnusable as error:
        return _failed(error)
    except OSError as error:
        raise Unusable(f"{file} cannot be written: {error.strerror}") from None
    print(f"exported {done.entries:,} entries, {done.bytes:,} bytes of values, to {file}")
    if done.left_out:
        print(
            f"switchyard: {done.left_out:,} entries were left out: not sealed with this cache key",
            file=sys.stderr,
        )
    return 1 if done.left_out else 0


def import_shared(settings: GatewaySettings, file: Path, key_file: Path | None) -> int:
    """Import a file; return the exit status. Raises Unusable."""
    file_key = None if key_file is None else _read_key(key_file)
    try:
        with closing(open_redis(settings)) as store, file.open("rb") as data:
            if not data.seekable():
                raise Unusable(f"{file} must be a file: it is read twice")
            done = import_namespace(store, data, file_key=file_key)
    except (StoreUnusable, DumpRefused) as error:
        return _failed(error)
    except OSError as error:
        raise Unusable(f"{file} cannot be read: {error.strerror}") from None
    print(f"imported {done.entries:,} entries, {done.bytes:,} bytes of values, from {file}")
    return 0


def _read_key(key_file: Path) -> bytes:
    try:
        key = key_of(None, key_file)
    except ValueError as error:
        raise Unusable(str(error)) from None
    assert key is not None
    return key.encode()


def _failed(error: Exception) -> int:
    print(f"switchyard: {error}", file=sys.stderr)
    return 1
