"""The entries of a namespace of a Redis, and the hints beside them: read in one round trip, written
in one.

Representation   one Redis string per entry: key "<namespace>:<key>", value as in seal.py, with a
                 time to live. Beside them one string with a bit for each key (key_map), "map", and
                 for each group of keys, what stands before the last "/", a sorted set of their
                 names by how often they were written and used, "hot/<group>", of the ``hot_names``
                 used most.
Invariants       I1 a value is handed out only if it was sealed for this namespace, key and secret,
                    and has at most ``value_bytes``.
                 I2 the hints carry no seal: a false one costs a question or a miss.
Cost             one round trip a call, plus the MAC (seal.py); the map comes with a reading now and
                 then.
Threads          as the clients; ``write`` has one of its own, so that no reading waits for it.
Not here         failures, and when Redis is not asked at all (redis_store); other names of the
                 namespace (leases).

GETRANGE is used and not MGET: it is as fast in a pipeline, and a neighbour's 512 MB value costs one
value's bound.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import ReadOnlyError

from . import key_map
from .key_map import KeyMap
from .redis_bounds import RedisBounds
from .replies import is_of_another_type
from .seal import OVERHEAD, Seal
from .write_behind import Pair


@dataclass(slots=True)
class Found:
    """What one reading brought: values in the order of its keys, None for a miss, and of the misses
    how many there are which are not sealed by us for their key, how many that are too long, and
    what Redis refused.
    """

    values: list[bytes | None] = field(default_factory=list)
    invalid: int = 0
    oversized: int = 0
    refused: list[Exception] = field(default_factory=list)


class RedisEntries:
    """See the file's header.

    Args:
        reader, writer: Redis clients; the writer is the write-behind thread's.
        prefix: what all names of the namespace begin with.

    Raises (all methods that ask Redis): what the client raises.
    """

    def __init__(
        self,
        reader: Any,
        writer: Any,
        seal: Seal,
        prefix: bytes,
        *,
        ttl_s: int,
        bounds: RedisBounds,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._seal = seal
        self._prefix = prefix
        self._ttl_s = ttl_s
        self._bounds = bounds
        self._map = KeyMap(bounds.map_seconds)
        self.map_key = prefix + b"map"

    # -- reading -----------------------------------------------------------------------------------
    def that_may_be_there(self, keys: Sequence[bytes]) -> list[bytes]:
        """Those of the keys that the map has; all, while it is too old to be believed."""
        if self._map.is_old():
            return list(keys)
        return [key for key in keys if self._map.may_have(key)]

    def read(self, keys: Sequence[bytes]) -> Found:
        """One round trip, which brings the map too if that is old."""
        # one byte more than allowed, to see what is too long
        last = self._bounds.value_bytes + OVERHEAD
        reads_map = self._map.is_old()
        pipeline = self._reader.pipeline(transaction=False)
        for key in keys:
            pipeline.getrange(self._prefix + key, 0, last)
        if reads_map:
            pipeline.getrange(self.map_key, 0, key_map.BYTES - 1)
        replies = pipeline.execute(raise_on_error=False)
        if reads_map:
            self._read_map(replies.pop())
        found = Found()
        for key, reply in zip(keys, replies, strict=True):
            found.values.append(self._open(key, reply, found))
        return found

    def _read_map(self, reply: Any) -> None:
        """What is no map tells of no key, until a write has put one in its place."""
        seen = b"" if is_of_another_type(reply) else reply
        if isinstance(seen, bytes):
            self._map.read(seen)

    def _open(self, key: bytes, reply: Any, found: Found) -> bytes | None:
        """The value in a reply, or None; then ``found`` counts why."""
        if isinstance(reply, Exception) and not is_of_another_type(reply):
            found.refused.append(reply)  # not about this entry: loading, no permission, its limits
            return None
        if not isinstance(reply, bytes):
            found.invalid += 1
            return None
        if not reply:
            return None  # GETRANGE of a key that is not there
        if len(reply) > self._bounds.value_bytes + OVERHEAD:
            found.oversized += 1
            return None
        value = self._seal.unwrap(self._prefix + key, reply)
        found.invalid += value is None
        return value

    def try_reading(self) -> None:
        """A reading of what is not there: whether it is permitted, and in time."""
        self._reader.getrange(self._prefix + b"knock", 0, 0)

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """Keys of a group, those that were used most first."""
        names: Any = self._reader.zrevrange(self.hot_key(group), 0, most - 1)
        if not isinstance(names, list):
            return []
        keys = [group + b"/" + name for name in names[:most] if isinstance(name, bytes)]
        return [key for key in keys if len(key) <= self._bounds.key_bytes]

    def hot_key(self, group: bytes) -> bytes:
        """Where the uses of a group are counted."""
        return self._prefix + b"hot/" + group

    # -- writing -----------------------------------------------------------------------------------
    def write(self, pairs: Sequence[Pair]) -> list[bytes]:
        """Puts each pair, notes it in the map and counts its use; a key without a value was only
        used, and lives on. Returns the values that Redis took; the others it refused.
        """
        written = [(key, value) for key, value in pairs if value is not None]
        pipeline = self._writer.pipeline(transaction=False)
        for key, value in written:
            full_key = self._prefix + key
            pipeline.set(full_key, self._seal.wrap(full_key, value), ex=self._ttl_s)
        for key, _ in written:
            pipeline.setbit(self.map_key, key_map.bit_of(key), 1)
        pipeline.expire(self.map_key, self._ttl_s)
        self._count_uses(pipeline, pairs)
        replies = pipeline.execute(raise_on_error=False)
        for key, _ in written:
            self._map.add(key_map.bit_of(key))
        if any(map(is_of_another_type, replies[len(written) : 2 * len(written)])):
            self._writer.delete(self.map_key)  # it is no map
        if any(isinstance(reply, ReadOnlyError) for reply in replies):
            # the address may lead to another primary by now, whom a new connection finds
            self._writer.close()
        return [
            value for (_, value), reply in zip(written, replies, strict=False) if reply == b"OK"
        ]

    def _count_uses(self, pipeline: Any, pairs: Sequence[Pair]) -> None:
        groups = set()
        for key, value in pairs:
            group, _, name = key.rpartition(b"/")
            if value is None:
                pipeline.expire(self._prefix + key, self._ttl_s)
            if group:
                groups.add(group)
                pipeline.zincrby(self.hot_key(group), 1, name)
        for group in groups:
            pipeline.zremrangebyrank(self.hot_key(group), 0, -self._bounds.hot_names - 1)
            pipeline.expire(self.hot_key(group), self._ttl_s)
