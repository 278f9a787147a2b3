"""The way to the file that a host's processes share, whichever stands at the path now.

Invariants  I1 whoever comes in has a connection to the file that stands at the path now.
            I2 a connection that a fork inherited is neither used nor closed.
Cost        looking which file it is: 5 us.
Threads     one at a time; the others wait as long as they say.
Not here    which file may be used (host_file), what failures tell (host_damage).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from . import host_rows
from .host_damage import is_busy
from .host_file import HostFile, Identity
from .host_rows import RowBounds, Rows


class Door:
    """One connection to whatever file stands at the path now, for one thread at a time."""

    def __init__(self, file: HostFile, bounds: RowBounds, busy_seconds: float) -> None:
        self._file = file
        self._bounds = bounds
        self._busy_seconds = busy_seconds
        self._lock = Lock()
        self._rows: Rows | None = None
        self._process = 0
        self._inherited: list[Rows] = []
        #: the file that was opened last
        self.seen: Identity | None = None

    @contextmanager
    def rows(self, wait_seconds: float) -> Iterator[Rows]:
        """The connection; opened, and the file made, where need be. A failure closes it.

        Raises:
            TimeoutError: other threads hold it for longer than that.
        """
        if not self._lock.acquire(timeout=wait_seconds):
            raise TimeoutError("other threads use the file")
        try:
            yield self._current()
        except BaseException as error:
            if not is_busy(error):
                self._let_go()
            raise
        finally:
            self._lock.release()

    def _current(self) -> Rows:
        there = self._file.identity()
        if self._rows is not None and (self._process, self.seen) == (os.getpid(), there):
            return self._rows
        self._let_go()
        if there[0] is None:
            self._file.create(host_rows.create)
        self._process, self.seen = os.getpid(), self._file.identity()
        self._rows = Rows(self._file, self._bounds, busy_seconds=self._busy_seconds)
        self.seen = self._file.identity()  # the log came with it
        return self._rows

    def _let_go(self) -> None:
        if self._rows is not None and self._process == os.getpid():
            self._rows.close()
        elif self._rows is not None:
            self._inherited.append(self._rows)  # the parent's; closing it here could harm it there
        self._rows = None

    def close(self, wait_seconds: float) -> None:
        """Let go of the file, unless a thread hangs in it."""
        if self._lock.acquire(timeout=wait_seconds):
            try:
                self._let_go()
            finally:
                self._lock.release()
