"""How long this thread may still wait for Redis, told to the connections that it waits for.

One reading may take several steps: a connection, its login, a Sentinel's answer, one node of a
cluster after the other. Each has its own bound; together they end when the reading does.

A wait in vain is followed by closing the connection, an error on its way through redis-py and a
line in the log, 0.6 ms on an idle machine. So it ends ``AFTERWARDS`` before the deadline that its
caller was promised.

Threads     a deadline holds for the thread that set it.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

#: seconds that are left for what follows a wait in vain; of a very short one a quarter is
AFTERWARDS: Final = 0.001


class _Deadline(threading.local):
    until: float = float("inf")
    #: seconds that connecting adds, once
    grace: float = 0.0


_here = _Deadline()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is done inside ends so many seconds from now, or twice as many if a connection must be
    made: a first reading would else have less than all others. Inside of another, never later than
    that one.
    """
    before = _here.until, _here.grace
    until = monotonic() + seconds - min(AFTERWARDS, seconds / 4)
    grace = min(seconds, max(0.0, before[0] - until))
    _here.until, _here.grace = min(until, before[0]), grace
    try:
        yield
    finally:
        _here.until, _here.grace = before


def connecting() -> None:
    """A connection is made now."""
    _here.until += _here.grace
    _here.grace = 0.0


def left() -> float:
    """Seconds to wait; infinite where nothing was set, and not positive when it is over."""
    return _here.until - monotonic()


def is_set() -> bool:
    """Whether this thread waits for something that must not take long."""
    return _here.until != float("inf")
