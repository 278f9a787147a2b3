"""Regular expressions as IR: whole texts, and the unanchored search of JSON Schema's ``pattern``.

Most patterns are emitted directly, so that a count remains a count: those with anchors only at the
edges of their alternatives, which for a search begin with ^. All others become a DFA over
characters, which allows anchors anywhere and is unambiguous. If the DFA of a search grows large and
the anchors allow it, the pattern is emitted directly after any text, unless it is long.

Two identities keep searches small: X{m,n} next to any text is X{m}, before and after it. If a
pattern has look-around, registers count its lengths where possible (``with_lengths``); otherwise
they would multiply the states.
"""

from itertools import pairwise
from typing import TypeGuard

from ...errors import LimitExceeded
from ...grammar.ir import Grammar, Node
from .char_automaton import Bound, CharAutomaton, bounded_node
from .char_nfa import from_tree
from .regex_syntax import (
    ANYTHING,
    END,
    START,
    Alt,
    Cat,
    Chars,
    Look,
    Repeat,
    Tree,
    alt,
    cat,
    emit,
    factored,
    look,
    parse,
    repeat,
)

#: code points: larger sets overlap
CHARACTERS = 0x110000
#: largest DFA of a searched pattern; larger ones are emitted directly if possible
SEARCH_STATES = 2_000
#: largest number of positions of a searched pattern that is emitted directly. A match may begin
#: anywhere, so all positions may be active at once: a text then costs up to half a second
SEARCH_POSITIONS = 2_000


def build_regex(
    grammar: Grammar,
    pattern: str,
    *,
    pointer: str = "",
    inside_json: bool = False,
    looks: bool = True,
) -> Node:
    """Add the texts that match the pattern as a whole.

    Args:
        looks: whether look-around is allowed; it sees nothing before and after the text.

    Raises:
        SpecError, UnsupportedSchema, LimitExceeded: as ``regex_syntax.parse``, and
        ``pattern_states``.
    """
    tree = parse(
        pattern, pointer=pointer, limits=grammar.limits, budget=grammar.budget, looks=looks
    )
    return emit_whole(grammar, tree, pointer, inside_json)


def emit_whole(grammar: Grammar, tree: Tree, pointer: str, inside_json: bool = False) -> Node:
    plain = whole(tree, search=False)
    if plain is not None:
        return emit(grammar, plain, inside_json)
    bound = Bound(grammar.limits.pattern_states, pointer, grammar.budget)
    rest, least, most = with_lengths(cat((START, tree, END)))
    found = from_tree(rest, bound, search=False)
    return bounded_node(grammar, found, least, most, bound, inside_json=inside_json)


def emit_search(grammar: Grammar, tree: Tree, pointer: str) -> Node:
    """Add the inside of a JSON string whose decoded value contains a match."""
    plain = whole(tree, search=True)
    if plain is not None and not _floats(plain):
        return emit(grammar, plain, True)
    limit = grammar.limits.pattern_states
    if plain is None:
        bound = Bound(limit, pointer, grammar.budget)
        rest, least, most = with_lengths(tree)
        return bounded_node(grammar, search_automaton(rest, bound), least, most, bound)
    refusal: LimitExceeded | None = None
    try:
        found = search_automaton(tree, Bound(limit, pointer, grammar.budget))
        if found.size <= SEARCH_STATES:
            return found.to_node(grammar)
    except LimitExceeded as error:
        if error.limit != "pattern_states":
            raise
        # without the traceback, which would form a cycle with this frame
        refusal = error.with_traceback(None)
    for each in (plain, factored(plain, grammar.budget)):
        if _positions(each) <= SEARCH_POSITIONS:
            return emit(grammar, each, True)
    if refusal is not None:
        raise LimitExceeded(refusal.limit, refusal.maximum, refusal.got, refusal.pointer)
    return found.to_node(grammar)


def search_automaton(tree: Tree, bound: Bound) -> CharAutomaton:
    """Return the DFA of texts that contain a match; raise LimitExceeded: ``pattern_states``."""
    plain = whole(tree, search=True)
    return (
        from_tree(tree, bound, search=True)
        if plain is None
        else from_tree(plain, bound, search=False)
    )


# -- anchors -------------------------------------------------------------------------------------


