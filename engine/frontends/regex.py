"""Regular expressions -> IR: whole texts, and the unanchored search of JSON Schema's ``pattern``.

Anchors are resolved before emission. A tree falls apart into branches (anchored at the start?, tree without anchors,
anchored at the end?); in a search, a side that is not anchored is padded with any text. An anchor in the middle means
that what stands outside it must be empty, which decides itself. Anchors inside repetitions are refused.
"""

from typing import NamedTuple

from ..errors import LimitExceeded, UnsupportedSchema
from ..ir import ANY_CHAR, Grammar, Node
from .regex_syntax import EMPTY, Alt, Cat, End, Repeat, Set, Start, Tree, fold, parse

#: branches that one pattern may fall apart into; people write fewer than ten
BRANCHES = 256


class Branch(NamedTuple):
    at_start: bool
    tree: Tree
    at_end: bool


def has_anchor(tree: Tree) -> bool:
    return bool(fold(tree, lambda node, below: isinstance(node, Start | End) or any(below)))


def is_nullable(tree: Tree) -> bool:
    """Whether the empty text matches; anchors count as empty."""

    def visit(node: Tree, below: list) -> bool:
        if isinstance(node, Alt):
            return any(below)
        if isinstance(node, Repeat):
            return node.minimum == 0 or below[0]
        return all(below) and not isinstance(node, Set)

    return bool(fold(tree, visit))


def branches(tree: Tree, *, pointer: str) -> list[Branch]:
    """The tree as alternatives without anchors; those that can never match are gone.

    Raises:
        UnsupportedSchema: an anchor inside a repetition. LimitExceeded: more than ``BRANCHES``.
    """
    if not has_anchor(tree):
        return [Branch(False, tree, False)]
    if isinstance(tree, Start):
        return [Branch(True, EMPTY, False)]
    if isinstance(tree, End):
        return [Branch(False, EMPTY, True)]
    if isinstance(tree, Alt):
        found = [branch for part in tree.parts for branch in branches(part, pointer=pointer)]
    elif isinstance(tree, Cat):
        found = [Branch(False, EMPTY, False)]
        for part in tree.parts:
            right = branches(part, pointer=pointer)
            found = [both for a in found for b in right if (both := _join(a, b)) is not None]
            _bound(found, pointer)
    elif isinstance(tree, Repeat) and tree.maximum == 1:
        found = branches(tree.body, pointer=pointer)
        if tree.minimum == 0:
            found = [*found, Branch(False, EMPTY, False)]
    else:
        raise UnsupportedSchema(pointer, "pattern", "an anchor inside a repetition can't be enforced")
    _bound(found, pointer)
    return found


def _bound(found: list[Branch], pointer: str) -> None:
    if len(found) > BRANCHES:
        raise LimitExceeded("pattern_branches", BRANCHES, len(found), pointer)


def _join(a: Branch, b: Branch) -> Branch | None:
    """``a`` then ``b``; None where an anchor between them contradicts what stands outside it."""
    left, right = a.tree, b.tree
    if b.at_start:
        if not is_nullable(left):
            return None
        left = EMPTY
    if a.at_end:
        if not is_nullable(right):
            return None
        right = EMPTY
    parts = tuple(p for tree in (left, right) for p in (tree.parts if isinstance(tree, Cat) else (tree,)))
    return Branch(a.at_start or b.at_start, Cat(parts), a.at_end or b.at_end)


def emit(grammar: Grammar, tree: Tree, *, inside_json: bool) -> Node:
    """A tree without anchors -> IR; inside a JSON string every character in any spelling."""
    if isinstance(tree, Set):
        return grammar.json_chars(tree.ranges) if inside_json else grammar.chars(tree.ranges)
    if isinstance(tree, Alt):
        return grammar.alt(*(emit(grammar, part, inside_json=inside_json) for part in tree.parts))
    if isinstance(tree, Repeat):
        body = emit(grammar, tree.body, inside_json=inside_json)
        return grammar.repeat(body, tree.minimum, tree.maximum)
    assert isinstance(tree, Cat)
    return grammar.seq(*(emit(grammar, part, inside_json=inside_json) for part in tree.parts))


def build_regex(grammar: Grammar, pattern: str, *, pointer: str = "", inside_json: bool = False) -> Node:
    """Text that matches the pattern as a whole."""
    tree = parse(pattern, pointer=pointer, limits=grammar.limits)
    found = branches(tree, pointer=pointer)
    return grammar.alt(*(emit(grammar, branch.tree, inside_json=inside_json) for branch in found))


def emit_search(grammar: Grammar, found: list[Branch]) -> Node:
    """The inside of a JSON string in which some branch is found."""
    anything = grammar.repeat(grammar.json_chars(ANY_CHAR), 0, None)
    return grammar.alt(
        *(
            grammar.seq(
                grammar.empty() if branch.at_start else anything,
                emit(grammar, branch.tree, inside_json=True),
                grammar.empty() if branch.at_end else anything,
            )
            for branch in found
        )
    )


def build_search(grammar: Grammar, pattern: str, *, pointer: str = "") -> Node:
    """The inside of a JSON string whose decoded value the pattern is found in (JSON Schema's ``pattern``)."""
    tree = parse(pattern, pointer=pointer, limits=grammar.limits)
    return emit_search(grammar, branches(tree, pointer=pointer))
