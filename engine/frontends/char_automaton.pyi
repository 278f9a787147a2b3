from collections.abc import Iterable

from ..budget import WorkBudget
from ..ir import Grammar, Node, Ranges

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
    def trimmed(self) -> CharAutomaton:
        """The same texts, without the states that lead nowhere."""
    def minimal(self, bound: Bound | None = None) -> CharAutomaton:
        """The same texts with the fewest states, or as it is where that takes too long."""

def intersection(a: CharAutomaton, b: CharAutomaton, bound: Bound) -> CharAutomaton:
    """
    Raises:
        LimitExceeded: ``pattern_states``.
    """

def without(automaton: CharAutomaton) -> CharAutomaton:
    """Every text that the automaton does not accept (its complement)."""

def shortest(automaton: CharAutomaton) -> CharAutomaton:
    """The accepted texts that do not begin with another one."""

def before(automaton: CharAutomaton, ends: CharAutomaton, bound: Bound) -> CharAutomaton:
    """The texts that one of the ``ends`` makes an accepted one.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def words(texts: Iterable[str]) -> CharAutomaton:
    """Exactly these texts: their trie."""

def excluding(texts: Iterable[str]) -> CharAutomaton:
    """Every text but the given ones."""
