"""Refusals of specs, remembered: a spec that was refused once is refused again without work.

Representation   errors by spec digest, the least recently used going first. Each raise has an
                 exception of its own, since a traceback belongs to one thread.
Invariants       only refusals that the spec alone decides: never a cancellation, and never a bound
                 that other specs of the request had a part in passing. The caller sees to that.
Threads          one at a time: the compiler's lock.
"""

from collections import OrderedDict

from ..errors import LimitExceeded, SpecError

#: characters of a message and its pointer; a longer one is not kept, so that all are small
MOST_CHARS = 4_096


class Refusals:
    """A bounded table of refusals.

    Args:
        most: how many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._errors: OrderedDict[bytes, SpecError | LimitExceeded] = OrderedDict()

    def __len__(self) -> int:
        return len(self._errors)

    def get(self, key: bytes) -> SpecError | LimitExceeded | None:
        """An exception to raise."""
        error = self._errors.get(key)
        if error is None:
            return None
        self._errors.move_to_end(key)
        return again(error)

    def add(self, key: bytes, error: SpecError | LimitExceeded) -> None:
        """Keeps a copy of the error."""
        if len(str(error)) <= MOST_CHARS:
            self._errors[key] = again(error)
        while len(self._errors) > self._most:
            self._errors.popitem(last=False)

    def clear(self) -> None:
        self._errors.clear()


def again(error: SpecError | LimitExceeded) -> SpecError | LimitExceeded:
    """The same error without traceback, cause and context."""
    made = type(error).__new__(type(error), *error.args)
    made.__dict__.update(error.__dict__)
    return made
