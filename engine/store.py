"""What the engine needs from a store of bytes. ``cache`` satisfies it without importing it."""

from collections.abc import Sequence
from typing import Protocol


class Store(Protocol):
    """Bytes by key. No method raises: whatever fails is a miss, or is not kept. Where a request
    waits it is *urgent*: then nothing takes longer than a request may wait for a store.
    """

    def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]:
        """The values in order, ``None`` for each that is missing. Where a request waits they count
        as used; what is loaded ahead does not, until ``used`` tells of it.
        """

    def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]:
        """As ``get_many``, but what others wrote last: never what this process has put; and they
        do not count as used.
        """

    def used(self, keys: Sequence[bytes]) -> None:
        """These are used, that is worth keeping, though nobody reads them now."""

    def may_have(self, key: bytes) -> bool:
        """False where a reading would find nothing, so far as this process knows by itself."""

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Keeps the pairs, now or later or not at all."""

    def claim(self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False) -> list[bool]:
        """For each key whether the caller may make its value: False where another thread or process
        said so before and has not put it, for at most as many seconds. True where nobody can tell.
        Who was denied reads again, and makes the value himself when that took too long.
        """

    def release(self, keys: Sequence[bytes]) -> None:
        """Ends what this thread has claimed; after ``put_many``, so that the next one finds it."""

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """Keys that begin with ``group`` and "/", those that were used most first; maybe none."""
