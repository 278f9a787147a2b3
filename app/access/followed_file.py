"""A file that is read again when it changes.

Invariants   I1 a changed file is read only after two looks in a row found it the same: an editor
                may have written half of it. The first look reads at once.
             I2 a file with a mistake is refused as a whole, at every look until it changes.
Threads      ``load`` runs in a thread, one call at a time.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from ..files import read_text

Content = TypeVar("Content")


class KeysUnreadable(Exception):
    """A source of keys cannot be read. The message names the place, and quotes no key.

    ``setting``: the source's setting, if the gateway cannot start without the source.
    """

    def __init__(self, message: str, setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting


class FollowedFile(Generic[Content]):
    """A file of text, and its content as ``parse`` returns it.

    ``parse`` raises KeysUnreadable. A file of more than ``max_bytes`` is a mistake.
    """

    def __init__(self, path: Path, parse: Callable[[str], Content], *, max_bytes: int) -> None:
        self.path, self.name = path, str(path)
        self._parse = parse
        self._max_bytes = max_bytes
        #: of the file that was read, and of the last look at it
        self._stamp: tuple[int, int, int] | None = None
        self._seen: tuple[int, int, int] | None = None
        self._mistake: KeysUnreadable | None = None

    async def load(self) -> Content | None:
        """Return the content; None if the file is good and has not changed, or still changes.

        Raises:
            KeysUnreadable: the file cannot be read or has a mistake.
        """
        return await asyncio.to_thread(self._load)

    def read(self) -> Content:
        """Return the content now. Raises KeysUnreadable."""
        return self._parse(self.text())

    def text(self) -> str:
        """Return the text now. Raises KeysUnreadable."""
        try:
            return read_text(self.path, self._max_bytes)
        except ValueError as error:
            raise KeysUnreadable(str(error)) from None

    def _load(self) -> Content | None:
        try:
            status = os.stat(self.path)
        except OSError as error:
            self._seen = None
            raise KeysUnreadable(f"{self.path} cannot be read: {error.strerror}") from None
        stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
        is_settled = self._stamp is None or stamp == self._seen
        self._seen = stamp
        if stamp != self._stamp and is_settled:
            self._stamp, self._mistake = stamp, None
            try:
                return self.read()
            except KeysUnreadable as error:
                self._mistake = error
        if self._mistake is not None:
            raise KeysUnreadable(str(self._mistake))
        return None


def emptied(table: dict[Any, Any]) -> None:
    """Empty a table that is no longer used: freed as a whole, a large one would hold the GIL."""
    while table:
        table.popitem()
