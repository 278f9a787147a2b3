from ...grammar.ir import Grammar, Node
from .char_automaton import Bound, CharAutomaton

def with_length(
    automaton: CharAutomaton, minimum: int, maximum: int | None, bound: Bound
) -> CharAutomaton:
    """The accepted texts of ``minimum`` to ``maximum`` characters.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def bounded_node(
    grammar: Grammar,
    automaton: CharAutomaton,
    minimum: int,
    maximum: int | None,
    bound: Bound,
    *,
    inside_json: bool = True,
) -> Node:
    """The automaton's texts of so many characters; as the inside of a JSON string, or as they are.

    Characters are counted by registers where that is exact. Where not every length occurs, a lower
    bound is counted by states.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
