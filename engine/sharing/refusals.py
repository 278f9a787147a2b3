"""Cached refusals: a spec that was refused once is refused again without work.

Representation   errors by spec digest, in LRU order. Each raise has its own exception, because a
                 traceback belongs to one thread.
Invariants       the caller adds only refusals that depend on the spec alone: no cancellation, and
                 no limit that other specs of the request helped to exceed.
Threads          the compiler's lock guards it.
"""

from collections import OrderedDict

from ..errors import LimitExceeded, SpecError

#: limit on the characters of a cached message and its pointer
MOST_CHARS = 4_096


class Refusals:
    """A bounded LRU of refusals.

    Args:
        most: limit on the number of entries.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._errors: OrderedDict[bytes, SpecError | LimitExceeded] = OrderedDict()

    def __len__(self) -> int:
        return len(self._errors)

    def get(self, key: bytes) -> SpecError | LimitExceeded | None:
        """Return an exception to raise, or None."""
        error = self._errors.get(key)
        if error is None:
            return None
        self._errors.move_to_end(key)
        return again(error)

    def add(self, key: bytes, error: SpecError | LimitExceeded) -> None:
        """Add a copy of the error."""
        if len(str(error)) <= MOST_CHARS:
            self._errors[key] = again(error)
        while len(self._errors) > self._most:
            self._errors.popitem(last=False)

    def clear(self) -> None:
        self._errors.clear()


def again(error: SpecError | LimitExceeded) -> SpecError | LimitExceeded:
    """Return the same error without traceback, cause and context.\n"""
    made = type(error).__new__(type(error), *error.args)
    made.__dict__.update(error.__dict__)
    return made
