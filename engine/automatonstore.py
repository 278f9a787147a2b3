"""Automata of rules that took long to build, shared through a store.

They are loaded at start and at no other time: a compile builds its first ones before it could ask.
What is built here is handed over with the masks (exchange).

Representation   key: "automata/<version>/any/<digest>", for any vocabulary: a table's have no
                 tokens (drafttable). Value: automatonbytes.
Invariants       I1 once the store is not trusted nothing that came from it is in the table.
Threads          any.
Not here         which automata are worth it, and their bytes (drafttable).
"""

import threading
import time
from collections.abc import Callable, Sequence

from . import artifact
from .drafttable import STORE_GROUP, DraftTable
from .store import Store

#: automata that are loaded ahead, and in one round trip
MOST_AHEAD, AHEAD_AT_ONCE = 4096, 16

_COUNTERS = ("hits", "rejected", "puts", "saved_ns", "read_ns")


class AutomatonStore:
    """One for a compiler that has a store.

    Args:
        store: see ``store.Store``.
        table: the compiler's.
        loaded: told the digests of what came from the store.
    """

    def __init__(
        self, store: Store, table: DraftTable, loaded: Callable[[Sequence[bytes]], None]
    ) -> None:
        self._store = store
        self._table = table
        self._loaded = loaded
        self._is_trusted = True
        self._counts = dict.fromkeys(_COUNTERS, 0)
        self._guard = threading.Lock()

    def prefetch(self, until: float) -> None:
        """Loads those that others used most, into half of the table.

        Args:
            until: when to stop, as ``time.monotonic`` tells it.
        """
        keys = self._store.hottest(STORE_GROUP, MOST_AHEAD)
        named = [(digest, key) for key in keys if (digest := artifact.digest_of(key))]
        wanted = [each for each in named if not self._table.knows(each[0])]
        for start in range(0, len(wanted), AHEAD_AT_ONCE):
            half_full = 2 * self._table.stats()["bytes"] > self._table.max_bytes
            if half_full or time.monotonic() > until:
                break
            self._load(wanted[start : start + AHEAD_AT_ONCE])

    def _load(self, wanted: Sequence[tuple[bytes, bytes]]) -> None:
        start = time.perf_counter_ns()
        values = self._store.get_many([key for _, key in wanted], urgent=False)
        pairs = zip(wanted, values, strict=True)
        found = [(digest, value) for (digest, _), value in pairs if value is not None]
        with self._guard:
            if not self._is_trusted:
                return
            took = [self._table.load(digest, value) for digest, value in found]
            self._counts["hits"] += sum(each >= 0 for each in took)
            self._counts["rejected"] += sum(each < 0 for each in took)
            self._counts["saved_ns"] += sum(each for each in took if each > 0)
            self._counts["read_ns"] += time.perf_counter_ns() - start
        self._loaded([digest for (digest, _), each in zip(found, took, strict=True) if each >= 0])

    def hand_over(self) -> int:
        """Puts those that were costly to build here. Returns how many."""
        fresh = self._table.take_fresh()
        if fresh:
            with self._guard:
                self._counts["puts"] += len(fresh)
            self._store.put_many(
                [(STORE_GROUP + b"/" + digest.hex().encode(), value) for digest, value in fresh]
            )
        return len(fresh)

    def forget(self) -> None:
        """Lets go of what came from the store, and of all that is still to come."""
        with self._guard:
            self._is_trusted = False
            self._table.drop_all()

    def stats(self) -> dict[str, int]:
        """Counters since start; nanoseconds that what was loaded took to build, and to load."""
        with self._guard:
            return dict(self._counts)
