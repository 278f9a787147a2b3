"""What a store was asked for a moment ago, so that it is not asked again at once.

Threads   any.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence

#: seconds until a rule that was asked for is again: the store had none, or more was learnt of it
ASK_AGAIN_SECONDS = 30.0
#: rules that were asked for, remembered
MOST_REMEMBERED = 1 << 16


class Asked:
    """Digests of rules, the last ``MOST_REMEMBERED``."""

    def __init__(self) -> None:
        self._again: OrderedDict[bytes, float] = OrderedDict()  # when, by digest
        self._guard = threading.Lock()

    def due(self, digests: Sequence[bytes]) -> list[bytes]:
        """Those that may be asked for."""
        now = time.monotonic()
        with self._guard:
            return [each for each in digests if self._again.get(each, now) <= now]

    def note(self, digests: Sequence[bytes]) -> None:
        """These are asked for now."""
        again = time.monotonic() + ASK_AGAIN_SECONDS
        with self._guard:
            for digest in digests:
                self._again[digest] = again
                self._again.move_to_end(digest)
            while len(self._again) > MOST_REMEMBERED:
                self._again.popitem(last=False)
