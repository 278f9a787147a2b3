"""Regular expressions -> IR: whole texts, and the unanchored search of JSON Schema's ``pattern``.

Most patterns are emitted as they stand, so that a count stays a count: those whose anchors stand at
the edges of their alternatives, and which begin with ^ where they are searched for. All others go
through a deterministic automaton over characters, which takes anchors anywhere and gives every text
one reading; where that grows large and the anchors allow it, the pattern is emitted as it stands
after all, with any text before it, unless it is long.

Two identities keep searches small: X{m,n} before any text is X{m}, and so it is behind any text.
Where a pattern has look-around, the lengths that it asks for are left to registers if it can be
(``with_lengths``): states would be multiplied by them.
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

#: states up to which a searched pattern is made deterministic rather than emitted as it stands
SEARCH_STATES = 2_000
#: places of a searched pattern up to which it may be emitted as it stands: any text may stand
#: before a match, so that all of them may be read at once; a text that does costs half a second
SEARCH_PLACES = 2_000


def build_regex(
    grammar: Grammar,
    pattern: str,
    *,
    pointer: str = "",
    inside_json: bool = False,
    looks: bool = True,
) -> Node:
    """Text that matches the pattern as a whole.

    Args:
        looks: whether there may be look-around, for which nothing stands before the text and
            nothing behind it.

    Raises:
        SpecError, UnsupportedSchema, LimitExceeded: see ``regex_syntax.parse``; LimitExceeded:
        ``pattern_states``.
    """
    grammar.budget.spend(len(pattern))
    tree = parse(pattern, pointer=pointer, limits=grammar.limits, looks=looks)
    return emit_whole(grammar, tree, pointer, inside_json)


def emit_whole(grammar: Grammar, tree: Tree, pointer: str, inside_json: bool = False) -> Node:
    plain = whole(tree, search=False)
    if plain is not None:
        return emit(grammar, plain, inside_json)
    bound = Bound(grammar.limits.pattern_states, pointer, grammar.budget)
    rest, least, most = with_lengths(cat((START, tree, END)))
    found = from_tree(rest, bound, search=False)
    return bounded_node(grammar, found, least, most, bound, inside_json=inside_json)


def build_search(grammar: Grammar, pattern: str, *, pointer: str = "") -> Node:
    """The inside of a JSON string whose decoded value the pattern is found in (JSON Schema's
    ``pattern``).

    Raises:
        as ``build_regex``.
    """
    grammar.budget.spend(len(pattern))
    tree = parse(pattern, pointer=pointer, limits=grammar.limits)
    return emit_search(grammar, tree, pointer)


def emit_search(grammar: Grammar, tree: Tree, pointer: str) -> Node:
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
        refusal = error
    for each in (plain, factored(plain)):
        if _places(each) <= SEARCH_PLACES:
            return emit(grammar, each, True)
    if refusal is not None:
        raise refusal
    return found.to_node(grammar)


def search_automaton(tree: Tree, bound: Bound) -> CharAutomaton:
    """
    Raises:
        LimitExceeded: ``pattern_states``.
    """
    plain = whole(tree, search=True)
    return (
        from_tree(tree, bound, search=True)
        if plain is None
        else from_tree(plain, bound, search=False)
    )


# -- anchors -------------------------------------------------------------------------------------


def whole(tree: Tree, *, search: bool) -> Tree | None:
    """A tree without anchors that matches whole texts; None where anchors stand elsewhere than at
    edges.
    """
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
    """A tree and bounds on the length of a text, which say together what the given tree says:

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
    """X{m,n} beside any text is X{m}."""
    return repeat(tree.body, tree.minimum, tree.minimum) if isinstance(tree, Repeat) else tree


def _floats(plain: Tree) -> bool:
    """Whether some alternative begins with any text and goes on."""
    branches = plain.parts if isinstance(plain, Alt) else (plain,)
    return any(isinstance(branch, Cat) and branch.parts[:1] == (ANYTHING,) for branch in branches)


def _places(tree: Tree) -> int:
    """Most characters of a tree that may be read at once if a match may begin anywhere, those of
    repetitions written out. Of alternatives that begin differently only one is gone into.
    """
    if isinstance(tree, Chars):
        return 1
    if isinstance(tree, Repeat):
        return _places(tree.body) * max(tree.maximum or tree.minimum, 1)
    if not isinstance(tree, Cat | Alt):
        return 0
    places = list(map(_places, tree.parts))
    return max(places, default=0) if isinstance(tree, Alt) and _begin_apart(tree) else sum(places)


def _begin_apart(tree: Alt) -> bool:
    """Whether the first characters of the alternatives are seen to be different ones."""
    firsts = [
        part.parts[0] if isinstance(part, Cat) and part.parts else part for part in tree.parts
    ]
    ranges = sorted(pair for first in firsts if isinstance(first, Chars) for pair in first.ranges)
    return all(isinstance(first, Chars) for first in firsts) and all(
        left[1] < right[0] for left, right in pairwise(ranges)
    )
