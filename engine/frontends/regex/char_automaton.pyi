from collections.abc import Iterable, Sequence

from ...grammar.ir import Grammar, Node, Ranges
from ...native.resources import WorkBudget

Edges = list[tuple[Ranges, int]]

class Bound:
    """``limits.pattern_states`` at one place of a spec, and the budget that the work counts on."""

    limit: int
    work: int
    pointer: str
    budget: WorkBudget
    def __init__(self, limit: int, pointer: str, budget: WorkBudget | None = None) -> None:
        """Create a limit; without a ``budget`` it has its own."""

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
        """Add the accepted texts, as the inside of a JSON string or as they are."""
    def accepts(self, text: str) -> bool: ...
    def minimal(self, bound: Bound | None = None) -> CharAutomaton:
        """Return the minimal automaton, or this one if minimisation takes too much work."""

def words(texts: Iterable[str]) -> CharAutomaton:
    """Return the trie of these texts."""

def intersection(
    accepting: Sequence[CharAutomaton], rejecting: Sequence[CharAutomaton], bound: Bound
) -> CharAutomaton:
    """Return the automaton of texts that all ``accepting`` accept and no ``rejecting`` accepts.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def is_empty(
    accepting: Sequence[CharAutomaton], rejecting: Sequence[CharAutomaton], bound: Bound
) -> bool:
    """Whether ``intersection`` accepts no text; stops at the first one.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def memberships(
    automata: Sequence[CharAutomaton], bound: Bound, most_classes: int
) -> list[int] | None:
    """Divide all texts into classes that no automaton divides further, and return for each
    automaton the classes that it accepts, as the bits of a number. None: there are more than
    ``most_classes``. A class takes 4 bytes for each automaton.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def shortest(automaton: CharAutomaton) -> CharAutomaton:
    """Return the automaton of accepted texts of which no proper prefix is accepted."""

def before(automaton: CharAutomaton, ends: CharAutomaton, bound: Bound) -> CharAutomaton:
    """Return the right quotient: the texts that some text of ``ends`` completes to an accepted one.

    Raises:
        LimitExceeded: ``pattern_states``.
    """

def with_length(
    automaton: CharAutomaton, minimum: int, maximum: int | None, bound: Bound
) -> CharAutomaton:
    """Return the automaton of accepted texts of ``minimum`` to ``maximum`` characters.

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
    """Add the accepted texts of ``minimum`` to ``maximum`` characters.

    Registers count characters where that is exact. If not every length occurs, states count the
    lower bound.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
