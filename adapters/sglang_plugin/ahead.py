"""Masks made ahead, between a token and the next step: while the scheduler prepares the next batch
and the device computes, a thread makes the masks that nobody has made yet.

Representation   one thread, and at most ``MOST`` matchers that wait for it; beyond them nothing is
                 put off, and the step makes the mask itself.
Invariants       a mask made ahead is the one that the step would have made.
Cost             of the scheduler's loop: a look whether the mask is there; where it is not, about
                 20 us to wake the thread (seen on two busy processors).
"""

from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore

from engine import Matcher

#: matchers that may wait; a batch has as many requests
MOST = 256


class Ahead:
    """See the file's header."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "switchyard-masks")
        self._room = BoundedSemaphore(MOST)
        self.made = 0

    def look(self, matcher: Matcher) -> None:
        """Has the matcher's next mask made, if it is not there. Raises nothing."""
        if matcher.lacks_mask() and self._room.acquire(blocking=False):
            self.made += 1
            try:
                self._thread.submit(self._make, matcher)
            except RuntimeError:  # the process ends
                self._room.release()

    def _make(self, matcher: Matcher) -> None:
        try:
            matcher.make_mask()
        finally:
            self._room.release()
