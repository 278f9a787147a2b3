"""Automata of rules that took long to build, shared through a store.

They are loaded at start and at no other time: a compile builds its first ones before it could ask.
What is built here is handed over with the masks (exchange).

Representation   key: "automata/<version>/any/<digest>", for any vocabulary: a table's have no
                 tokens (drafttable). Value: automatonbytes.
Invariants       I1 once the store is not trusted nothing that came from it is in the table, and
                    nothing is read any more.
                 I2 what was loaded is used when a grammar first needs it, and not before.
Threads          any.
Not here         which automata are worth it, and their bytes (automatonbytes).
"""

import threading
import time
from collections.abc import Callable, Sequence

from . import artifact, automatonbytes
from .drafttable import DraftTable
from .prefetching import MOST_AHEAD, load_ahead
from .store import Store

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
        if not self._is_trusted:
            return
        found = map(artifact.digest_of, self._store.hottest(automatonbytes.STORE_GROUP, MOST_AHEAD))
        load_ahead(
            [digest for digest in found if digest and not self._table.knows(digest)],
            self._load,
            until=until,
            has_room=self._has_room,
        )

    def _has_room(self) -> bool:
        return self._is_trusted and 2 * self._table.stats()["bytes"] < self._table.max_bytes

    def _load(self, digests: Sequence[bytes]) -> int:
        """In one go. Returns how many there were."""
        start = time.perf_counter_ns()
        keys = [automatonbytes.store_key(digest) for digest in digests]
        values = self._store.get_many(keys, urgent=False)
        pairs = zip(digests, values, strict=True)
        found = [(digest, value) for digest, value in pairs if value is not None]
        with self._guard:
            if not self._is_trusted:
                return 0
            took = [automatonbytes.load(self._table, digest, value) for digest, value in found]
            self._counts["hits"] += sum(each >= 0 for each in took)
            self._counts["rejected"] += sum(each < 0 for each in took)
            self._counts["saved_ns"] += sum(each for each in took if each > 0)
            self._counts["read_ns"] += time.perf_counter_ns() - start
        true = [digest for (digest, _), each in zip(found, took, strict=True) if each >= 0]
        self._loaded(true)
        return len(true)

    def hand_over(self) -> int:
        """Puts those that were costly to build here, and tells which of others' were used.

        Returns:
            how many were put.
        """
        used = self._table.take_used()
        if used:
            self._store.used([*map(automatonbytes.store_key, used)])
        fresh = automatonbytes.take_fresh(self._table)
        if fresh:
            with self._guard:
                self._counts["puts"] += len(fresh)
            self._store.put_many(
                [(automatonbytes.store_key(digest), value) for digest, value in fresh]
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
