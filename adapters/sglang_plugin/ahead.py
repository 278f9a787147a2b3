"""Masks made ahead, between a token and the next step: while the scheduler prepares the next batch
and the device computes, a thread makes the masks that nobody has made yet.

Invariants       a mask made ahead is the one that the step would have made; where the thread has
                 too much to do, the step makes it itself.
Cost             of the scheduler's loop: a look whether the mask is there; where it is not, about
                 20 us to wake the thread (seen on two busy processors).
"""

from engine import Matcher

from .executor import BoundedExecutor

#: matchers that may wait; a batch has as many requests
MOST = 256


class Ahead:
    """See the file's header."""

    def __init__(self) -> None:
        self.executor = BoundedExecutor("switchyard-masks", MOST)
        self.made = 0

    def look(self, matcher: Matcher) -> None:
        """Has the matcher's next mask made, if it is not there. Raises nothing."""
        if matcher.lacks_mask():
            self.made += self.executor.submit(matcher.make_mask)
