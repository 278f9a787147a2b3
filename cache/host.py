"""A store in a file that the processes of one host share; its failures are misses.

Representation   one file (host_file), its rows (host_rows), values sealed as in Redis (seal.py).
Invariants       I1 no method raises; what fails, or does not verify, is a miss and counted.
                 I2 a value is handed out only if it was sealed for this key and secret. Without a
                    secret, who may write the file is trusted: this user.
                 I3 file and log take at most ``max_bytes`` and one batch.
                 I4 after a failed reading nobody touches the file until the write-behind thread
                    could; so long as reading works, failed writes change nothing.
                 I5 a file that is no good is put aside once in the life of a store.
Cost             a reading of one key about 50 us, 2 KB, or 250 us, 100 KB, half of it the seal;
                 ``put_many`` only queues. docs/cache.md compares it with memory and Redis.
Threads          any thread. Two connections, each under a lock: one for readings and claims, one
                 for the write-behind thread, so that no reading waits for a write. One for each
                 thread would not read faster, as the work is short and mostly under the GIL, and
                 would stay open when the thread is gone.
                 Nothing is opened before the first call, so that a store made before a fork works
                 after it; what a fork inherits open it neither uses nor closes.
Not here         connections (host_door), rows and eviction (host_rows), what failures tell
                 (host_damage), copies for other hosts (redis_store).
"""

import logging
import os
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic, time
from typing import Final, TypeVar

from . import leases
from .counters import Counters
from .host_bounds import USUAL, HostBounds
from .host_damage import Repair, is_about_writing
from .host_door import Door
from .host_file import HostFile
from .host_rows import RowBounds, Rows
from .leases import Process
from .seal import OVERHEAD, Seal
from .write_behind import Pair, WriteBehind

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

#: bytes that a file may be bounded to at least: a log and a file with room for some large values
LEAST_BYTES: Final = 16 << 20
#: which part of ``max_bytes`` is the log's
_LOG_PART: Final = 8


