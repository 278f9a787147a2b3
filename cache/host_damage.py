"""What is wrong when a file that a host's processes share fails, and what becomes of one that is no
good.

Invariants  I1 a file is put aside once in the life of a ``Repair``, and only if it is the one that
               was found damaged: who came too late leaves the next one alone.
Threads     ``note`` any; ``replace`` the write-behind thread's.
Not here    when it is tried (host), how a file goes away (host_file).
"""

import sqlite3
from typing import Final

from .host_file import HostFile, Identity
from .host_rows import Damaged

#: errors that a file of ours has only if it is damaged; ERROR stands for missing tables
_DAMAGE: Final = frozenset(
    (
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_CONSTRAINT,
    )
)
#: a disk that is full or failing, or a file that can't be written, may still be read
_WRITING: Final = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
    )
)


def is_busy(error: BaseException) -> bool:
    """Another process has the file; the connection is as good as before."""
    return _code(error) == sqlite3.SQLITE_BUSY


def is_damage(error: Exception) -> bool:
    """The file itself is no good."""
    return isinstance(error, Damaged) or _code(error) in _DAMAGE or _is_cut(error)


def is_about_writing(error: Exception) -> bool:
    """It says nothing against reading."""
    ours = isinstance(error, sqlite3.OperationalError) and not _code(error)  # the log is full
    known = _code(error) in _WRITING and not _is_cut(error)
    return ours or known or isinstance(error, TimeoutError)


def _is_cut(error: Exception) -> bool:
    """The log was shortened or taken away under those who have it open."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest tells the variety


class Repair:
    """Remembers which file was no good, and puts it aside."""

    def __init__(self, file: HostFile) -> None:
        self._file = file
        self._damaged: Identity | None = None
        self._has_put_aside = False

    def note(self, error: Exception, seen: Identity | None) -> None:
        """A file failed. ``seen``: which."""
        if is_damage(error):
            self._damaged = seen

    def replace(self) -> None:
        """Put the file aside that was found to be no good, unless somebody else did.

        Raises:
            Damaged: one was put aside before.
            OSError: it can't be.
        """
        if self._damaged is None:
            return
        if self._file.identity()[0] == self._damaged[0]:
            if self._has_put_aside:
                raise Damaged("the file is no good for the second time")
            self._has_put_aside = True
            self._file.put_aside(self._damaged)
        self._damaged = None