def whole(tree: Tree, *, search: bool) -> Tree | None:
    """Return an equivalent tree for whole texts without anchors; None: anchors occur inside."""
    branches = []
    for branch in tree.parts if isinstance(tree, Alt) else (tree,):
        plain = _branch(branch, search)
        if plain is None:
            return None
        branches.append(plain)
    return alt(branches)


def _branch(tree: Tree, search: bool) -> Tree | None:
    parts = list(tree.parts) if isinstance(tree, Cat) else [tree]
    first, last = 0, len(parts)
    while first < last and parts[first] == START:
        first += 1
    while last > first and parts[last - 1] == END:
        last -= 1
    inner: list[Tree] = list(parts[first:last])
    if any(part.anchored for part in inner):
        return None
    if search and last == len(parts) and inner[-1:] != [ANYTHING]:
        inner = [*inner[:-1], *map(_least, inner[-1:]), ANYTHING]
    if search and first == 0 and inner[:1] != [ANYTHING]:
        inner = [ANYTHING, *map(_least, inner[:1]), *inner[1:]]
    return cat(inner)


def with_lengths(tree: Tree) -> tuple[Tree, int, int | None]:
    """Return a tree and bounds on the length that together are equivalent to a tree:

    ^(?=.{1,253}$)...      1 to 253 characters of (?=.*$)...
    ^(?=.*[0-9]).{8,64}$   8 to 64 characters of (?=.*[0-9]).*
    """
    parts = list(tree.parts) if isinstance(tree, Cat) else [tree]
    least, most = 0, None
    if not any(isinstance(part, Look) for part in parts) or parts[0] != START:
        return tree, least, most
    for at, part in enumerate(parts):
        if not isinstance(part, Look):
            if part == START:
                continue
            break
        counted, *end = part.body.parts if isinstance(part.body, Cat) else (part.body,)
        if _is_counted(counted) and end == [END] and part.ahead and not part.negated:
            parts[at] = look(cat((_any_number(counted), END)), True, False)
            least, most = max(least, counted.minimum), _lesser(most, counted.maximum)
    varying = [at for at, part in enumerate(parts) if part.least != part.most]
    counted = parts[varying[0]] if len(varying) == 1 else END
    if _is_counted(counted) and parts[-1] == END:
        fixed = sum(part.least for part in parts) - counted.least
        parts[varying[0]] = _any_number(counted)
        least = max(least, fixed + counted.minimum)
        most = _lesser(most, None if counted.maximum is None else fixed + counted.maximum)
    return cat(parts), least, most


def _is_counted(tree: Tree) -> TypeGuard[Repeat]:
    return isinstance(tree, Repeat) and isinstance(tree.body, Chars)


def _any_number(tree: Repeat) -> Tree:
    return repeat(tree.body, 0, None)


def _lesser(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)


def _least(tree: Tree) -> Tree:
    """Return X{m} for X{m,n}, which is equivalent next to any text."""
    return repeat(tree.body, tree.minimum, tree.minimum) if isinstance(tree, Repeat) else tree


def _floats(plain: Tree) -> bool:
    """Whether some alternative begins with any text and continues."""
    branches = plain.parts if isinstance(plain, Alt) else (plain,)
    return any(isinstance(branch, Cat) and branch.parts[:1] == (ANYTHING,) for branch in branches)


def _positions(tree: Tree) -> int:
    """Return how many positions of a tree, with repetitions expanded, may be active at once if a
    match begins anywhere. Of alternatives with disjoint first characters, one counts.
    """
    if isinstance(tree, Chars):
        return 1
    if isinstance(tree, Repeat):
        return _positions(tree.body) * max(tree.maximum or tree.minimum, 1)
    if not isinstance(tree, Cat | Alt):
        return 0
    counts = list(map(_positions, tree.parts))
    return max(counts, default=0) if isinstance(tree, Alt) and _begin_apart(tree) else sum(counts)


def _begin_apart(tree: Alt) -> bool:
    """Whether the first characters of the alternatives are known to be disjoint."""
    firsts = [
        part.parts[0] if isinstance(part, Cat) and part.parts else part for part in tree.parts
    ]
    ranges: list[tuple[int, int]] = []
    characters = 0
    for first in firsts:
        if not isinstance(first, Chars):
            return False
        ranges.extend(first.ranges)
        characters += sum(high - low + 1 for low, high in first.ranges)
        if characters > CHARACTERS:
            return False
    ranges.sort()
    return all(left[1] < right[0] for left, right in pairwise(ranges))
