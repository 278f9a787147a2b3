"""The most recently used values of a cache, within a bound on their bytes.

Bounds      a value of more than a quarter of the bound is not kept.
Threads     any.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")
#: memory of JSON values, for each byte that marshal writes of them, and besides for each object and
#: array
_BYTE, _OBJECT, _ARRAY = 12, 300, 40


def bytes_of_json(marshalled: bytes) -> int:
    """Return how much memory the JSON values take of which marshal wrote this, at the most: 3 to 12
    times as much, but an empty object has two bytes there, an array few.
    """
    within = _OBJECT * marshalled.count(b"{") + _ARRAY * marshalled.count(b"[")
    return _BYTE * len(marshalled) + within


class RecentValues(Generic[Value]):
    """See the file's header."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes, self.held = most_bytes, 0
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """Return a value, which counts as used; None: it is not kept."""
        with self._guard:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def keep(self, key: Hashable, value: Value, size: int) -> None:
        """Keep a value of so many bytes, unless another thread has kept it."""
        with self._guard:
            if size > self._most_bytes // 4 or key in self._kept:
                return
            self._kept[key] = value, size
            self.held += size
            while self.held > self._most_bytes:
                self.held -= self._kept.popitem(last=False)[1][1]
