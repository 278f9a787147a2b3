"""All that lies in one namespace of a Redis, for operators: what there is, and entry by entry.

Representation   see entries.py; nothing is kept here.
Invariants       I1 nothing takes longer than the seconds that it was given, nor lists more than
                    ``MOST_ENTRIES`` keys of at most ``MOST_KEY_BYTES``, or ``MOST_GROUPS``;
                    whoever gets only a part is told. Longer keys are none that a store writes.
                 I2 an entry is handed out only if it was sealed for its key.
                 I3 what Redis does wrong, or answers in another shape, is ``RedisUnusable``,
                    without an address in it: these are an operator's questions, and a cache that
                    looks empty would be no answer.
Cost             SCAN walks the whole database, with all that others keep in it.
Not here         reading and writing for compiles (redis_store), files (dump, transfer).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

from redis.exceptions import RedisError

from . import replies
from .connecting import primaries_of
from .dump import MOST_KEY_BYTES
from .entries import MOST_ENTRIES, Entry, batches, is_entry
from .replies import RedisUnusable
from .seal import OVERHEAD, Seal

#: keys that Redis looks at for one round trip: about a millisecond of its time
SCANNED_AT_ONCE: Final = 1_000
#: groups of a survey: versions times vocabularies, of which a site has some
MOST_GROUPS: Final = 1_000


class ListingCut(RedisUnusable):
    """Not all keys could be listed within the bounds."""


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
    #: entries whose use is remembered, and how often the most used one was
    used: int = 0
    most_uses: int = 0

    def add(self, size: int, ttl: int) -> None:
        self.entries += 1
        self.bytes += size
        self.least_ttl = ttl if self.least_ttl is None else min(ttl, self.least_ttl)
        self.most_ttl = ttl if self.most_ttl is None else max(ttl, self.most_ttl)


@dataclass(slots=True)
class Survey:
    """What lies in a namespace; ``is_whole`` unless time or a bound ran out."""

    groups: list[Group] = field(default_factory=list)
    is_whole: bool = True
    #: of the server as a whole; of a cluster, one node
    server: dict[str, str] = field(default_factory=dict)


class Namespace:
    """See the file's header. ``prefix``: what stands before each key."""

    def __init__(self, client: Any, prefix: bytes, seal: Seal, value_bytes: int) -> None:
        self.seal = seal
        self.value_bytes = value_bytes
        self._client = client
        self._prefix = prefix

    def check(self) -> None:
        """Raises RedisUnusable unless Redis answers, of a cluster every node that has keys."""
        for node in self._ask(primaries_of, self._client):
            replies.check_pong(self._ask(node.ping))

    def keys(self, seconds: float) -> Iterator[bytes]:
        """Every entry's key once. Raises RedisUnusable; ListingCut when time or bound ran out."""
        pattern = re.sub(rb"([\\*?\[\]])", rb"\\\1", self._prefix) + b"*"
        seen: set[bytes] = set()
        until = monotonic() + seconds
        for found in self._scan(pattern):
            for key in found:
                short = key.removeprefix(self._prefix)
                if len(short) <= MOST_KEY_BYTES and is_entry(short) and short not in seen:
                    seen.add(short)
                    yield short
            if len(seen) > MOST_ENTRIES:
                raise ListingCut(f"there are more than {MOST_ENTRIES:,} entries")
            if monotonic() > until:
                raise ListingCut(f"listing the keys took longer than {seconds:g} seconds")

    def _scan(self, pattern: bytes) -> Iterator[list[bytes]]:
        """Keys of one server, or of all primaries of a cluster, some at a time."""
        for node in self._ask(primaries_of, self._client):
            cursor, is_begun = 0, False
            while cursor or not is_begun:
                reply = self._ask(node.scan, cursor, pattern, SCANNED_AT_ONCE)
                cursor, found = replies.keys_of(reply)
                is_begun = True
                yield found

    def read(self, keys: Sequence[bytes]) -> tuple[list[Entry], int]:
        """Their entries, and how many of the keys hold what was not sealed by us for them.

        What is gone by now is neither.
        """
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.getrange(self._prefix + key, 0, self.value_bytes + OVERHEAD)
            pipeline.zscore(*self._place_of_use(key))
        told = self._told(pipeline)
        held = [
            self._entry(key, replies.sealed_of(sealed), replies.uses_of(uses))
            for key, sealed, uses in zip(keys, told[::2], told[1::2], strict=True)
            if sealed != b""  # what GETRANGE answers for a key that is not there
        ]
        entries = [entry for entry in held if entry is not None]
        return entries, len(held) - len(entries)

    def _entry(self, key: bytes, sealed: bytes | None, uses: int) -> Entry | None:
        value = None if sealed is None else self.seal.unwrap(self._prefix + key, sealed)
        if value is None or len(value) > self.value_bytes:
            return None
        return Entry(key, value, uses)

    def note_uses(self, entries: Sequence[Entry]) -> None:
        """Raises what is remembered of uses to what the entries say; a hint, and sent as one."""
        pipeline = self._client.pipeline(transaction=False)
        for entry in entries:
            hot_key, name = self._place_of_use(entry.key)
            if entry.uses:
                pipeline.zadd(hot_key, {name: entry.uses}, gt=True)
        for reply in self._told(pipeline):
            replies.check_noted(reply)

    def survey(self, seconds: float) -> Survey:
        """What lies here, looked at for so long at most. Raises RedisUnusable."""
        survey = Survey(server=self._server())
        groups: dict[tuple[bytes, ...], Group] = {}
        until = monotonic() + seconds
        try:
            for keys in batches(self.keys(seconds), SCANNED_AT_ONCE):
                self._measure(keys, groups, until)
        except ListingCut:
            survey.is_whole = False
        survey.groups = [groups[key] for key in sorted(groups)]
        return survey

    def _measure(
        self, keys: Sequence[bytes], groups: dict[tuple[bytes, ...], Group], until: float
    ) -> None:
        """One round trip, and one for each group that is new. Raises ListingCut."""
        pipeline = self._client.pipeline(transaction=False)
        for key in keys:
            pipeline.memory_usage(self._prefix + key)
            pipeline.ttl(self._prefix + key)
        told = self._told(pipeline)
        for key, *measures in zip(keys, told[::2], told[1::2], strict=True):
            size, ttl = replies.size_of(measures[0]), replies.ttl_of(measures[1])
            if size is not None and ttl is not None:  # else it is gone by now
                self._group_of(key, groups, until).add(size, ttl)
        if monotonic() > until:
            raise ListingCut("the survey took longer than it may")

    def _group_of(self, key: bytes, groups: dict[tuple[bytes, ...], Group], until: float) -> Group:
        parts = tuple(key.split(b"/")[:3])
        if parts not in groups:
            if len(groups) == MOST_GROUPS:
                raise ListingCut(f"there are more than {MOST_GROUPS:,} groups")
            if monotonic() > until:
                raise ListingCut("the survey took longer than it may")
            kind, version, vocabulary = (part.decode("utf-8", "replace") for part in parts)
            groups[parts] = Group(kind, version, vocabulary)
            self._measure_uses(groups[parts], self._place_of_use(key)[0])
        return groups[parts]

    def _measure_uses(self, group: Group, hot_key: bytes) -> None:
        """One round trip; what is no sorted set tells of no uses."""
        pipeline = self._client.pipeline(transaction=False)
        pipeline.zcard(hot_key)
        pipeline.zrevrange(hot_key, 0, 0, withscores=True)
        used, best = self._told(pipeline)
        group.used = replies.count_of(used)
        group.most_uses = replies.most_uses_of(best)

    def _server(self) -> dict[str, str]:
        """What sizing the server needs, or one node; nothing where INFO is not permitted."""
        node = self._ask(primaries_of, self._client)[0]
        try:
            told = self._ask(node.info)
        except RedisUnusable:
            self.check()
            return {}
        return replies.facts_of(told)

    def _place_of_use(self, key: bytes) -> tuple[bytes, bytes]:
        """The sorted set in which an entry's uses are counted, and its name there."""
        group, _, name = key.rpartition(b"/")
        return self._prefix + b"hot/" + group, name

    def _told(self, pipeline: Any) -> list[Any]:
        """In one round trip. Only a value of another type is an answer that is an exception."""
        told: list[Any] = self._ask(pipeline.execute, raise_on_error=False)
        for reply in told:
            if isinstance(reply, Exception) and not replies.is_of_another_type(reply):
                raise _unusable(reply)
        return told

    def _ask(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except (RedisError, OSError) as error:
            raise _unusable(error) from None


def _unusable(error: Exception) -> RedisUnusable:
    """The type alone: a client library's messages may quote an address."""
    return RedisUnusable(f"Redis failed ({type(error).__name__})")
