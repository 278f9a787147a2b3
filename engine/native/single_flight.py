"""Single flight: one thread does what several need at once; the others wait for it.

Representation   a dict from keys to calls in progress, each with a lock that its leader holds.
Invariants       if a leader fails, one of the waiting threads becomes the next leader.
Cost             under a microsecond without contention.
Threads          any. A waiting thread calls ``check`` every ``CHECK_SECONDS``, which may raise: its
                 leader may wait for the turn that this thread has. It stops waiting after
                 ``MAX_WAIT_SECONDS``, for instance in a fork whose leader is gone, and does the
                 work itself.
Not here         results: after waiting, look into the cache first.
"""

import threading
import time
from collections.abc import Callable, Hashable

#: seconds that a thread waits for another one of this process; nearly all compiles take less
MAX_WAIT_SECONDS = 10.0
#: seconds between two checks of a waiting thread: longer than nearly all compiles
CHECK_SECONDS = 0.01


class PendingCall:
    """A call in progress; ``is_given_up``: its leader failed or was cancelled."""

    __slots__ = ("is_given_up", "lock")

    def __init__(self) -> None:
        self.is_given_up = False
        self.lock = threading.Lock()
        self.lock.acquire()


class SingleFlight:
    """The calls in progress."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, PendingCall] = {}
        self._guard = threading.Lock()

    def begin(self, key: Hashable, check: Callable[[], None] | None = None) -> PendingCall | None:
        """Become the leader for a key, and return a call for ``end``. None: another thread was the
        leader, and has finished or takes too long.

        Raises:
            all errors of ``check``.
        """
        while True:
            with self._guard:
                others = self._under_way.get(key)
                if others is None:
                    mine = self._under_way[key] = PendingCall()
                    return mine
            if not _acquired(others.lock, check):
                self._forget(key, others)
                return None
            others.lock.release()
            if not others.is_given_up:
                return None

    def end(self, key: Hashable, mine: PendingCall | None, *, is_made: bool = True) -> None:
        """End a call in any case; None has no effect."""
        if mine is not None:
            mine.is_given_up = not is_made
            self._forget(key, mine)
            mine.lock.release()

    def _forget(self, key: Hashable, call: PendingCall) -> None:
        with self._guard:
            if self._under_way.get(key) is call:
                del self._under_way[key]


def _acquired(lock: threading.Lock, check: Callable[[], None] | None) -> bool:
    """Return whether the lock could be acquired in time."""
    if check is None:
        return lock.acquire(timeout=MAX_WAIT_SECONDS)
    end = time.monotonic() + MAX_WAIT_SECONDS
    while not lock.acquire(timeout=CHECK_SECONDS):
        check()
        if time.monotonic() > end:
            return False
    return True
