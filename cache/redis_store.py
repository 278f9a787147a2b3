"""A store in Redis, shared by all gateways and workers of a namespace; its failures are misses.

Representation   two clients, counters, and a queue with its breaker; what lies in Redis tell
                 redis_entries and leases.
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
"""

import logging
from collections.abc import Sequence
from typing import Final, Literal

from . import deadline
from .address import RedisAddress
from .connecting import client_of
from .counters import Counters
from .leases import RedisLeases
from .namespace import Namespace
from .redis_bounds import USUAL, RedisBounds
from .redis_entries import RedisEntries
from .seal import Seal
from .write_behind import Pair, WriteBehind

_log = logging.getLogger(__name__)


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
        bounds: RedisBounds = USUAL,
    ) -> None:
        if key is None and trust != "network":
            raise ValueError(
                "a Redis store needs a key, or trust='network' where only accidents happen"
            )
        if ttl_s < 1:
            raise ValueError(f"ttl_s must be at least 1, got {ttl_s}")
        self._seal = Seal(key)
        self._prefix = namespace.encode() + b":"
        self._bounds = bounds
        # two, so that a reading never waits for what is written
        address = RedisAddress.of(url)
        self._reader = client_of(address, bounds.of_connections())
        self._writer = client_of(address, bounds.of_connections())
        self._entries = RedisEntries(
            self._reader, self._writer, self._seal, self._prefix, ttl_s=ttl_s, bounds=bounds
        )
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

    def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]:
        """The values of ``keys`` in their order; used, where a request waits for them.

        None stands for what is not there, does not verify or can't be had now.
        """
        values = self._get(keys, self._entries.that_may_be_there(keys), urgent)
        if urgent:
            self.used([key for key, value in zip(keys, values, strict=True) if value is not None])
        return values

    def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]:
        """As ``get_many``, but nothing is used; and whatever the map says, which may be some
        seconds old.
        """
        return self._get(keys, keys, urgent)

    def _get(
        self, keys: Sequence[bytes], asked: Sequence[bytes], urgent: bool
    ) -> list[bytes | None]:
        """The values of ``keys``, of which only some are asked for."""
        found: dict[bytes, bytes | None] = {}
        step = self._bounds.batch_keys
        with deadline.within(self._seconds(urgent)):
            for start in range(0, len(asked), step):
                if self._closed or self._breaker.is_open or deadline.left() <= 0:
                    break
                batch = asked[start : start + step]
                found.update(zip(batch, self._read(batch), strict=True))
        values = [found.get(key) for key in keys]
        hits = len(values) - values.count(None)
        self._counts.add(
            hits=hits,
            misses=len(keys) - hits,
            absent=len(keys) - len(asked),
            skipped=sum(key not in found for key in asked),
            read_bytes=sum(len(value) for value in found.values() if value is not None),
        )
        return values

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """One round trip."""
        try:
            found = self._entries.read(keys)
        except Exception as error:
            self._failed(error)
            return [None] * len(keys)
        for refusal in found.refused:
            self._failed(refusal)
        self._counts.add(invalid=found.invalid, oversized=found.oversized)
        return found.values

    def _seconds(self, urgent: bool) -> float:
        bounds = self._bounds
        return bounds.read_seconds if urgent else max(bounds.read_seconds, bounds.patient_seconds)

    def used(self, keys: Sequence[bytes]) -> None:
        """Queued: the write-behind thread counts them, and renews their time to live."""
        if keys:
            self._queue.put((key, None) for key in keys)

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """Keys of a group, those that were used most first; none where Redis can't be had now."""
        if self._closed or self._breaker.is_open:
            return []
        try:
            return self._entries.hottest(group, most)
        except Exception as error:
            self._failed(error)
            return []

    def may_have(self, key: bytes) -> bool:
        """False where the map has it not, or Redis is left alone: a miss, and counted as one."""
        if self._closed or self._breaker.is_open:
            self._counts.add(misses=1, skipped=1)
        elif self._entries.that_may_be_there([key]):
            return True
        else:
            self._counts.add(misses=1, absent=1)
        return False

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

    def claim(self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False) -> list[bool]:
        """False for each key that another process makes now, of the first ``batch_keys``.

        True also where nobody can tell.
        """
        bounds = self._bounds
        asked = list(keys[: bounds.batch_keys])
        if self._closed or self._breaker.is_open or not asked:
            return [True] * len(keys)
        try:
            with deadline.within(self._seconds(urgent)):
                granted = self._leases.claim(asked, seconds)
        except Exception as error:
            self._failed(error)
            return [True] * len(keys)
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

    def _write(self, pairs: list[Pair]) -> None:
        """Entries, on the write-behind thread."""
        tried = sum(value is not None for _, value in pairs)
        taken: list[bytes] = []
        try:
            taken = self._entries.write(pairs)
        except Exception as error:
            self._failed(error)
        # A refused write (out of memory, a read-only replica) says nothing against reading: the
        # breaker stays closed.
        self._counts.add(
            writes=len(taken),
            write_failures=tried - len(taken),
            written_bytes=sum(map(len, taken)),
        )

    def _knock(self) -> None:
        """Ask a Redis that failed whether it is back; on the write-behind thread."""
        self._counts.add(knocks=1)
        try:
            self._writer.ping()
            self._reader.ping()  # and its connection is there
            with deadline.within(self._bounds.read_seconds):
                self._entries.try_reading()
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
