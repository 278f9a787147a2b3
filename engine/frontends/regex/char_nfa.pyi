from .char_automaton import Bound, CharAutomaton
from .regex_syntax import Tree

def from_tree(tree: Tree, bound: Bound, *, search: bool) -> CharAutomaton:
    """Return the DFA of the texts that match as a whole, or that contain a match (``search``).

    Anchors may occur anywhere.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
