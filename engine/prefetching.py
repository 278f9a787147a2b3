"""What others used most is loaded before anything here asks for it, some of it at a time.

Threads   any.
Not here  what is wanted, how it is loaded, and how much room it may take (exchange, automatonstore,
          patternstore).
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

_Wanted = TypeVar("_Wanted")

#: entries of one kind that are loaded ahead
MOST_AHEAD: Final = 4096
#: of these, in one round trip
AT_ONCE: Final = 16


def load_ahead(
    wanted: Sequence[_Wanted],
    load: Callable[[Sequence[_Wanted]], int],
    *,
    until: float,
    has_room: Callable[[], bool],
) -> int:
    """
    Args:
        wanted: those used most first.
        load: some of them, in one round trip; returns how many were there.
        until: when to stop, as ``time.monotonic`` tells it.
        has_room: asked before each round trip.

    Returns:
        how many were there.
    """
    found = 0
    for start in range(0, len(wanted), AT_ONCE):
        if time.monotonic() > until or not has_room():
            break
        found += load(wanted[start : start + AT_ONCE])
    return found
