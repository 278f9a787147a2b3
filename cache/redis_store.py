"""A store in Redis, shared by all gateways and workers of a namespace; its failures are misses.

Representation   one Redis string per entry: key "<namespace>:<key>", value as in seal.py, with a
                 time to live; beside them one string with a bit for each key (key_map), and for
                 each group of keys, what stands before the last "/", a sorted set of their names
                 by how often they were written and used: "hot/<group>". Leases: leases.py.
Invariants       I1 ``get_many`` and ``put_many`` never raise; what fails, or does not verify, is a
                    miss and counted.
                 I2 a value is handed out only if it was sealed for this namespace, key and secret.
                 I3 nothing read exceeds ``RedisBounds``: not a value, not a round trip, not a wait.
                 I4 after a failure no call touches the network until the write-behind thread was
                    answered once.
Cost             one round trip per ``batch_keys`` keys that may be there, plus the MAC (seal.py);
                 ``put_many`` only queues.
Threads          any thread; blocking, so call it from a worker thread and not from an event loop.
Not here         which entries are worth storing (the engine), the near copy (memory, tiered).

GETRANGE is used and not MGET: it is as fast in a pipeline, and a neighbour's 512 MB value costs one
value's bound.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from redis.exceptions import ReadOnlyError

from . import deadline, key_map
from .address import RedisAddress
from .connecting import ConnectionBounds, client_of
from .counters import Counters
from .key_map import KeyMap
from .leases import RedisLeases
from .namespace import Namespace
from .seal import OVERHEAD, Seal
from .write_behind import Pair, WriteBehind, WriteBounds

_log = logging.getLogger(__name__)

#: bytes of protocol around one reply: "$<length>\r\n...\r\n" takes 14, an error message up to some
#: hundreds
_REPLY_OVERHEAD: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisBounds:
    """All bounds of a Redis store, each with its unit and the reason for its default."""

    #: bytes of one value; all masks of a large rule of a 200,000-token vocabulary take a few
    #: hundred kilobytes
    value_bytes: int = 1 << 20
    #: bytes of one key without its namespace; ours are digests with a short prefix
    key_bytes: int = 512
    #: names that a group keeps of those used most
    hot_names: int = 10_000
    #: keys of one round trip; with value_bytes it bounds what a round trip can bring to 64 MiB
    batch_keys: int = 64
    #: seconds to connect; a Redis worth asking is in the same data centre
    connect_seconds: float = 0.25
    #: seconds for one write on the socket
    socket_seconds: float = 0.25
    #: seconds for all replies of one round trip of writes
    reply_seconds: float = 1.0
    #: seconds that ``get_many`` takes, and once more if it must connect: a compile is done without
    #: it in less
    read_seconds: float = 0.02
    #: seconds that ``claim`` takes, and once more to connect: who claims has no request waiting
    claim_seconds: float = 0.25
    #: seconds for which it is believed what keys there are
    map_seconds: float = 5.0
    #: of the write-behind queue, and how long Redis is left alone
    writes: WriteBounds = field(default_factory=WriteBounds)


class RedisStore:
    """Bytes by key in Redis.

    Args:
        url: as in address.py: one server, a socket, Sentinels or a cluster. Never logged.
        namespace: what separates deployments that share one Redis; part of what the MAC covers.
        key: the secret of the MAC, 16 bytes or more; None only together with ``trust="network"``.
        ttl_s: seconds after which an entry that nobody wrote again is gone.
        trust: "key" accepts only what was sealed with ``key``. "network" also allows no key at all:
            whoever can write to Redis can then choose masks, and only accidents are detected.

    Raises:
        ValueError: no key and no trust, a short key, or a URL of another kind. Redis itself is not
            asked: a server that is down at start is met as any failure later.
    """

    name: Final = "redis"

    def __init__(
        self,
        url: str,
        *,
        namespace: str,
        key: bytes | None,
        ttl_s: int = 7 * 24 * 3600,
        trust: Literal["key", "network"] = "key",
        bounds: RedisBounds = RedisBounds(),
    ) -> None:
        if key is None and trust != "network":
            raise ValueError(
                "a Redis store needs a key, or trust='network' where only accidents happen"
            )
        if ttl_s < 1:
            raise ValueError(f"ttl_s must be at least 1, got {ttl_s}")
        self._seal = Seal(key)
        self._prefix = namespace.encode() + b":"
        self._map_key = self._prefix + b"map"
        self._map = KeyMap(bounds.map_seconds)
        self._ttl_s = ttl_s
        self._bounds = bounds
        # two, so that a reading never waits for what is written
        address = RedisAddress.of(url)
        self._reader = client_of(address, _of_connections(bounds))
        self._writer = client_of(address, _of_connections(bounds))
        self._leases = RedisLeases(
            self._reader, self._writer, self._seal, self._prefix, self._lease_refused
        )
        self._closed = False
        self._counts = Counters(*_COUNTERS)
        self._queue = WriteBehind(
            self._write,
            self._give_back,
            self._knock,
            bounds.writes,
            batch_items=bounds.batch_keys,
        )
        self._breaker = self._queue.breaker

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of ``keys`` in their order.

        None stands for what is not there, does not verify or can't be had now.
        """
        asked = list(keys)
        if not self._map.is_old():
            asked = [key for key in keys if self._map.may_have(key)]
        found: dict[bytes, bytes | None] = {}
        step = self._bounds.batch_keys
        with deadline.within(self._bounds.read_seconds):
            for start in range(0, len(asked), step):
                if self._closed or self._breaker.is_open or deadline.left() <= 0:
                    break
                batch = asked[start : start + step]
                found.update(zip(batch, self._read(batch), strict=True))
        values = [found.get(key) for key in keys]
        hits = len(values) - values.count(None)
        if hits:
            self._queue.put((key, None) for key, value in found.items() if value is not None)
        self._counts.add(
            hits=hits,
            misses=len(keys) - hits,
            absent=len(keys) - len(asked),
            skipped=sum(key not in found for key in asked),
            read_bytes=sum(len(value) for value in found.values() if value is not None),
        )
        return values

    def get_newest(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """As ``get_many``: others write here, and of two the last has written."""
        return self.get_many(keys)

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """One round trip."""
        # one byte more than allowed, to see what is too long
        last = self._bounds.value_bytes + OVERHEAD
        reads_map = self._map.is_old()
        try:
            pipeline = self._reader.pipeline(transaction=False)
            for key in keys:
                pipeline.getrange(self._prefix + key, 0, last)
            if reads_map:
                pipeline.getrange(self._map_key, 0, key_map.BYTES - 1)
            replies = pipeline.execute(raise_on_error=False)
        except Exception as error:
            self._failed(error)
            return [None] * len(keys)
        if reads_map and isinstance(seen := replies.pop(), bytes):
            self._map.read(seen)
        return [self._open(key, reply) for key, reply in zip(keys, replies, strict=True)]

    def _open(self, key: bytes, reply: Any) -> bytes | None:
        """The value in a reply, or None."""
        if isinstance(reply, Exception) and not str(reply).startswith("WRONGTYPE"):
            self._failed(reply)  # not about this entry: loading, no permission, over its own limits
            return None
        if not isinstance(reply, bytes):
            self._counts.add(invalid=1)
            return None
        if not reply:
            return None  # GETRANGE of a key that is not there
        if len(reply) > self._bounds.value_bytes + OVERHEAD:
            self._counts.add(oversized=1)
            return None
        value = self._seal.unwrap(self._prefix + key, reply)
        self._counts.add(invalid=value is None)
        return value

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """Keys of a group, those that were used most first; none where Redis can't be had now."""
        if self._closed or self._breaker.is_open:
            return []
        try:
            names: Any = self._reader.zrevrange(self._hot_key(group), 0, most - 1)
        except Exception as error:
            self._failed(error)
            return []
        if not isinstance(names, list):
            return []
        keys = [group + b"/" + name for name in names[:most] if isinstance(name, bytes)]
        return [key for key in keys if len(key) <= self._bounds.key_bytes]

    def _hot_key(self, group: bytes) -> bytes:
        return self._prefix + b"hot/" + group

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Queue each pair for writing; returns at once."""
        bounds = self._bounds
        pairs = [
            (bytes(key), bytes(value))
            for key, value in items
            if len(value) <= bounds.value_bytes and len(key) <= bounds.key_bytes
        ]
        dropped = self._queue.put(pairs)
        self._counts.add(oversized=len(items) - len(pairs), dropped=dropped)

    def claim(self, keys: Sequence[bytes], seconds: float) -> list[bool]:
        """False for each key that another process makes now, of the first ``batch_keys``.

        True also where nobody can tell. A reading after a denial asks Redis, whatever the map says.
        """
        asked = list(keys[: self._bounds.batch_keys])
        if self._closed or self._breaker.is_open or not asked:
            return [True] * len(keys)
        try:
            with deadline.within(self._bounds.claim_seconds):
                granted = self._leases.claim(asked, seconds)
        except Exception as error:
            self._failed(error)
            return [True] * len(keys)
        for key, may in zip(asked, granted, strict=True):
            if not may:
                self._map.add(key_map.bit_of(key))
        self._counts.add(denied=granted.count(False))
        return granted + [True] * (len(keys) - len(asked))

    def release(self, keys: Sequence[bytes]) -> None:
        """Give back what this process has claimed, once what was put before is written."""
        self._queue.release(keys)

    def _give_back(self, keys: list[bytes]) -> None:
        """Leases, on the write-behind thread."""
        try:
            self._leases.release(keys)
        except Exception as error:
            self._failed(error)

    def _lease_refused(self, count: int) -> None:
        """Commands; they say nothing against reading entries, so the breaker stays closed."""
        self._counts.add(write_failures=count)

    def _write(self, batch: list[Pair]) -> None:
        """Entries, on the write-behind thread; one round trip."""
        written = [(key, value) for key, value in batch if value is not None]
        bits = [key_map.bit_of(key) for key, _ in written]
        try:
            pipeline = self._writer.pipeline(transaction=False)
            for key, value in written:
                full_key = self._prefix + key
                pipeline.set(full_key, self._seal.wrap(full_key, value), ex=self._ttl_s)
            for bit in bits:
                pipeline.setbit(self._map_key, bit, 1)
            pipeline.expire(self._map_key, self._ttl_s)
            self._count_uses(pipeline, batch)
            replies = pipeline.execute(raise_on_error=False)
        except Exception as error:
            self._counts.add(write_failures=len(written))
            self._failed(error)
            return
        for bit in bits:
            self._map.add(bit)
        if any(isinstance(reply, ReadOnlyError) for reply in replies):
            # the address may lead to another primary by now, whom a new connection finds
            self._writer.close()
        done = [pair for pair, reply in zip(written, replies, strict=False) if reply is True]
        # A refused write (out of memory, a read-only replica) says nothing against reading: the
        # breaker stays closed.
        self._counts.add(
            writes=len(done),
            write_failures=len(written) - len(done),
            written_bytes=sum(len(value) for _, value in done),
        )

    def _count_uses(self, pipeline: Any, batch: list[Pair]) -> None:
        """Keys without a value were only used: they live on."""
        groups = set()
        for key, value in batch:
            group, _, name = key.rpartition(b"/")
            if value is None:
                pipeline.expire(self._prefix + key, self._ttl_s)
            if group:
                groups.add(group)
                pipeline.zincrby(self._hot_key(group), 1, name)
        for group in groups:
            pipeline.zremrangebyrank(self._hot_key(group), 0, -self._bounds.hot_names - 1)
            pipeline.expire(self._hot_key(group), self._ttl_s)

    def _knock(self) -> None:
        """Ask a Redis that failed whether it is back; on the write-behind thread."""
        self._counts.add(knocks=1)
        try:
            self._writer.ping()
            self._reader.ping()  # and its connection is there
            with deadline.within(self._bounds.read_seconds):
                self._reader.getrange(self._prefix + b"knock", 0, 0)  # may it, and in time
        except Exception:
            self._breaker.failed()
            return
        self._breaker.knocked()
        _log.info("the Redis cache answers again")

    def _failed(self, error: Exception) -> None:
        self._counts.add(failures=1)
        if self._breaker.failed():
            # The type alone: messages of a client library may quote an address or what the server
            # sent.
            _log.warning(
                "the Redis cache failed (%s) and is left alone for now", type(error).__name__
            )
            self._queue.wake()

    def flush(self, timeout_s: float) -> bool:
        """Wait until what was put so far was written or given up; False if that took longer."""
        return self._queue.flush(timeout_s)

    def namespace(self) -> Namespace:
        """All that lies in this store's namespace, for operators; unlike the store it raises."""
        return Namespace(self._writer, self._prefix, self._seal, self._bounds.value_bytes)

    def stats(self) -> dict[str, int]:
        """Counters since start, what waits, and whether Redis is left alone now (``open``)."""
        return {**self._counts.snapshot(), **self._queue.stats()}

    def close(self) -> None:
        """Write what waits, within ``close_seconds``, and let go of the connections."""
        self._closed = True
        self._queue.close()
        self._reader.close()
        self._writer.close()


_COUNTERS: Final = (
    "hits",
    "misses",  # all that was not a hit, whatever the reason
    "absent",  # misses that were not asked for, because the map of keys has them not
    "skipped",  # misses that were not asked for: Redis left alone, late, or closed
    "read_bytes",
    "invalid",  # read, but not sealed by us for this key
    "oversized",  # read or put, and larger than the bounds
    "failures",  # time-outs, refused connections, errors of the server
    "writes",
    "written_bytes",
    "write_failures",  # entries and leases that could not be written, or not be given back
    "knocks",  # times a Redis that had failed was asked whether it is back
    "denied",  # claims of what another process makes now
    "dropped",  # not queued, because too much waits already
)


def _of_connections(bounds: RedisBounds) -> ConnectionBounds:
    replies = bounds.batch_keys * (bounds.value_bytes + OVERHEAD + _REPLY_OVERHEAD)
    return ConnectionBounds(
        reply_bytes=replies + key_map.BYTES + _REPLY_OVERHEAD,
        reply_seconds=bounds.reply_seconds,
        socket_seconds=bounds.socket_seconds,
        connect_seconds=bounds.connect_seconds,
    )
