"""The file format of exports: a namespace in one file, for CI and for sites without a network.

    4 bytes   magic "SWYD"
    1 byte    version of this layout
    1 byte    0 = made without a secret (detects accidental damage only), 1 = with one
    entries   12 bytes: length of the key, length of the value, uses; the key; the value
    end       12 bytes: 0, 0, the number of entries
    32 bytes  HMAC-SHA256 over all bytes before

All numbers are big-endian. Values have no seal in the file: the importing site seals them with its
own secret. The MAC covers the whole file, so without the secret entries cannot be added, dropped or
moved.

Invariants  I1 the whole file is verified (``check``) before any entry is returned, and only
               verified entries are returned: ``read`` compares with the marks of ``check``, so a
               file that changes in between is detected before the change is used.
            I2 lengths beyond the limits are rejected: a reader holds ``AT_ONCE`` entries, and one
               mark per ``AT_ONCE`` entries.
Cost        the MAC takes 0.5-2 ms per megabyte, once to write and twice to read; a mark 32 bytes.
Not here    Redis (namespace, transfer).
"""

import hmac
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from struct import Struct
from typing import BinaryIO, Final

from .entries import AT_ONCE, MAX_ENTRIES, MAX_KEY_BYTES, MAX_VALUE_BYTES, Entry, is_entry
from .seal import Seal

_HEAD: Final = Struct(">4sBB")
_LENGTHS: Final = Struct(">III")
_MAGIC: Final = b"SWYD"
_VERSION: Final = 1
_MAC_BYTES: Final = 32


class DumpRefused(Exception):
    """A file is not an export, is damaged, or was made with another secret."""


def write(file: BinaryIO, entries: Iterable[Entry], seal: Seal) -> None:
    """Write a whole export."""
    kind, mac = seal.stream()
    count = 0

    def put(*parts: bytes) -> None:
        for part in parts:
            mac.update(part)
            file.write(part)

    put(_HEAD.pack(_MAGIC, _VERSION, kind))
    for entry in entries:
        put(_LENGTHS.pack(len(entry.key), len(entry.value), entry.uses), entry.key, entry.value)
        count += 1
    put(_LENGTHS.pack(0, 0, count))
    file.write(mac.digest())


def check(file: BinaryIO, seal: Seal) -> list[bytes]:
    """Verify a file and return its marks for ``read``. Raises DumpRefused."""
    return [mark for _, mark in _batches(file, seal)]


def read(file: BinaryIO, seal: Seal, marks: Sequence[bytes]) -> Iterator[list[Entry]]:
    """Yield the entries of a verified file, ``AT_ONCE`` at a time. Raises DumpRefused."""
    known = iter(marks)
    for batch, mark in _batches(file, seal):
        if not hmac.compare_digest(mark, next(known, b"")):
            raise DumpRefused("the file changed during the import")
        yield batch


def _batches(file: BinaryIO, seal: Seal) -> Iterator[tuple[list[Entry], bytes]]:
    """Yield entries, and a mark of the file up to there; the last batch may be empty."""
    reader = _Reader(file, seal)
    entries = iter(reader)
    while True:
        batch = list(islice(entries, AT_ONCE))
        if reader.is_at_end:
            reader.check_end()
            yield batch, reader.mark()
            return
        yield batch, reader.mark()


class _Reader:
    """Reads a file once."""

    def __init__(self, file: BinaryIO, seal: Seal) -> None:
        self._file = file
        self._kind, self._mac = seal.stream()
        self._at = 0
        self._count = 0
        self.is_at_end = False
        self._check_head()

    def _check_head(self) -> None:
        try:
            magic, version, kind = _HEAD.unpack(self._take(_HEAD.size))
        except DumpRefused:
            magic = b""
        if magic != _MAGIC:
            raise DumpRefused("this is not an export of a cache")
        if version != _VERSION:
            raise DumpRefused(f"the file has layout {version}, but only {_VERSION} is supported")
        if kind != self._kind:
            made, reads = ("with", "without") if kind else ("without", "with")
            raise DumpRefused(f"the file was made {made} a cache key, but is read {reads} one")

    def __iter__(self) -> Iterator[Entry]:
        while True:
            key_bytes, value_bytes, uses = _LENGTHS.unpack(self._take(_LENGTHS.size))
            if key_bytes == value_bytes == 0:
                self._check_count(uses)
                self.is_at_end = True
                return
            self._check_lengths(key_bytes, value_bytes)
            key = self._take(key_bytes)
            if not is_entry(key):
                raise DumpRefused(
                    f"damaged: byte {self._at - key_bytes:,} does not begin an entry's key"
                )
            self._count += 1
            yield Entry(key, self._take(value_bytes), uses)

    def _check_lengths(self, key_bytes: int, value_bytes: int) -> None:
        for what, length, most in (
            ("key", key_bytes, MAX_KEY_BYTES),
            ("value", value_bytes, MAX_VALUE_BYTES),
        ):
            if length > most:
                raise DumpRefused(
                    f"damaged: before byte {self._at:,}, a {what} has {length:,} bytes; at most "
                    f"{most:,} are allowed"
                )
        if self._count == MAX_ENTRIES:
            raise DumpRefused(f"the file has more than {MAX_ENTRIES:,} entries")

    def _check_count(self, expected: int) -> None:
        if expected != self._count:
            raise DumpRefused(f"damaged: expected {expected:,} entries, got {self._count:,}")

    def check_end(self) -> None:
        """Check that the MAC follows, and then the end of the file."""
        expected = self._mac.digest()
        mac = self._take(_MAC_BYTES)
        if not hmac.compare_digest(mac, expected):
            raise DumpRefused("the file is damaged, or was made with another cache key")
        if self._file.read(1):
            raise DumpRefused(f"damaged: the file continues after byte {self._at:,}")

    def mark(self) -> bytes:
        """Return a digest of all bytes up to here."""
        return self._mac.digest()

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        self._at += len(data)
        if len(data) != count:
            raise DumpRefused(f"the file ends too early, at byte {self._at:,}")
        self._mac.update(data)
        return data
