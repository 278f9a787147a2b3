"""The place of the file that a host's processes share: whose it is, how it comes, how it goes.

Representation   PATH, a SQLite database in WAL mode, and what SQLite keeps beside it: PATH-wal,
                 PATH-shm. PATH.new while it is made; PATH.damaged, the last one that was no good.
Invariants       I1 what is opened belongs to this user, is no link, and no other user can write it.
                 I2 a file that stands at PATH is complete, and is never shortened: it is replaced
                    as a whole, so that who has it open goes on with what he has.
                 I3 making and replacing happen under a lock on the folder.
Threads          any; it holds no state.
Not here         what is in the file (host_rows), who has it open (host).

The folder's owner decides what the name stands for: a folder in which another user may rename files
is no place for it.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Final

#: seconds to wait for another process that makes or replaces the file; making takes some ms
LOCK_SECONDS: Final = 0.05

#: which file it is, whatever its name: device and inode
Node = tuple[int, int]
#: of the file, its log and the log's index; None for what is not there
Identity = tuple[Node | None, Node | None, Node | None]


class Refused(OSError):
    """What stands at the path is not ours to use, or nothing can; the message says why."""


class HostFile:
    """The file at ``path``; its folder must be there."""

    def __init__(self, path: str) -> None:
        self.path = path

    def identity(self) -> Identity:
        """What stands at the path now, and beside it.

        Raises:
            Refused: that is not ours.
        """
        return _check(self.path), _check(f"{self.path}-wal"), _check(f"{self.path}-shm")

    def create(self, fill: Callable[[str], None]) -> None:
        """Make the file, unless there is one. ``fill`` gets the path of an empty one."""
        new = f"{self.path}.new"
        with self._locked():
            if os.path.lexists(self.path):
                return
            for left in (new, f"{new}-wal", f"{new}-shm", f"{new}-journal"):
                _remove(left)
            self._remove_beside()
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
            os.close(os.open(new, flags, 0o600))
            fill(new)
            os.rename(new, self.path)

    def put_aside(self, seen: Identity) -> None:
        """Take the file away from the path, if it is still this one."""
        with self._locked():
            if self.identity()[0] == seen[0]:
                os.rename(self.path, f"{self.path}.damaged")
                self._remove_beside()

    def log_bytes(self) -> int:
        """The size of what SQLite has not yet moved into the file."""
        try:
            return os.stat(f"{self.path}-wal").st_size
        except FileNotFoundError:
            return 0

    def _remove_beside(self) -> None:
        """What SQLite would take for the log of the next file."""
        for beside in ("-wal", "-shm"):
            _remove(self.path + beside)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other process makes or replaces a file in this folder.

        Raises:
            TimeoutError: one does for longer than ``LOCK_SECONDS``.
            Refused: there is no folder.
        """
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        name = os.path.dirname(self.path) or "."
        try:
            folder = os.open(name, flags)
        except FileNotFoundError:
            raise Refused(f"the folder {name} is not there; make it, or name another") from None
        try:
            _lock(folder)
            yield
        finally:
            os.close(folder)  # and with it the lock


def _lock(folder: int) -> None:
    until = monotonic() + LOCK_SECONDS
    while True:
        try:
            return fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                raise TimeoutError("another process makes the file") from None
            sleep(0.002)


def _check(path: str) -> Node | None:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is a link or no plain file")
    if found.st_uid != os.geteuid():
        raise Refused(f"{path} belongs to user {found.st_uid}, and this is {os.geteuid()}")
    if found.st_mode & 0o022:
        raise Refused(f"{path} can be written by others: mode {stat.S_IMODE(found.st_mode):o}")
    return found.st_dev, found.st_ino


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
