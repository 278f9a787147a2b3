""""""

from .char_automaton import Bound, CharAutomaton
from .regex_syntax import Tree

def from_tree(tree: Tree, bound: Bound, *, search: bool) -> CharAutomaton:
    """The texts that match as a whole, or in which a match is found; anchors may stand anywhere.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
