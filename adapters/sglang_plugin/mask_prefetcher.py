"""The mask prefetcher: masks computed between a token and the next step.

While the scheduler prepares the next batch and the device computes, a thread computes masks that
are missing.

Invariants   a prefetched mask equals the one that the step would compute; if the thread has too
             much to do, the step computes it.
Cost         for the scheduler's loop: a look-up, and about 20 us to wake the thread if the mask is
             missing (measured on two busy processors).
"""

from engine import Matcher

from .executor import BoundedExecutor

#: matchers that may wait: the requests of a batch
MAX_WAITING = 256


class MaskPrefetcher:
    """See the file's header."""

    def __init__(self) -> None:
        self.executor = BoundedExecutor("switchyard-masks", MAX_WAITING)
        self.made = 0

    def submit(self, matcher: Matcher) -> None:
        """Compute the matcher's next mask in the thread if it is missing. Never raises."""
        if matcher.lacks_mask():
            self.made += self.executor.submit(matcher.make_mask)
