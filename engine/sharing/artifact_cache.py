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
Not here     keys and values (mask_artifacts); the package ``cache`` implements the log.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Sequence
from typing import Final, Protocol

from .mask_artifacts import TokenMaskArtifacts

_log = logging.getLogger(__name__)

#: seconds that one call waits for announcements, and so the longest delay of publishing
FOLLOW_SECONDS: Final = 0.25
#: entries loaded at startup, and in one call
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
        masks: the artifacts to share.
    """

    def __init__(self, log: ArtifactLog, masks: TokenMaskArtifacts) -> None:
        self._artifacts = log
        self._masks = masks
        self._load_seconds = 0.0
        self._loads_per_second = LOADS_PER_SECOND
        self._counts = {f"masks_{name}": 0 for name in _COUNTERS}
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
        """Load the most popular entries. Return the number of accepted ones.

        Raises:
            all errors of the log.
        """
        until, accepted = time.monotonic() + seconds, 0
        if seconds <= 0:
            return 0
        keys = self._masks.of_vocabulary(self._artifacts.hottest(self._masks.prefix, MAX_HOTTEST))
        for start in range(0, len(keys), AT_ONCE):
            if time.monotonic() >= until or self._masks.filled() > MAX_FILLED_AT_START:
                break
            accepted += len(self._load(keys[start : start + AT_ONCE]))
        return accepted

    def _load_announced(self, announced: Sequence[bytes], skipped: Sequence[bytes]) -> None:
        keys = self._masks.of_vocabulary(dict.fromkeys(announced))
        for start in range(0, len(keys), AT_ONCE):
            if self._masks.filled() > MAX_FILLED:
                self._count(skipped=len(keys) - start)
                break
            self._load(keys[start : start + AT_ONCE])
        self._count(skipped=sum(key.startswith(self._masks.prefix) for key in skipped))

    def _load(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Load entries in one call. Return the accepted values."""
        with self._loading:
            start = time.perf_counter_ns()
            values = self._artifacts.read(keys)
            read = time.perf_counter_ns()
            found = [(key, v) for key, v in zip(keys, values, strict=True) if v is not None]
            took = [self._masks.load(key, value) for key, value in found]
            self._add(read_ns=read - start, load_ns=time.perf_counter_ns() - read)
        loaded = {key: v for (key, v), saved in zip(found, took, strict=True) if saved >= 0}
        self._count(
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
        self._masks.take_fresh()

    def _publish(self) -> None:
        with self._writing:
            pending, known = self._masks.pending(), dict[bytes, bytes]()
            for start in range(0, len(pending), AT_ONCE):
                known |= self._load(pending[start : start + AT_ONCE])
            # entries that others wrote in the meantime are not announced again
            fresh = self._masks.take_fresh()
            self._write(
                [(k, v) for k, v in fresh if k not in known or self._masks.adds(v, known[k])]
            )

    def _write(self, entries: Sequence[tuple[bytes, bytes]]) -> None:
        accepted = 0
        try:
            for start in range(0, len(entries), AT_ONCE):
                accepted += self._artifacts.publish(entries[start : start + AT_ONCE])
        finally:
            self._count(published=accepted, dropped=len(entries) - accepted)

    def _report(self) -> None:
        used = self._masks.take_used()
        for start in range(0, len(used), AT_ONCE):
            self._artifacts.used(used[start : start + AT_ONCE])

    # -- counters ----------------------------------------------------------------------------------
    def _count(self, **amounts: int) -> None:
        self._add(**{f"masks_{name}": amount for name, amount in amounts.items()})

    def _add(self, **amounts: int) -> None:
        with self._guard:
            for name, amount in amounts.items():
                self._counts[name] += amount

    def _set(self, **values: int) -> None:
        with self._guard:
            self._counts.update(values)

    def stats(self) -> dict[str, int]:
        """Return counters since startup, and whether the log is followed now."""
        with self._guard:
            return dict(self._counts)
