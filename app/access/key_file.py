"""The file of keys: JSON lines, one entry (key_entry) per line.

Empty lines, and lines that begin with #, are comments. A file with a mistake is refused as a whole:
if a broken line were skipped, its key would seem revoked.

Threads    ``load`` runs in a thread, one call at a time. Commands change the file by renaming a new
           one over it, under a lock, so that readers see a whole file.
Not here   noticing that the file has changed (followed_file).
"""

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ..files import replacing
from .followed_file import FollowedFile, KeysUnreadable
from .key_entry import EntryRefused, KeyEntry, parse_entry

#: bytes of the file, about 100,000 keys; a larger one is a mistake
MAX_BYTES: Final = 32 << 20


class KeyFile(FollowedFile[list[KeyEntry]]):
    """The keys in a file. A mistake's message names its line.

    ``reserved``: digests of keys that the file must not contain, each with the setting that has it.
    """

    setting = "KEYS_FILE"
    #: a file that is missing at startup is a mistake
    may_be_down = False

    def __init__(self, path: Path, *, reserved: Mapping[bytes, str] | None = None) -> None:
        super().__init__(path, self._entries, max_bytes=MAX_BYTES)
        self._reserved = reserved or {}

    async def aclose(self) -> None:
        """Do nothing: no file stays open."""

    def entries(self) -> list[KeyEntry]:
        """Return the entries now. Raises KeysUnreadable."""
        return self.read()

    def add(self, entry: KeyEntry) -> None:
        """Add an entry; create the file if necessary.

        Raises:
            KeysUnreadable: see ``load``, or the name is in use.
        """
        with self._changing() as text:
            if any(entry.name == other.name for _, other in self._numbered(text)):
                raise KeysUnreadable(f"{self.path}: the name {entry.name!r} is in use")
            self._write([*_lines(text), entry.as_json()])

    def remove(self, name: str) -> bool:
        """Remove an entry; return whether there was one. Raises KeysUnreadable."""
        with self._changing() as text:
            numbers = {number for number, entry in self._numbered(text) if entry.name == name}
            if numbers:
                self._write([line for n, line in enumerate(_lines(text), 1) if n not in numbers])
        return bool(numbers)

    def _entries(self, text: str) -> list[KeyEntry]:
        return [entry for _, entry in self._numbered(text)]

    def _numbered(self, text: str) -> Iterator[tuple[int, KeyEntry]]:
        """Yield the entries with their lines. Raises KeysUnreadable."""
        names: dict[str, int] = {}
        digests: dict[bytes, int] = {}
        for number, line in enumerate(_lines(text), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            where = f"{self.path}, line {number}"
            try:
                entry = parse_entry(line)
            except EntryRefused as error:
                raise KeysUnreadable(f"{where}: {error}") from None
            if entry.name in names:
                raise KeysUnreadable(f"{where}: name: the same as in line {names[entry.name]}")
            if entry.digest in digests:
                raise KeysUnreadable(
                    f"{where}: sha256: the same as in line {digests[entry.digest]}"
                )
            if entry.digest in self._reserved:
                raise KeysUnreadable(f"{where}: the key is also in {self._reserved[entry.digest]}")
            names[entry.name] = digests[entry.digest] = number
            yield number, entry

    # -- changes -----------------------------------------------------------------------------------
    @contextmanager
    def _changing(self) -> Iterator[str]:
        """Lock the file and yield its text. Raises KeysUnreadable."""
        try:
            with self._locked() as file:
                yield self.text() if os.fstat(file).st_size else ""
        except OSError as error:
            raise KeysUnreadable(f"{self.path} cannot be changed: {error.strerror}") from None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        while True:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                # another command may have renamed a new file over this one
                if os.path.samestat(os.fstat(file), os.stat(self.path)):
                    yield file
                    return
            finally:
                os.close(file)

    def _write(self, lines: list[str]) -> None:
        # a link is followed: the file that it names is replaced
        path = self.path.resolve()
        with replacing(path) as out:
            out.writelines(f"{line}\n".encode() for line in lines)
            out.flush()
            os.fsync(out.fileno())
            os.fchmod(out.fileno(), path.stat().st_mode & 0o777)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines; one call of C code for all of a large file would hold the GIL."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        yield text[at:end].removesuffix("\r")
        at = end + 1
