"""Named bytes with a time to live, in memory; the protocol of all such stores.

Each value has an owner, the client that stored it.

Invariants   I1 a value lives for the time to live after its last use, unless it is evicted.
             I2 values and names together never exceed ``max_bytes``. The owner with the most bytes
                makes room: its least recently used values are evicted first. So an owner loses no
                value while another one holds more.
             I3 values that were stored together last are not evicted for their own sake.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Protocol

#: bytes that an entry takes besides its name and value, about
ENTRY_BYTES = 300


class StateUnavailable(Exception):
    """The store cannot be reached, or rejects a command."""


class ByteStore(Protocol):
    """A store of named bytes. All methods may raise StateUnavailable. ``place``: for the log."""

    place: str

    async def set(self, owner: str, values: Mapping[str, bytes]) -> None:
        """Store values of an owner. After a failure some may be there."""

    async def sizes(self, names: Sequence[str]) -> list[int]:
        """Return about the bytes of values; 0: missing."""

    async def get(self, names: Sequence[str]) -> list[bytes | None]:
        """Return values, which counts as use; None: missing."""

    async def delete(self, names: Sequence[str]) -> None:
        """Delete values; missing ones do not matter."""

    async def claim(self, name: str, seconds: float) -> bool:
        """Claim a name for so long, unless it is claimed; return whether it was free."""

    async def release(self, name: str) -> None:
        """End a claim."""

    async def aclose(self) -> None:
        """Disconnect."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A value, its owner, and the time at which it expires."""

    value: bytes
    owner: str
    until: float


class MemoryStore:
    """A store in memory, lost when the process ends."""

    place = "memory"

    def __init__(
        self, *, max_bytes: int, ttl_s: int, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._max_bytes = max_bytes
        self._ttl_s = ttl_s
        self._now = now
        #: the least recently used first, of all owners and of each
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._owned: dict[str, OrderedDict[str, None]] = {}
        self._bytes: Counter[str] = Counter()
        self._size = 0
        #: names that are claimed, and until when
        self._claims: dict[str, float] = {}

    async def set(self, owner: str, values: Mapping[str, bytes]) -> None:
        """Store values. Raises StateUnavailable if they never fit."""
        if sum(_weight(name, value) for name, value in values.items()) > self._max_bytes:
            raise StateUnavailable("the values are larger than the whole memory")
        for name, value in values.items():
            self._drop(name)
            self._keep(name, value, owner)
        while self._held and self._is_expired():
            self._drop(next(iter(self._held)))
        while self._size > self._max_bytes:
            self._drop(self._victim(values))

    async def sizes(self, names: Sequence[str]) -> list[int]:
        values = (self._held.get(name) for name in names)
        return [0 if held is None else len(held.value) for held in values]

    async def get(self, names: Sequence[str]) -> list[bytes | None]:
        return [self._use(name) for name in names]

    async def delete(self, names: Sequence[str]) -> None:
        for name in names:
            self._drop(name)

    async def claim(self, name: str, seconds: float) -> bool:
        now = self._now()
        if self._claims.get(name, now) > now:
            return False
        self._claims[name] = now + seconds
        return True

    async def release(self, name: str) -> None:
        self._claims.pop(name, None)

    async def aclose(self) -> None:
        """Drop everything."""
        for name in list(self._held):
            self._drop(name)

    def _use(self, name: str) -> bytes | None:
        held = self._drop(name)
        if held is None or held.until <= self._now():
            return None
        self._keep(name, held.value, held.owner)
        return held.value

    def _is_expired(self) -> bool:
        """Whether the least recently used value has expired."""
        return next(iter(self._held.values())).until <= self._now()

    def _victim(self, stored: Mapping[str, bytes]) -> str:
        """Return the value to evict for those just stored."""
        # all of the new values have one owner, so the second owner has others
        owners = nlargest(2, self._bytes, key=self._bytes.__getitem__)
        oldest = (next(iter(self._owned[owner])) for owner in owners)
        return next(name for name in oldest if name not in stored)

    def _keep(self, name: str, value: bytes, owner: str) -> None:
        """Add a value as the most recently used one."""
        self._held[name] = _Held(value, owner, self._now() + self._ttl_s)
        self._owned.setdefault(owner, OrderedDict())[name] = None
        self._bytes[owner] += _weight(name, value)
        self._size += _weight(name, value)

    def _drop(self, name: str) -> _Held | None:
        held = self._held.pop(name, None)
        if held is not None:
            names, weight = self._owned[held.owner], _weight(name, held.value)
            del names[name]
            self._bytes[held.owner] -= weight
            self._size -= weight
            if not names:
                del self._owned[held.owner], self._bytes[held.owner]
        return held


def _weight(name: str, value: bytes) -> int:
    return len(name) + len(value) + ENTRY_BYTES
