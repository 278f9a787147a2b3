"""A namespace as one file: for CI, and for sites that no network joins.

    4 bytes   magic "SWYD"
    1 byte    version of this layout
    1 byte    0 = made without a secret (guards against accidents only), 1 = with one
    entries   12 bytes: length of the key, length of the value, uses; the key; the value
    the end   12 bytes: 0, 0, the number of entries
    32 bytes  HMAC-SHA256 over all before

All numbers are big-endian. Values lie here as the engine made them, without the seal that each has
in Redis: a site seals what it takes with its own secret. The MAC keeps the file as one: nobody
without the secret can add an entry, drop one or put one in another place.

Invariants  I1 no entry of a file is handed out before all of it was checked (``check``), and then
               only what was checked: ``read`` compares with the marks that ``check`` made, so that
               a file which changes meanwhile is found out before what changed is used.
            I2 no length is believed beyond the bounds: a reader holds ``AT_ONCE`` entries and
               the marks, one behind so many entries.
Cost        the MAC, 0.5-2 ms a megabyte, once to write and twice to read; a mark takes 32 bytes.
Not here    Redis (namespace, transfer).
"""

import hmac
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from struct import Struct
from typing import BinaryIO, Final

from .entries import AT_ONCE, MOST_ENTRIES, MOST_KEY_BYTES, MOST_VALUE_BYTES, Entry, is_entry
from .seal import Seal

_HEAD: Final = Struct(">4sBB")
_LENGTHS: Final = Struct(">III")
_MAGIC: Final = b"SWYD"
_VERSION: Final = 1
_MAC_BYTES: Final = 32


class DumpRefused(Exception):
    """A file that is no export, is damaged, or was made with another secret."""


def write(file: BinaryIO, entries: Iterable[Entry], seal: Seal) -> None:
    """A whole export."""
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
    """The marks of a file, for ``read``. Raises DumpRefused for any that ``write`` didn't make."""
    return [mark for _, mark in _batches(file, seal)]


def read(file: BinaryIO, seal: Seal, marks: Sequence[bytes]) -> Iterator[list[Entry]]:
    """The entries of a file that was checked, ``AT_ONCE`` at a time. Raises DumpRefused."""
    known = iter(marks)
    for batch, mark in _batches(file, seal):
        if not hmac.compare_digest(mark, next(known, b"")):
            raise DumpRefused("the file changed while it was read")
        yield batch


def _batches(file: BinaryIO, seal: Seal) -> Iterator[tuple[list[Entry], bytes]]:
    """Entries, and a mark that stands for all of the file so far; the last batch may be empty."""
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
    """One walk through a file."""

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
            raise DumpRefused("this is no export of a cache")
        if version != _VERSION:
            raise DumpRefused(f"the file's layout is {version}, and {_VERSION} is known")
        if kind != self._kind:
            made, reads = ("with", "without") if kind else ("without", "with")
            raise DumpRefused(f"the file was made {made} a cache key, and is read {reads} one")

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
                raise DumpRefused(f"damaged: at byte {self._at - key_bytes:,} is no entry's key")
            self._count += 1
            yield Entry(key, self._take(value_bytes), uses)

    def _check_lengths(self, key_bytes: int, value_bytes: int) -> None:
        for what, length, most in (
            ("key", key_bytes, MOST_KEY_BYTES),
            ("value", value_bytes, MOST_VALUE_BYTES),
        ):
            if length > most:
                raise DumpRefused(
                    f"damaged: before byte {self._at:,} a {what} has {length:,} bytes, and at most "
                    f"{most:,} are taken"
                )
        if self._count == MOST_ENTRIES:
            raise DumpRefused(f"the file has more than {MOST_ENTRIES:,} entries")

    def _check_count(self, told: int) -> None:
        if told != self._count:
            raise DumpRefused(f"damaged: {told:,} entries are told, and {self._count:,} there")

    def check_end(self) -> None:
        """The MAC, and nothing behind it."""
        expected = self._mac.digest()
        found = self._take(_MAC_BYTES)
        if not hmac.compare_digest(found, expected):
            raise DumpRefused("the file is damaged, or was made with another cache key")
        if self._file.read(1):
            raise DumpRefused(f"damaged: there is more behind byte {self._at:,}")

    def mark(self) -> bytes:
        """Stands for all that was read so far."""
        return self._mac.digest()

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        self._at += len(data)
        if len(data) != count:
            raise DumpRefused(f"the file ends too early, at byte {self._at:,}")
        self._mac.update(data)
        return data
