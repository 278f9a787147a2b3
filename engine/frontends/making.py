"""What a thread makes that others may want as well, told when it turns out to be costly.

Who makes something (patternstore) names it here; who counts the states of automata (char_automaton)
tells it once they are ``COSTLY_STATES``. So nobody asks others before it is worth the way, and
what lies between the two need not know of it.

Threads   each has its own.
"""

from contextvars import ContextVar
from typing import Protocol

#: states of automata that are made in two milliseconds or three
COSTLY_STATES = 1000


class Making(Protocol):
    """One thing that is made."""

    def is_costly(self) -> None:
        """Takes note, once; may raise ``Delivered``."""


class Delivered(Exception):
    """Somebody else has made what is under way here: there is no need to go on."""


#: what this thread makes now, or None
UNDER_WAY: ContextVar[Making | None] = ContextVar("under_way", default=None)


def tell_costly() -> None:
    """What this thread makes now takes long."""
    making = UNDER_WAY.get()
    if making is not None:
        making.is_costly()
