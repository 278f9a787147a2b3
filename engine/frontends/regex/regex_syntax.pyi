from collections.abc import Sequence

from ...grammar.ir import Grammar, Node, Ranges
from ...limits import Limits
from ...native.resources import WorkBudget
from .char_automaton import CharAutomaton

class Tree:
    least: int
    most: int | None
    anchored: bool

class Chars(Tree):
    ranges: Ranges
    def __init__(self, ranges: Ranges) -> None: ...

class Cat(Tree):
    parts: tuple[Tree, ...]

class Alt(Tree):
    parts: tuple[Tree, ...]

class Repeat(Tree):
    body: Tree
    minimum: int
    maximum: int | None

class Anchor(Tree):
    sign: str

class Look(Tree):
    body: Tree
    ahead: bool
    negated: bool

EMPTY: Cat
START: Anchor
END: Anchor
#: any text
ANYTHING: Tree

def cat(parts: Sequence[Tree], budget: WorkBudget | None = None) -> Tree: ...
def alt(parts: Sequence[Tree], budget: WorkBudget | None = None) -> Tree:
    """Return the alternatives; single characters among them become one set."""

def repeat(body: Tree, minimum: int, maximum: int | None) -> Tree: ...
def look(body: Tree, ahead: bool, negated: bool) -> Tree:
    """Return a look; one that always holds is EMPTY, one that never holds matches nothing."""

def accepted(states: CharAutomaton) -> Tree:
    """Return the texts of an automaton, whose moves may overlap."""

def factored(tree: Tree, budget: WorkBudget) -> Tree:
    """Return an equivalent tree in which alternatives share common beginnings, as in a trie."""

def parse(
    pattern: str,
    *,
    pointer: str,
    limits: Limits,
    budget: WorkBudget | None = None,
    looks: bool = True,
    flags: str = "",
    line_ends: Ranges = ...,
) -> Tree:
    """Parse a pattern (ECMA-262).

    Args:
        budget: pays for characters and sets; None: a budget of its own.
        looks: whether look-around and word boundaries are allowed.
        flags: initial flags, of "ims".
        line_ends: excluded from the dot, and ends of lines for the flag ``m``; default: the
            standard's.

    Raises:
        SpecError: not a regular expression; the message names the position.
        UnsupportedSchema: a construct that cannot be enforced, by name.
        LimitExceeded: ``pattern_chars`` or, for nested groups, ``spec_depth``.
    """

def emit(grammar: Grammar, tree: Tree, inside_json: bool) -> Node:
    """Add a tree without anchors."""
