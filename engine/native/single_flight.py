"""One thread does what several want at once; the others wait for it.

Representation   a dict from what is wanted to a lock that its maker holds.
Invariants       where a maker gives up, one of those that wait becomes the next.
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


class Call:
    """One making; ``is_given_up``: its maker ended with an error or was cancelled."""

    __slots__ = ("is_given_up", "lock")

    def __init__(self) -> None:
        self.is_given_up = False
        self.lock = threading.Lock()
        self.lock.acquire()


class SingleFlight:
    """What is under way."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, Call] = {}
        self._guard = threading.Lock()

    def begin(self, key: Hashable) -> Call | None:
        """What the caller, who is to make it, gives to ``end``. None: somebody else was at it, and
        is done now or takes too long.
        """
        while True:
            with self._guard:
                others = self._under_way.get(key)
                if others is None:
                    mine = self._under_way[key] = Call()
                    return mine
            if not others.lock.acquire(timeout=MOST_WAIT_SECONDS):
                self._forget(key, others)
                return None
            others.lock.release()
            if not others.is_given_up:
                return None

    def end(self, key: Hashable, mine: Call | None, *, is_made: bool = True) -> None:
        """To be called whatever came of it; None: nothing happens."""
        if mine is not None:
            mine.is_given_up = not is_made
            self._forget(key, mine)
            mine.lock.release()

    def _forget(self, key: Hashable, call: Call) -> None:
        with self._guard:
            if self._under_way.get(key) is call:
                del self._under_way[key]
