"""All entries of one namespace in Redis, for operators: statistics, and entry by entry.

Representation   see redis_log; this module caches nothing.
Invariants       I1 a listing stops after the given seconds and at ``MAX_ENTRIES``, and reports
                    whether it is complete.
                 I2 an entry is returned only if its seal is valid.
                 I3 every failure of Redis raises ``StoreUnusable``, so that it cannot be mistaken
                    for an empty namespace.
Cost             SCAN walks the whole database, including other applications' keys.
Not here         the operations of replicas (redis_log), files (dump, transfer).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from .clients import StoreUnusable, asking, is_refused
from .entries import (
    MAX_ENTRIES,
    MAX_KEY_BYTES,
    MAX_VALUE_BYTES,
    Entry,
    batches,
    is_entry,
    place_of_use,
    uses_of,
    weight,
)
from .seal import OVERHEAD, Seal

#: keys per SCAN step: about a millisecond of Redis' time
SCANNED_AT_ONCE: Final = 1_000
#: maximum groups of a survey: versions times vocabularies
MAX_GROUPS: Final = 1_000
#: fields of INFO in a survey, and maximum characters of one
SERVER_FACTS: Final = (
    "redis_version",
    "used_memory",
    "maxmemory",
    "maxmemory_policy",
    "evicted_keys",
)
MAX_LETTERS: Final = 100


class ListingCut(StoreUnusable):
    """A listing reached a limit before it was complete."""


@dataclass(slots=True)
class Group:
    """The entries of one kind, version and vocabulary; times to live in seconds."""

    kind: str
    version: str
    vocabulary: str
    entries: int = 0
    bytes: int = 0
    least_ttl: int | None = None
    most_ttl: int | None = None
    #: names with a popularity, and the popularity of the first, as uses now
    used: int = 0
    most_uses: int = 0

    def add(self, size: int, ttl: int) -> None:
        self.entries += 1
        self.bytes += size
        self.least_ttl = ttl if self.least_ttl is None else min(ttl, self.least_ttl)
        self.most_ttl = ttl if self.most_ttl is None else max(ttl, self.most_ttl)


@dataclass(slots=True)
class Survey:
    """Statistics of a namespace; ``is_whole`` unless a limit was reached."""

    groups: list[Group] = field(default_factory=list)
    is_whole: bool = True
    #: fields of INFO; for a cluster, of one node
    server: dict[str, str] = field(default_factory=dict)


class Namespace:
    """See the module's docstring. ``prefix``: the beginning of each key."""

    def __init__(self, client: Any, prefix: bytes, seal: Seal) -> None:
        self.seal = seal
        self._client = client
        self._prefix = prefix

    def check(self) -> None:
        """Raises StoreUnusable unless Redis answers."""
        with asking():
            if self._client.ping() is not True:
                raise TypeError

    def keys(self, seconds: float) -> Iterator[bytes]:
        """Yield the key of each entry once. Raises StoreUnusable, and ListingCut at a limit."""
        pattern = re.sub(rb"([\\*?\[\]])", rb"\\\1", self._prefix) + b"*"
        seen: set[bytes] = set()
        until = monotonic() + seconds
        with asking():
            for batch in self._scan(pattern):
                for key in batch:
                    short = key.removeprefix(self._prefix)
                    if len(short) <= MAX_KEY_BYTES and is_entry(short) and short not in seen:
                        if len(seen) == MAX_ENTRIES:
                            raise ListingCut(f"there are more than {MAX_ENTRIES:,} entries")
                        seen.add(short)
                        yield short
                if monotonic() > until:
                    raise ListingCut(f"listing the keys took longer than {seconds:g} seconds")

    def _scan(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Yield lists of keys, of one server or of all primaries of a cluster. redis-py's iterator
        returns only when it finds a key, so the caller could not stop a search without results.
        """
        is_cluster = hasattr(self._client, "get_primaries")
        for node in self._client.get_primaries() if is_cluster else [None]:
            where = {"target_nodes": node} if is_cluster else {}
            cursor = 0
            while True:
                cursor, batch = self._client.scan(cursor, pattern, SCANNED_AT_ONCE, **where)
                yield batch
                if is_cluster:
                    (cursor,) = cursor.values()
                if cursor == 0:
                    break

    def read(self, keys: Sequence[bytes]) -> tuple[list[Entry], int]:
        """Return the entries of the keys, and the number of values without a valid seal. Missing
        keys count as neither.
        """
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.getrange(self._prefix + key, 0, MAX_VALUE_BYTES + OVERHEAD - 1)
            pipeline.zscore(*place_of_use(self._prefix, key))
        replies = self._replies(pipeline)
        held = [
            self._entry(key, sealed, score)
            for key, sealed, score in zip(keys, replies[::2], replies[1::2], strict=True)
            if sealed != b""  # GETRANGE returns this for a missing key
        ]
        entries = [entry for entry in held if entry is not None]
        return entries, len(held) - len(entries)

    def _entry(self, key: bytes, sealed: Any, score: Any) -> Entry | None:
        if not isinstance(sealed, bytes):
            return None
        value = self.seal.unwrap(self._prefix + key, sealed)
        return None if value is None else Entry(key, value, uses_of(score))

    def note_uses(self, entries: Sequence[Entry]) -> None:
        """Raise the popularity of the entries to their ``uses``."""
        pipeline = self._client.pipeline(transaction=False)
        for entry in entries:
            hot_key, name = place_of_use(self._prefix, entry.key)
            if entry.uses:
                pipeline.zadd(hot_key, {name: entry.uses * weight()}, gt=True)
        self._replies(pipeline)

    def survey(self, seconds: float) -> Survey:
        """Return statistics, collected within ``seconds``. Raises StoreUnusable."""
        survey = Survey(server=self._server())
        groups: dict[tuple[bytes, ...], Group] = {}
        until = monotonic() + seconds
        try:
            for keys in batches(self.keys(seconds), SCANNED_AT_ONCE):
                self._measure(keys, groups)
                if monotonic() > until:
                    raise ListingCut("the survey took too long")
        except ListingCut:
            survey.is_whole = False
        survey.groups = [groups[key] for key in sorted(groups)]
        return survey

    def _measure(self, keys: Sequence[bytes], groups: dict[tuple[bytes, ...], Group]) -> None:
        """Add the keys to their groups, with one round trip, and one per new group.

        Raises ListingCut.
        """
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.memory_usage(self._prefix + key)
            pipeline.ttl(self._prefix + key)
        replies = self._replies(pipeline)
        for key, size, ttl in zip(keys, replies[::2], replies[1::2], strict=True):
            if isinstance(size, int) and isinstance(ttl, int) and ttl > -2:  # else the key is gone
                self._group_of(key, groups).add(size, ttl)

    def _group_of(self, key: bytes, groups: dict[tuple[bytes, ...], Group]) -> Group:
        parts = tuple(key.split(b"/")[:3])
        if parts not in groups:
            if len(groups) == MAX_GROUPS:
                raise ListingCut(f"there are more than {MAX_GROUPS:,} groups")
            kind, version, vocabulary = (part.decode("utf-8", "replace") for part in parts)
            groups[parts] = group = Group(kind, version, vocabulary)
            pipeline = self._client.pipeline(transaction=False)
            hot_key = place_of_use(self._prefix, key)[0]
            pipeline.zcard(hot_key)
            pipeline.zrevrange(hot_key, 0, 0, withscores=True)
            used, best = self._replies(pipeline)
            group.used = used if isinstance(used, int) else 0
            group.most_uses = uses_of(best[0][1]) if isinstance(best, list) and best else 0
        return groups[parts]

    def _server(self) -> dict[str, str]:
        """Return the fields of INFO that help to size the server; empty without permission."""
        self.check()
        try:
            reply = self._client.info()
            # a cluster's reply is a mapping from nodes
            facts = reply if "redis_version" in reply else next(iter(reply.values()))
            return {name: str(facts[name])[:MAX_LETTERS] for name in SERVER_FACTS if name in facts}
        except Exception:
            return {}

    def _replies(self, pipeline: Any) -> list[Any]:
        """Execute in one round trip. The reply of a rejected command is an exception."""
        with asking():
            replies: list[Any] = pipeline.execute(raise_on_error=False)
            for reply in replies:
                is_refused(reply)
        return replies
