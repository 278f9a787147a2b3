"""A bounded queue of pairs, and the daemon thread that empties it behind everybody's back.

Representation   an insertion-ordered dict, so that a key put twice is written once, with its last
                 value; what is put stands for its use as well.
Invariants       I1 at most ``queue_items`` pairs and ``queue_bytes`` bytes wait; what comes beyond
                    is dropped and counted.
                 I2 while the breaker is open nothing is written; the thread knocks when the breaker
                    says so.
                 I3 ``write``, ``release`` and ``knock`` run on the thread only, never under the
                    lock, and don't raise.
                 I4 a lease is given back when all that was put before was handed to ``write``:
                    whoever is granted it next finds the value.
Threads          ``put`` and ``flush`` from anywhere; ``put`` never waits for the network. The
                 thread starts with the first thing there is to do, so that a store made before a
                 fork works after it.
Not here         how entries are written and leases given back (redis_store, host), the time of
                 knocks (breaker).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Condition, Thread
from time import monotonic

from . import leases
from .breaker import Breaker

#: a key and its value; without one the entry was used, and is to be kept
Pair = tuple[bytes, bytes | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBounds:
    """Of what waits to be written, and of leaving alone whom it is written to when that failed."""

    #: pairs that wait; a full queue means that writing is slower than compiling
    queue_items: int = 10_000
    #: bytes that wait
    queue_bytes: int = 64 << 20
    #: seconds to leave it alone after the first failure; then doubled with every failed knock
    pause_seconds: float = 0.5
    #: seconds to leave it alone at most
    max_pause_seconds: float = 30.0
    #: seconds that ``close`` gives to what still waits
    close_seconds: float = 1.0


class WriteBehind:
    """Hands queued pairs to ``write`` and keys of leases to ``release``, at most ``batch_items`` at
    once, and calls ``knock`` while ``breaker`` is open, which its owner opens.
    """

    def __init__(
        self,
        write: Callable[[list[Pair]], None],
        release: Callable[[list[bytes]], None],
        knock: Callable[[], None],
        bounds: WriteBounds,
        *,
        batch_items: int,
    ) -> None:
        self.breaker = Breaker(first_s=bounds.pause_seconds, most_s=bounds.max_pause_seconds)
        self._write = write
        self._release = release
        self._knock = knock
        self._bounds = bounds
        self._batch_items = batch_items
        self._pairs: dict[bytes, bytes | None] = {}
        self._bytes = 0
        self._busy = False
        self._closed = False
        self._changed = Condition()
        self._thread: Thread | None = None

    def put(self, pairs: Iterable[Pair]) -> int:
        """Queue what fits; returns how many were dropped."""
        dropped = 0
        with self._changed:
            for key, value in pairs:
                dropped += not self._queue(key, value)
        self.wake()
        return dropped

    def release(self, keys: Iterable[bytes]) -> None:
        """Queue that the leases on these keys are given back."""
        self.put((leases.PREFIX + key, None) for key in keys)

    def _queue(self, key: bytes, value: bytes | None) -> bool:
        if value is None and key in self._pairs:
            return True
        self._forget(key)
        size = _size(key, value)
        if self._closed or not self._has_room(size):
            return False
        self._pairs[key] = value
        self._bytes += size
        return True

    def _has_room(self, size: int) -> bool:
        bounds = self._bounds
        return len(self._pairs) < bounds.queue_items and self._bytes + size <= bounds.queue_bytes

    def _forget(self, key: bytes) -> None:
        if key in self._pairs:
            self._bytes -= _size(key, self._pairs.pop(key))

    def wake(self) -> None:
        """Make the thread look at the queue and the breaker again; starts it if it does not run."""
        with self._changed:
            if self._closed:
                return
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name="cache-write-behind", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                if not self._wait_for_work():
                    return
                batch = [] if self.breaker.is_open else self._take()
                self._busy = True
            if batch:
                self._hand_over(batch)
            else:
                self._knock()

    def _wait_for_work(self) -> bool:
        """Sleep until there is a batch to write or a knock is due; False when it is time to end."""
        while True:
            wait = self.breaker.wait_s()
            if self._closed and (wait is not None or not self._pairs):
                return False
            if wait == 0.0 or (wait is None and self._pairs):
                return True
            self._changed.wait(wait)

    def _take(self) -> list[Pair]:
        batch = []
        for key in list(self._pairs)[: self._batch_items]:
            batch.append((key, self._pairs[key]))
            self._forget(key)
        return batch

    def _hand_over(self, batch: list[Pair]) -> None:
        """Entries, and then leases, unless writing the entries opened the breaker."""
        entries, released = [], []
        for key, value in batch:
            if value is None and leases.is_lease(key):
                released.append(key.removeprefix(leases.PREFIX))
            else:
                entries.append((key, value))
        if entries:
            self._write(entries)
        if released and not self.breaker.is_open:
            self._release(released)

    def flush(self, timeout_s: float) -> bool:
        """Wait until all that is queued was handed to ``write``; False if not in time."""
        until = monotonic() + timeout_s
        with self._changed:
            while self._pairs or self._busy:
                left = until - monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def close(self) -> None:
        """Take nothing more, write what is queued within ``close_seconds``, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(self._bounds.close_seconds)
        with self._changed:
            self._pairs.clear()
            self._bytes = 0

    def stats(self) -> dict[str, int]:
        """What waits now, whether the breaker is open, and how often it opened."""
        with self._changed:
            waits = {"queued": len(self._pairs), "queued_bytes": self._bytes}
        return {
            **waits,
            "open": int(self.breaker.is_open),
            "opened": self.breaker.times_opened,
        }


def _size(key: bytes, value: bytes | None) -> int:
    return len(key) + len(value or b"")
