"""A store in this process's memory, bounded in bytes; the least recently used entry goes first.

Representation   one ordered dict, oldest use first; the sum of the entries' costs beside it.
Invariants       I1 the sum of all costs is at most ``max_bytes``.
                 I2 an entry's cost is len(key) + len(value) + ENTRY_BYTES.
Cost             O(1) a key.
Threads          one lock around each call; values are immutable, so what was handed out stays
                 valid.
Not here         copies for other processes (redis_store), joining the two (tiered), who makes what
                 is missing (leases).
"""

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Final

from .leases import ThreadLeases

#: bytes that an entry costs beside its key and value: two bytes objects (33 each) and its place in
#: the ordered dict (about 160 with the table's free slots). Without it a million tiny entries would
#: be counted as nothing.
ENTRY_BYTES = 226


class MemoryStore:
    """Least-recently-used store of at most ``max_bytes``, counting keys, values and overhead."""

    name: Final = "memory"

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 0:
            raise ValueError(f"max_bytes must not be negative, got {max_bytes:,}")
        self._max_bytes = max_bytes
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()
        self._leases = ThreadLeases()
        names = ("hits", "misses", "puts", "evictions", "oversized", "denied")
        self._counts = dict.fromkeys(names, 0)

    def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]:
        """The values of ``keys`` in their order, None for each that is not held."""
        with self._lock:
            values = [self._entries.get(key) for key in keys]
            for key, value in zip(keys, values, strict=True):
                if value is not None:
                    self._entries.move_to_end(key)
            hits = len(values) - values.count(None)
            self._counts["hits"] += hits
            self._counts["misses"] += len(values) - hits
        return values

    def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]:
        """Nothing: nobody else writes here."""
        return [None] * len(keys)

    def used(self, keys: Sequence[bytes]) -> None:
        """As if they had been read."""
        with self._lock:
            for key in keys:
                if key in self._entries:
                    self._entries.move_to_end(key)

    def may_have(self, key: bytes) -> bool:
        """Whether it is held."""
        return key in self._entries

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Keep each pair, the last as the most recent; one larger than the store is not kept."""
        with self._lock:
            for key, value in items:
                self._put(bytes(key), bytes(value))

    def _put(self, key: bytes, value: bytes) -> None:
        self._drop(key)
        cost = _cost(key, value)
        if cost > self._max_bytes:
            self._counts["oversized"] += 1
            return
        while self._bytes + cost > self._max_bytes:
            self._drop(next(iter(self._entries)))
            self._counts["evictions"] += 1
        self._entries[key] = value
        self._bytes += cost
        self._counts["puts"] += 1

    def _drop(self, key: bytes) -> None:
        value = self._entries.pop(key, None)
        if value is not None:
            self._bytes -= _cost(key, value)

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """None: what lies here is near already."""
        return []

    def claim(self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False) -> list[bool]:
        """True for each key that no other thread of this process makes now."""
        granted = self._leases.claim(keys, seconds)
        with self._lock:
            self._counts["denied"] += granted.count(False)
        return granted

    def release(self, keys: Sequence[bytes]) -> None:
        """Give back what this thread has claimed."""
        self._leases.release(keys)

    def stats(self) -> dict[str, int]:
        """Counters since start, and what is held now."""
        with self._lock:
            held = {
                "entries": len(self._entries),
                "bytes": self._bytes,
                "max_bytes": self._max_bytes,
            }
            return {**self._counts, **held}

    def flush(self, timeout_s: float) -> bool:
        """True: what was put is here at once."""
        return True

    def close(self) -> None:
        """Let go of everything; from now on nothing is kept."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0
            self._max_bytes = 0


def _cost(key: bytes, value: bytes) -> int:
    return len(key) + len(value) + ENTRY_BYTES
