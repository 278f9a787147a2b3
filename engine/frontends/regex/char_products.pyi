from collections.abc import Sequence

from .char_automaton import Bound, CharAutomaton

def intersection(
    accepting: Sequence[CharAutomaton], rejecting: Sequence[CharAutomaton], bound: Bound
) -> CharAutomaton:
    """The texts that all of ``accepting`` accept and none of ``rejecting`` does.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def is_empty(
    accepting: Sequence[CharAutomaton], rejecting: Sequence[CharAutomaton], bound: Bound
) -> bool:
    """Whether ``intersection`` of these accepts no text; stops at the first one.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def shortest(automaton: CharAutomaton) -> CharAutomaton:
    """The accepted texts that do not begin with another one."""

def before(automaton: CharAutomaton, ends: CharAutomaton, bound: Bound) -> CharAutomaton:
    """The texts that one of the ``ends`` makes an accepted one.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