class HostStore:
    """Bytes by key in a file.

    Args:
        path: the file; made when it is first used, in a folder that is there.
        key: the secret of the MAC, or None: what this user wrote is believed.
        max_bytes: what the file and its log may take.

    Raises:
        ValueError: a short key, or too few bytes. The file is not looked at: whatever is wrong with
            it is met as any failure later.
    """

    name: Final = "host"

    def __init__(
        self,
        path: str,
        *,
        key: bytes | None,
        max_bytes: int,
        bounds: HostBounds = USUAL,
    ) -> None:
        if max_bytes < LEAST_BYTES:
            raise ValueError(f"max_bytes must be at least {LEAST_BYTES:,}, got {max_bytes:,}")
        self._seal = Seal(key)
        self._bounds = bounds
        self._max_bytes = max_bytes
        self._live_bytes = 0
        self._file = HostFile(os.path.abspath(path))
        log_bytes = max_bytes // _LOG_PART
        rows = RowBounds(
            file_bytes=max_bytes - log_bytes,
            log_bytes=log_bytes,
            value_bytes=bounds.value_bytes + OVERHEAD,
        )
        self._reader = Door(self._file, rows, bounds.busy_seconds)
        self._writer = Door(self._file, rows, bounds.write_seconds)
        self._process = Process()
        self._closed = False
        self._used: dict[bytes, None] = {}
        self._used_lock = Lock()
        self._repair = Repair(self._file)
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
        """The values of ``keys`` in their order; used, where a request waits for them. A file is
        never waited for, urgent or not.

        None stands for what is not there, does not verify or can't be had now.
        """
        values = self.get_newest(keys)
        if urgent:
            self.used([key for key, value in zip(keys, values, strict=True) if value is not None])
        return values

    def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]:
        """As ``get_many``, but nothing is used: others write here, and of two the last has."""
        until = monotonic() + self._bounds.read_seconds
        nothing: dict[bytes, object] = {}
        asked = dict.fromkeys(keys)
        found = self._read(self._reader, lambda rows: rows.read(asked, until), nothing)
        opened = {key: self._open(key, sealed) for key, sealed in found.items()}
        values = [opened.get(key) for key in keys]
        hits = len(values) - values.count(None)
        self._counts.add(
            hits=hits,
            misses=len(keys) - hits,
            skipped=sum(key not in found for key in keys),
        )
        return values

    def used(self, keys: Sequence[bytes]) -> None:
        """Noted for the next batch of writes."""
        self._note(keys, at_least=self._bounds.batch_keys)

    def _open(self, key: bytes, sealed: object) -> bytes | None:
        """The value in what was read, or None."""
        if sealed is None:
            return None
        value = self._seal.unwrap(key, sealed) if isinstance(sealed, bytes) else None
        self._counts.add(invalid=value is None)
        return value

    def _note(self, used: Sequence[bytes], at_least: int) -> None:
        """Queue what was used once there is so much of it: a transaction takes longer than a
        reading.
        """
        with self._used_lock:
            self._used.update(dict.fromkeys(used))
            if len(self._used) < at_least:
                return
            noted, self._used = self._used, {}
        self._queue.put(noted.items())

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """Keys of a group, those that were used most first; none where they can't be had now.

        Looks at the whole group, and so goes where no reading waits.
        """
        return self._read(self._writer, lambda rows: rows.hottest(group, most), [])

    def _read(self, door: Door, work: Callable[[Rows], _T], nothing: _T) -> _T:
        """What ``work`` reads, or ``nothing``."""
        if self._closed or self._breaker.is_open:
            return nothing
        try:
            with door.rows(self._bounds.read_seconds) as rows:
                return work(rows)
        except TimeoutError:  # threads of this process, or another that makes the file
            self._counts.add(late=1)
        except Exception as error:
            self._failed(error, door)
        return nothing

    def may_have(self, key: bytes) -> bool:
        """Whether it is worth looking: True unless the file is left alone."""
        is_used = not self._closed and not self._breaker.is_open
        if not is_used:
            self._counts.add(misses=1, skipped=1)
        return is_used

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

        True also where nobody can tell, as when a writer is slow to let go of the file.
        """
        asked = list(keys[: self._bounds.batch_keys])
        if self._closed or self._breaker.is_open or not asked:
            return [True] * len(keys)
        now = time()
        try:
            with self._reader.rows(self._bounds.read_seconds) as rows:
                granted = rows.claim(asked, self._process.name, now, now + leases.bounded(seconds))
        except Exception:
            self._counts.add(late=1)
            return [True] * len(keys)
        self._counts.add(denied=granted.count(False))
        return granted + [True] * (len(keys) - len(asked))

    def release(self, keys: Sequence[bytes]) -> None:
        """Give back what this process has claimed, once what was put before is written."""
        self._queue.release(keys)

    def _give_back(self, keys: list[bytes]) -> None:
        """Leases, on the write-behind thread."""
        try:
            with self._writer.rows(self._bounds.write_seconds) as rows:
                rows.release(keys, self._process.name)
        except Exception as error:
            self._write_failed(error)

    def _write(self, batch: list[Pair]) -> None:
        """Entries, on the write-behind thread."""
        pairs = [
            (key, None if value is None else self._seal.wrap(key, value)) for key, value in batch
        ]
        written = sum(value is not None for _, value in pairs)
        try:
            with self._writer.rows(self._bounds.write_seconds) as rows:
                evicted = rows.write(pairs)
                self._live_bytes = rows.live_bytes()
        except Exception as error:
            self._counts.add(write_failures=written)
            self._write_failed(error)
            return
        self._counts.add(
            writes=written,
            written_bytes=sum(len(value) for _, value in pairs if value is not None),
            evictions=evicted,
        )

    def _write_failed(self, error: Exception) -> None:
        """Where only writing is wrong, reading goes on."""
        if not is_about_writing(error):
            self._failed(error, self._writer)

    def _failed(self, error: Exception, door: Door) -> None:
        self._counts.add(failures=1)
        self._repair.note(error, door.seen)
        if self._breaker.failed():
            path = self._file.path
            _log.warning("the cache file %s failed and is left alone for now: %s", path, error)
            self._queue.wake()

    def _knock(self) -> None:
        """Look whether a file that failed can be used again; on the write-behind thread."""
        self._counts.add(knocks=1)
        try:
            self._repair.replace()
            for door in (self._writer, self._reader):
                with door.rows(self._bounds.write_seconds) as rows:
                    rows.live_bytes()
        except Exception as error:
            self._repair.note(error, self._writer.seen)
            self._breaker.failed()
            return
        self._breaker.knocked()
        _log.info("the cache file %s is used again", self._file.path)

    def flush(self, timeout_s: float) -> bool:
        """Wait until what was put so far was written or given up; False if that took longer."""
        self._note((), at_least=1)
        return self._queue.flush(timeout_s)

    def stats(self) -> dict[str, int]:
        """Counters since start, what waits, whether the file is left alone now (``open``), and how
        many bytes of it were in use at the last write.
        """
        held = {"bytes": self._live_bytes, "max_bytes": self._max_bytes}
        return {**self._counts.snapshot(), **self._queue.stats(), **held}

    def close(self) -> None:
        """Write what waits, within ``close_seconds``, and let go of the file."""
        self._closed = True
        self._note((), at_least=1)
        self._queue.close()
        for door in (self._reader, self._writer):
            door.close(self._bounds.writes.close_seconds)


_COUNTERS: Final = (
    "hits",
    "misses",  # all that was not a hit, whatever the reason
    "skipped",  # misses that were not looked for: the file left alone, late, or closed
    "invalid",  # read, but not sealed by us for this key
    "oversized",  # put, and larger than the bounds
    "failures",  # of readings, and of writes where more than the write is wrong
    "late",  # readings and claims that would have waited too long for others
    "writes",
    "written_bytes",
    "write_failures",
    "evictions",  # entries that went to make room for this process's
    "knocks",  # times a file that had failed was looked at again
    "denied",  # claims of what another process makes now
    "dropped",  # not queued, because too much waits already
)
