"""Named bytes with a time to live, in memory; the protocol of all such stores.

Invariants   I1 a value lives for the time to live after its last use, unless it is evicted.
             I2 values and names together never exceed ``max_bytes``; the least recently used are
                evicted first.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

#: bytes that an entry takes besides its name and value, about
ENTRY_BYTES = 300


class StateUnavailable(Exception):
    """The store cannot be reached, or rejects a command."""


class ByteStore(Protocol):
    """A store of named bytes. All methods may raise StateUnavailable. ``place``: for the log."""

    place: str

    async def set(self, values: Mapping[str, bytes]) -> None:
        """Store values. After a failure some may be there."""

    async def sizes(self, names: Sequence[str]) -> list[int]:
        """Return about the bytes of values; 0: missing."""

    async def get(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values, which counts as use; None: missing."""

    async def delete(self, names: Sequence[str]) -> None:
        """Delete values; missing ones do not matter."""

    async def aclose(self) -> None:
        """Disconnect."""


class MemoryStore:
    """A store in memory, lost when the process ends."""

    place = "memory"

    def __init__(
        self, *, max_bytes: int, ttl_s: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._now = now
        #: the least recently used first, with the time at which each expires
        self._held: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._size = 0

    async def set(self, values: Mapping[str, bytes]) -> None:
        """Store values. Raises StateUnavailable if they never fit."""
        if sum(_weight(name, value) for name, value in values.items()) > self._max_bytes:
            raise StateUnavailable("the values are larger than the whole memory")
        for name, value in values.items():
            self._drop(name)
            self._held[name] = (value, self._now() + self._ttl_s)
            self._size += _weight(name, value)
        while self._held and (self._size > self._max_bytes or self._is_expired()):
            self._drop(next(iter(self._held)))

    async def sizes(self, names: Sequence[str]) -> list[int]:
        """Return the bytes of values."""
        return [len(self._held.get(name, (b"", 0.0))[0]) for name in names]

    async def get(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values."""
        return [self._use(name) for name in names]

    async def delete(self, names: Sequence[str]) -> None:
        """Delete values."""
        for name in names:
            self._drop(name)

    async def aclose(self) -> None:
        """Drop everything."""
        self._held.clear()
        self._size = 0

    def _use(self, name: str) -> bytes | None:
        value, until = self._held.get(name, (None, 0.0))
        if value is None or until <= self._now():
            self._drop(name)
            return None
        self._held[name] = (value, self._now() + self._ttl_s)
        self._held.move_to_end(name)
        return value

    def _is_expired(self) -> bool:
        """Whether the least recently used value has expired."""
        return next(iter(self._held.values()))[1] <= self._now()

    def _drop(self, name: str) -> None:
        value, _ = self._held.pop(name, (None, 0.0))
        if value is not None:
            self._size -= _weight(name, value)


def _weight(name: str, value: bytes) -> int:
    return len(name) + len(value) + ENTRY_BYTES
