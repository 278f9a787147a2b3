from collections.abc import Iterable

from ...budget import WorkBudget
from ...grammar.ir import Grammar, Node, Ranges

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
