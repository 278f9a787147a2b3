""""""

from collections.abc import Iterable, Sequence

from ...grammar.ir import Grammar, Node, Ranges
from ...native.resources import WorkBudget

COSTLY_STATES: int
Edges = list[tuple[Ranges, int]]

class Bound:
    """``limits.pattern_states`` at one place of a spec, and the budget that the work counts on."""

    limit: int
    looks: int
    pointer: str
    budget: WorkBudget
    def __init__(self, limit: int, pointer: str, budget: WorkBudget | None = None) -> None:
        """``budget`` None: one of its own."""

class CharAutomaton:
    """States 0..n-1, start 0; none if nothing is accepted."""

    def __init__(self, edges: list[Edges], finals: Iterable[int]) -> None: ...
    @property
    def edges(self) -> list[Edges]: ...
    @property
    def size(self) -> int: ...
    @property
    def finals(self) -> set[int]: ...
    def to_node(self, grammar: Grammar, *, inside_json: bool = True) -> Node:
        """The accepted texts; as the inside of a JSON string, or as they are."""
    def accepts(self, text: str) -> bool: ...
    def minimal(self, bound: Bound | None = None) -> CharAutomaton:
        """The same texts with the fewest states, or as it is where that takes too long."""

def words(texts: Iterable[str]) -> CharAutomaton:
    """Exactly these texts: their trie."""

# -- char products ---------------------------------------------------------------------------------

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

# -- char lengths ----------------------------------------------------------------------------------

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
