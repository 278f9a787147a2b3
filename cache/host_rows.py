"""What is in the file that a host's processes share, through one connection.

Representation   entries  key -> body, used (a count of transactions: higher is later), uses
                 bodies   id -> value, sealed; apart, so that noting a use rewrites no value
                 leases   key -> holder, until (seconds since 1970)
                 The header has ``APPLICATION`` and ``LAYOUT``.
Invariants       I1 the file takes at most ``file_bytes``, the log before a write ``log_bytes``.
                 I2 entries that were used longest ago go first, when the pages in use come near.
                 I3 no transaction writes much more than ``part_bytes``: claims wait for it.
                 I4 nothing of the file is mapped into memory, see below.
Cost             reading 25-50 us for 2 KB, 80-150 us for 100 KB; writing is the write-behind
                 thread's.
Threads          one at a time (host).
Not here         when it is opened and left alone (host), whether values are believed (seal).

SQLite is told to read and not to map (``mmap_size``). Mapped, a value of 100 KB is there 50-100 us
sooner, and one of 2 KB no sooner; but if somebody shortens the file, or its disk fails, then a
mapped page ends the process with a signal, and a reading is an error that costs a miss. What
processes share is the same either way, the system's copy of the file. PATH-shm is always mapped, 32
KB of SQLite's own that no command has a reason to touch.

Nothing is synced: a process may be killed at any time, and the file is whole; after a loss of power
it may be damaged, which is noticed, or lack what was new.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Final
from urllib.parse import quote

from .host_file import HostFile, Refused
from .leases import MOST_SECONDS
from .seal import OVERHEAD

#: "SWYC", what a database of ours calls itself
APPLICATION: Final = 0x53575943
#: version of the tables
LAYOUT: Final = 1

_PAGE_BYTES: Final = 16_384
_LAYOUT: Final = f"""
PRAGMA page_size = {_PAGE_BYTES};
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {LAYOUT};
CREATE TABLE entries (
    key BLOB PRIMARY KEY, body INTEGER NOT NULL, used INTEGER NOT NULL, uses INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX entries_by_use ON entries (used);
CREATE TABLE bodies (id INTEGER PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE leases (key BLOB PRIMARY KEY, holder BLOB NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
"""
_GET: Final = "SELECT value FROM entries JOIN bodies ON id = body WHERE key = ?"
#: of a group are the keys with nothing but one name behind "group/"
_HOTTEST: Final = """
SELECT key FROM entries WHERE key > :low AND key < :high
AND instr(substr(key, :skipped), x'2f') = 0 ORDER BY uses DESC LIMIT :most
"""
_CLAIM: Final = """
INSERT INTO leases VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET until = excluded.until WHERE holder = excluded.holder
"""
_PUT: Final = """
INSERT INTO entries VALUES (?, ?, ?, 1)
ON CONFLICT (key) DO UPDATE SET body = excluded.body, used = excluded.used, uses = uses + 1
"""


class Damaged(Exception):
    """The file is not what ``create`` has made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBounds:
    """What a file's rows may take."""

    #: bytes of the file
    file_bytes: int
    #: bytes of the log
    log_bytes: int
    #: bytes of one value
    value_bytes: int
    #: bytes that one transaction writes, beside one value; 1 MB takes some ms
    part_bytes: int = 1 << 20
    #: bytes that a connection keeps of the file's pages: those that lead to the values
    cache_bytes: int = 2 << 20
    #: entries that are looked at in one go when there must be room
    looked_at_once: int = 32


class Rows:
    """A connection to a file that is there.

    Args:
        busy_seconds: what a statement waits for another process.

    Raises (this and every method):
        Refused: the file is another program's, or of a later version.
        Damaged: it is of an earlier version, or has no tables.
        sqlite3.Error: everything else.
    """

    def __init__(self, file: HostFile, bounds: RowBounds, *, busy_seconds: float) -> None:
        self._file = file
        self._bounds = bounds
        self._db = _connect(file.path, busy_seconds)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, bounds.value_bytes + OVERHEAD + _PAGE_BYTES)
        try:
            self._check()
            self._set_up()
        except BaseException:
            self._db.close()
            raise

    def _check(self) -> None:
        application, version = self._pragma("application_id"), self._pragma("user_version")
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            raise Damaged(f"{self._file.path} is empty")
        if application != APPLICATION:
            raise Refused(f"{self._file.path} is the database of another program")
        if version > LAYOUT:
            raise Refused(f"{self._file.path} has layout {version}, and this version {LAYOUT}")
        if version < LAYOUT:
            raise Damaged(f"{self._file.path} has layout {version}, and this version {LAYOUT}")

    def _set_up(self) -> None:
        bounds = self._bounds
        for setting in (
            "mmap_size = 0",
            "synchronous = OFF",
            "secure_delete = OFF",
            "cell_size_check = ON",
            "trusted_schema = OFF",
            f"cache_size = {-bounds.cache_bytes // 1024}",
            f"max_page_count = {bounds.file_bytes // _PAGE_BYTES}",
            "wal_autocheckpoint = 0",  # a claim's caller does not wait for that; see ``write``
            f"journal_size_limit = {bounds.log_bytes}",
        ):
            self._db.execute(f"PRAGMA {setting}")

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    # -- reading -----------------------------------------------------------------------------------
    def read(self, keys: Iterable[bytes], until: float) -> dict[bytes, object]:
        """What lies under each key, None for nothing. Keys that are not reached by ``until`` are
        left out, but for the first: the machine may be busy.

        ``until`` is a time of ``monotonic``.
        """
        found: dict[bytes, object] = {}
        with self._transaction("BEGIN"):
            for key in keys:
                if found and monotonic() > until:
                    break
                row = self._db.execute(_GET, (key,)).fetchone()
                found[key] = None if row is None else row[0]
        return found

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """Keys of a group, those that were used most first."""
        asked = {
            "low": group + b"/",
            "high": group + b"0",  # the byte after "/"
            "skipped": len(group) + 2,
            "most": most,
        }
        return [key for (key,) in self._db.execute(_HOTTEST, asked) if isinstance(key, bytes)]

    def live_bytes(self) -> int:
        """Bytes of the pages in use."""
        return (self._pragma("page_count") - self._pragma("freelist_count")) * _PAGE_BYTES

    # -- writing -----------------------------------------------------------------------------------
    def write(self, pairs: Sequence[tuple[bytes, bytes | None]]) -> int:
        """Put each pair; a key without a value was used. Returns how many entries had to go.

        Raises:
            sqlite3.OperationalError: also where a reader that stopped keeps the log from ending.
        """
        evicted = 0
        for part in _parts(pairs, self._bounds.part_bytes):
            self._shorten_log()
            with self._transaction("BEGIN IMMEDIATE"):
                evicted += self._make_room(sum(len(value or b"") for _, value in part))
                (last,) = self._db.execute("SELECT max(used) FROM entries").fetchone()
                for key, value in part:
                    self._put_or_use(key, value, (last or 0) + 1)
        return evicted

    def _put_or_use(self, key: bytes, value: bytes | None, now: int) -> None:
        if value is None:
            self._db.execute(
                "UPDATE entries SET used = ?, uses = uses + 1 WHERE key = ?", (now, key)
            )
            return
        old = "DELETE FROM bodies WHERE id = (SELECT body FROM entries WHERE key = ?)"
        self._db.execute(old, (key,))
        body = self._db.execute("INSERT INTO bodies (value) VALUES (?)", (value,)).lastrowid
        self._db.execute(_PUT, (key, body, now))

    def _make_room(self, size: int) -> int:
        """For so many bytes, and a little more, lest every write must."""
        most = self._bounds.file_bytes * 7 // 8 - size
        if self.live_bytes() <= most:
            return 0
        gone = 0
        for key, body in self._oldest():
            if self.live_bytes() <= most - self._bounds.file_bytes // 64:
                break
            self._db.execute("DELETE FROM entries WHERE key = ?", (key,))
            self._db.execute("DELETE FROM bodies WHERE id = ?", (body,))
            gone += 1
        return gone

    def _oldest(self) -> Iterator[tuple[bytes, int]]:
        """Entries by their last use, as they are while those before go away."""
        look = "SELECT key, body FROM entries ORDER BY used LIMIT ?"
        while found := self._db.execute(look, (self._bounds.looked_at_once,)).fetchall():
            yield from found

    def _shorten_log(self) -> None:
        """Move it into the file when it is half full; beyond its bound that must succeed."""
        size = self._file.log_bytes()
        if 2 * size <= self._bounds.log_bytes:
            return
        full = size > self._bounds.log_bytes
        mode = "TRUNCATE" if full else "PASSIVE"
        busy, _, _ = self._db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        if busy and full:
            raise sqlite3.OperationalError(
                f"the log has {size:,} bytes and may have {self._bounds.log_bytes:,}"
            )

    # -- leases ------------------------------------------------------------------------------------
    def claim(self, keys: Sequence[bytes], holder: bytes, now: float, until: float) -> list[bool]:
        """For each key whether nobody but ``holder`` has a lease; see ``leases``."""
        with self._transaction("BEGIN IMMEDIATE"):
            over = "DELETE FROM leases WHERE until <= ? OR until > ?"
            self._db.execute(over, (now, now + MOST_SECONDS))
            return [self._db.execute(_CLAIM, (key, holder, until)).rowcount == 1 for key in keys]

    def release(self, keys: Sequence[bytes], holder: bytes) -> None:
        """Give back those that ``holder`` has."""
        with self._transaction("BEGIN IMMEDIATE"):
            for key in keys:
                self._db.execute("DELETE FROM leases WHERE key = ? AND holder = ?", (key, holder))

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        self._db.execute(begin)
        try:
            yield
            self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def create(path: str) -> None:
    """Fill an empty file with empty tables.

    Raises:
        sqlite3.Error: where the file system has no shared memory, a network's for instance, too.
    """
    db = _connect(path, 0)
    try:
        db.executescript(_LAYOUT)
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != b"wal":
            raise sqlite3.OperationalError(f"no file for several processes at {path}")
    finally:
        db.close()


def _connect(path: str, busy_seconds: float) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(path)}?mode=rw",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    db.text_factory = bytes  # damaged text is no error of decoding
    return db


def _parts(
    pairs: Sequence[tuple[bytes, bytes | None]], part_bytes: int
) -> Iterator[list[tuple[bytes, bytes | None]]]:
    """The pairs in order, in lists that end with the value that passes ``part_bytes``."""
    part, size = [], 0
    for key, value in pairs:
        part.append((key, value))
        size += len(key) + len(value or b"")
        if size >= part_bytes:
            yield part
            part, size = [], 0
    if part:
        yield part
