"""What the engine needs from a store of bytes. ``cache`` satisfies it without importing it."""

from collections.abc import Sequence
from typing import Protocol


class Store(Protocol):
    """Bytes by key. No method raises: whatever fails is a miss, or is not kept."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in order, ``None`` for each that is missing."""

    def get_newest(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """As ``get_many``, but what others wrote last: never what this process has put."""

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Keeps the pairs, now or later or not at all."""

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """Keys that begin with ``group`` and "/", those that were used most first; maybe none."""
