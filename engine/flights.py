"""One thread does what several want at once; the others wait for it.

Representation   a dict from what is wanted to a lock that its maker holds.
Cost             under a microsecond where nobody else wants the same.
Threads          any. One whose maker takes longer than ``MOST_WAIT_SECONDS``, or is gone, as after
                 a fork, makes it himself.
Not here         what was made: everybody looks for it where it is kept, and makes it himself if it
                 is not there.
"""

import threading
from collections.abc import Hashable

#: seconds that a thread waits for another one of this process; nearly all compiles take less
MOST_WAIT_SECONDS = 10.0


class Flights:
    """What is under way."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def begin(self, key: Hashable) -> "threading.Lock | None":
        """What the caller, who is to make it, gives to ``end``. None: somebody else was at it, and
        is done now or takes too long.
        """
        with self._guard:
            others = self._under_way.get(key)
            if others is None:
                self._under_way[key] = mine = threading.Lock()
                mine.acquire()
                return mine
        if others.acquire(timeout=MOST_WAIT_SECONDS):
            others.release()
        else:
            self._forget(key, others)
        return None

    def end(self, key: Hashable, mine: "threading.Lock | None") -> None:
        """To be called whatever came of it; None: nothing happens."""
        if mine is not None:
            self._forget(key, mine)
            mine.release()

    def _forget(self, key: Hashable, flight: threading.Lock) -> None:
        with self._guard:
            if self._under_way.get(key) is flight:
                del self._under_way[key]
