"""The artifacts that replicas share, followed in the background.

One thread does all the work. At startup it notes its position in the log and loads the most popular
entries. Then it loads entries that other replicas announce, publishes what this process built, and
reports which entries were used, so that popular entries stay popular.

Requests never call the log and never wait for this thread: they look into the caches that it fills.
Loaded entries change speed only.

Invariants   I1 only the thread, ``flush`` and ``load_hottest`` call the log.
             I2 loading is bounded: bytes by a share of each cache, entries per second while
                following, seconds at startup.
             I3 a failing log has no effect besides missing entries: the thread backs off, then
                starts again with the most popular entries.
Threads      any; callers of the log hold ``_writing`` or ``_loading``.
Not here     keys and values (artifact_kinds); the package ``cache`` implements the log.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from .artifact_kinds import ArtifactKind

_log = logging.getLogger(__name__)

#: seconds that one call waits for announcements, and so the longest delay of publishing
FOLLOW_SECONDS: Final = 0.25
#: entries of each kind loaded at startup, and in one call
MAX_HOTTEST: Final = 4096
AT_ONCE: Final = 32
#: the share of a cache that may be in use for more to be loaded, at startup and while following. A
#: full cache drops everything, so loading must leave room for local entries
MAX_FILLED_AT_START: Final = 0.5
MAX_FILLED: Final = 0.75
#: default limit on entries loaded while following: 500 a second take about 5 % of a core
LOADS_PER_SECOND: Final = 500
#: seconds between two reports of use
REPORT_SECONDS: Final = 60.0
#: the shortest and the longest pause in seconds after a failure of the log
LEAST_PAUSE, MAX_PAUSE = 0.5, 10.0

_COUNTERS = ("loaded", "refused", "missing", "skipped", "published", "dropped", "saved_ns")


class ArtifactLog(Protocol):
    """Bytes by key, shared by replicas that announce new entries to each other.

    Every method may wait for the network and raise any error. Only the background thread of an
    ``ArtifactCache`` and operators' commands call them, never a request.
    """

    def position(self) -> None:
        """Note the current position: ``follow`` returns later announcements."""

    def follow(self, seconds: float) -> list[bytes]:
        """Return the keys that other replicas announced since the last call; wait up to ``seconds``
        for one.
        """

    def hottest(self, prefix: bytes, most: int) -> list[bytes]:
        """Return keys with this prefix, the most used ones first."""

    def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values in order, ``None`` for missing and unauthentic ones."""

    def publish(self, entries: Sequence[tuple[bytes, bytes]]) -> int:
        """Write and announce entries; return the number of accepted ones."""

    def used(self, keys: Sequence[bytes]) -> None:
        """Count one use of each key, and renew its time to live."""


