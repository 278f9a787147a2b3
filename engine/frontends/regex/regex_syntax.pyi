""""""

from collections.abc import Iterable

from ...grammar.ir import Grammar, Node, Ranges
from ...limits import Limits
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

class Automaton(Tree):
    states: CharAutomaton

class Look(Tree):
    body: Tree
    ahead: bool
    negated: bool

EMPTY: Cat
START: Anchor
END: Anchor
#: any text
ANYTHING: Tree

def cat(parts: Iterable[Tree]) -> Tree: ...
def alt(parts: Iterable[Tree]) -> Tree:
    """Single characters among the alternatives become one set."""

def repeat(body: Tree, minimum: int, maximum: int | None) -> Tree: ...
def look(body: Tree, ahead: bool, negated: bool) -> Tree:
    """What is always found, or never, is no Look."""

def accepted(states: CharAutomaton) -> Tree:
    """The texts of an automaton, whose moves may overlap."""

def factored(tree: Tree) -> Tree:
    """The same texts; alternatives share their common beginnings, as in a trie."""

# -- regex syntax ----------------------------------------------------------------------------------

def parse(
    pattern: str,
    *,
    pointer: str,
    limits: Limits,
    looks: bool = True,
    flags: str = "",
    line_ends: Ranges = ...,
) -> Tree:
    """
    Args:
        looks: whether there may be look-around and word boundaries.
        flags: those that hold from the beginning, of "ims".
        line_ends: what the dot leaves out, and where lines end for the flag ``m``; those of the
            standard if it is not given.

    Raises:
        SpecError: not a regular expression; the message names the position.
        UnsupportedSchema: a construct that can't be enforced, by name.
        LimitExceeded: ``pattern_chars`` or, for nested groups, ``spec_depth``.
    """

# -- regex emit ------------------------------------------------------------------------------------

def emit(grammar: Grammar, tree: Tree, inside_json: bool) -> Node:
    """A tree without anchors."""