class ArtifactCache:
    """Follows one log for one compiler.

    Args:
        log: see ``ArtifactLog``.
        kinds: the kinds of artifacts, in the order of loading at startup.
    """

    def __init__(self, log: ArtifactLog, kinds: Sequence[ArtifactKind]) -> None:
        self._artifacts = log
        self._kinds = kinds
        self._load_seconds = 0.0
        self._loads_per_second = LOADS_PER_SECOND
        self._counts = {f"{kind.name}_{name}": 0 for kind in kinds for name in _COUNTERS}
        self._counts |= {"failures": 0, "read_ns": 0, "load_ns": 0, "following": 0}
        self._guard = threading.Lock()
        self._writing = threading.Lock()
        self._loading = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = 0

    # -- the thread --------------------------------------------------------------------------------
    def start(self, load_seconds: float, loads_per_second: int) -> None:
        """Start following the log; after a fork the child starts its own thread.

        Args:
            load_seconds: limit on loading the most popular entries; 0 loads none.
            loads_per_second: limit on loading announced entries; 0 loads none.
        """
        if self._thread is not None and self._pid == os.getpid():
            return
        self._load_seconds, self._loads_per_second = load_seconds, loads_per_second
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name="artifact-cache", daemon=True)
        self._thread.start()

    def close(self, seconds: float) -> bool:
        """Publish fresh entries and end the thread. False: that took longer than ``seconds``."""
        self._closing.set()
        if self._thread is None or self._pid != os.getpid():
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = LEAST_PAUSE
        while not self._closing.is_set():
            try:
                self._follow()
            except Exception as error:
                pause = LEAST_PAUSE if self._counts["following"] else pause
                self._failed(error, pause)
                self._closing.wait(pause)
                pause = min(2 * pause, MAX_PAUSE)
        with contextlib.suppress(Exception):
            self.flush()

    def _follow(self) -> None:
        """Follow until ``close``; raises all errors of the log."""
        self._artifacts.position()
        self._set(following=1)
        self.load_hottest(self._load_seconds)
        rate = self._loads_per_second
        allowance, then, reported = float(rate), time.monotonic(), time.monotonic()
        while not self._closing.is_set():
            announced = self._artifacts.follow(FOLLOW_SECONDS)
            now = time.monotonic()
            allowance = min(rate, allowance + rate * (now - then))
            then = now
            taken = announced[: int(allowance)]
            allowance -= len(taken)
            self._load_announced(taken, announced[len(taken) :])
            self._publish()
            if now - reported >= REPORT_SECONDS:
                reported = now
                self._report()

    def _failed(self, error: Exception, pause: float) -> None:
        """Log the first failure of an outage."""
        self._add(failures=1)
        if pause == LEAST_PAUSE:
            # the type alone: a message may quote data of the server
            _log.warning(
                "artifact cache: the log failed (%s); trying again in %g s",
                type(error).__name__,
                pause,
            )
        self._set(following=0)

    # -- loading -----------------------------------------------------------------------------------
    def load_hottest(self, seconds: float) -> int:
        """Load the most popular entries of all kinds. Return the number of accepted ones.

        Raises:
            all errors of the log.
        """
        until, taken = time.monotonic() + seconds, 0
        for kind in self._kinds:
            if time.monotonic() >= until:
                break
            keys = self._artifacts.hottest(kind.prefix, MAX_HOTTEST)
            wanted = [key for key in keys if key.startswith(kind.prefix) and kind.wants(key)]
            for start in range(0, len(wanted), AT_ONCE):
                if time.monotonic() >= until or kind.filled() > MAX_FILLED_AT_START:
                    break
                taken += len(self._load(kind, wanted[start : start + AT_ONCE]))
        return taken

    def _load_announced(self, keys: Sequence[bytes], skipped: Sequence[bytes]) -> None:
        for kind in self._kinds:
            mine = [key for key in dict.fromkeys(keys) if key.startswith(kind.prefix)]
            wanted = [key for key in mine if kind.wants(key)]
            for start in range(0, len(wanted), AT_ONCE):
                if kind.filled() > MAX_FILLED:
                    self._count(kind, skipped=len(wanted) - start)
                    break
                self._load(kind, wanted[start : start + AT_ONCE])
            late = sum(key.startswith(kind.prefix) for key in skipped)
            if late:
                self._count(kind, skipped=late)

    def _load(self, kind: ArtifactKind, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Load entries in one call. Return the accepted values."""
        with self._loading:
            start = time.perf_counter_ns()
            values = self._artifacts.read(keys)
            read = time.perf_counter_ns()
            found = [(key, v) for key, v in zip(keys, values, strict=True) if v is not None]
            took = [kind.load(key, value) for key, value in found]
            self._add(read_ns=read - start, load_ns=time.perf_counter_ns() - read)
        loaded = {key: v for (key, v), saved in zip(found, took, strict=True) if saved >= 0}
        self._count(
            kind,
            loaded=len(loaded),
            refused=len(took) - len(loaded),
            missing=len(keys) - len(found),
            saved_ns=sum(each for each in took if each > 0),
        )
        return loaded

    # -- writing -----------------------------------------------------------------------------------
    def flush(self) -> None:
        """Publish fresh entries and report used ones now.

        Raises:
            all errors of the log; fresh entries are then dropped and counted.
        """
        self._publish()
        self._report()

    def forget_fresh(self) -> None:
        """Drop fresh entries instead of publishing them."""
        for kind in self._kinds:
            kind.take_fresh()

    def _publish(self) -> None:
        with self._writing:
            for kind in self._kinds:
                pending, known = kind.pending(), dict[bytes, bytes]()
                for start in range(0, len(pending), AT_ONCE):
                    known |= self._load(kind, pending[start : start + AT_ONCE])
                # entries that others wrote in the meantime are not announced agai
                fresh = kind.take_fresh()
                self._write(
                    kind, [(k, v) for k, v in fresh if k not in known or kind.adds(v, known[k])]
                )

    def _write(self, kind: ArtifactKind, entries: Sequence[tuple[bytes, bytes]]) -> None:
        taken = 0
        try:
            for start in range(0, len(entries), AT_ONCE):
                taken += self._artifacts.publish(entries[start : start + AT_ONCE])
        finally:
            self._count(kind, published=taken, dropped=len(entries) - taken)

    def _report(self) -> None:
        for kind in self._kinds:
            used = kind.take_used()
            for start in range(0, len(used), AT_ONCE):
                self._artifacts.used(used[start : start + AT_ONCE])

    # -- counters ----------------------------------------------------------------------------------
    def _count(self, kind: ArtifactKind, **amounts: int) -> None:
        self._add(**{f"{kind.name}_{name}": amount for name, amount in amounts.items()})

    def _add(self, **amounts: int) -> None:
        with self._guard:
            for name, amount in amounts.items():
                self._counts[name] += amount

    def _set(self, **values: int) -> None:
        with self._guard:
            self._counts.update(values)

    def stats(self) -> dict[str, int]:
        """Return counters since startup by kind, and whether the log is followed now."""
        with self._guard:
            return dict(self._counts)
