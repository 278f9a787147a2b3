"""Regular expressions as IR: whole texts, and the unanchored search of JSON Schema's ``pattern``.

Most patterns are emitted directly, so that a count remains a count: those with anchors only at the
edges of their alternatives, which for a search begin with ^. All others become a DFA over
characters, which allows anchors anywhere and is unambiguous. If the DFA of a search grows large and
the anchors allow it, the pattern is emitted directly after any text, unless it is long.

Two identities keep searches small: X{m,n} next to any text is X{m}, before and after it. If a
pattern has look-around, registers count its lengths where possible (``by_length``); otherwise they
would multiply the states.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod
from typing import NamedTuple, TypeGuard

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
#: largest number of trees that ``by_length`` makes of one. Each becomes a rule of its own, and rows
#: follow all of them at once; real patterns need two
MAX_WAYS = 8


class Lengths(NamedTuple):
    """The texts of a tree that have ``least`` to ``most`` characters; None: any number."""

    tree: Tree
    least: int
    most: int | None


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
    ways = []
    for rest, least, most in by_length(cat((START, tree, END))):
        found = from_tree(rest, bound, search=False)
        ways.append(bounded_node(grammar, found, least, most, bound, inside_json=inside_json))
    return grammar.alt(*ways)


def emit_search(grammar: Grammar, tree: Tree, pointer: str) -> Node:
    """Add the inside of a JSON string whose decoded value contains a match."""
    plain = whole(tree, search=True)
    if plain is not None and not _floats(plain):
        return emit(grammar, plain, True)
    limit = grammar.limits.pattern_states
    if plain is None:
        bound = Bound(limit, pointer, grammar.budget)
        return grammar.alt(
            *(
                bounded_node(grammar, search_automaton(rest, bound), least, most, bound)
                for rest, least, most in by_length(tree)
            )
        )
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


# -- lengths -------------------------------------------------------------------------------------


def by_length(tree: Tree) -> list[Lengths]:
    r"""Return trees with bounds on the length that together are equivalent to a tree:

    ^(?=.{1,253}$)...      1 to 253 characters of ^(?=.*$)...
    ^(?=.{1,253}\.?$)...   these, and 2 to 254 characters of ^(?=.*\.$)...
    ^(?=.*[0-9]).{8,64}$   8 to 64 characters of ^(?=.*[0-9]).*$

    All texts before such a look-ahead have one length.
    """
    parts = list(tree.parts) if isinstance(tree, Cat) else [tree]
    if not any(isinstance(part, Look) for part in parts) or parts[0] != START:
        return [Lengths(tree, 0, None)]
    choices: dict[int, list[Lengths]] = {}
    begun, ways = 0, 1
    for at, part in enumerate(parts):
        if isinstance(part, Look):
            found = _counted_ways(part, begun)
            if found and ways * len(found) <= MAX_WAYS:
                choices[at] = found
                ways *= len(found)
        elif part.least != part.most:
            break
        begun += part.least
    return [
        _without_count(parts, dict(zip(choices, chosen, strict=True)))
        for chosen in product(*choices.values())
    ]


def _without_count(parts: list[Tree], chosen: dict[int, Lengths]) -> Lengths:
    """Return a sequence with some look-aheads replaced, and its only count as a length."""
    parts = [chosen[at].tree if at in chosen else part for at, part in enumerate(parts)]
    least, most = 0, None
    for each in chosen.values():
        least, most = max(least, each.least), _lesser(most, each.most)
    varying = [at for at, part in enumerate(parts) if part.least != part.most]
    counted = parts[varying[0]] if len(varying) == 1 else END
    if _is_counted(counted) and parts[-1] == END:
        fixed = sum(part.least for part in parts) - counted.least
        parts[varying[0]] = _any_number(counted)
        least = max(least, fixed + counted.minimum)
        most = _lesser(most, _sum(fixed, counted.maximum))
    return Lengths(cat(parts), least, most)


def _counted_ways(part: Look, begun: int) -> list[Lengths]:
    """Return look-aheads that together are equivalent to one that counts the rest of the text, and
    the lengths of the whole text; []: it does not. ``begun``: characters before it.
    """
    parts = list(part.body.parts) if isinstance(part.body, Cat) else [part.body]
    inner = parts[:-1]
    if not part.ahead or part.negated or parts[-1] != END or any(each.anchored for each in inner):
        return []
    varying = [at for at, each in enumerate(inner) if each.least != each.most]
    counted = [at for at in varying if _is_counted(inner[at])]
    if not counted:
        return []
    at = max(counted, key=lambda at: _spread(inner[at]))
    optional = {other: _each_count(inner[other]) for other in varying if other != at}
    if not all(optional.values()) or prod(map(len, optional.values())) > MAX_WAYS:
        return []
    return list(_chosen_ways(inner, at, optional, begun))


def _chosen_ways(
    inner: list[Tree], at: int, optional: dict[int, list[Tree]], begun: int
) -> Iterator[Lengths]:
    counted = inner[at]
    assert _is_counted(counted)
    for chosen in product(*optional.values()):
        rest = [*inner]
        for other, tree in zip(optional, chosen, strict=True):
            rest[other] = tree
        fixed = begun + sum(each.least for each in rest) - counted.least
        rest[at] = _any_number(counted)
        body = look(cat((*rest, END)), True, False)
        yield Lengths(body, fixed + counted.minimum, _sum(fixed, counted.maximum))


def _spread(tree: Tree) -> float:
    return float("inf") if tree.most is None else tree.most - tree.least


def _each_count(tree: Tree) -> list[Tree]:
    """Return X{m}, ..., X{n} of X{m,n} where X has one length; []: they are many, or of others."""
    if not isinstance(tree, Repeat) or tree.body.least != tree.body.most or tree.maximum is None:
        return []
    if tree.maximum - tree.minimum >= MAX_WAYS:
        return []
    return [repeat(tree.body, n, n) for n in range(tree.minimum, tree.maximum + 1)]


def within(tree: Tree, longest: int) -> Tree:
    """Return a tree that matches the same in all texts of at most ``longest`` characters, without
    counts that these texts cannot exceed.
    """
    if isinstance(tree, Cat | Alt):
        parts = [within(part, longest) for part in tree.parts]
        if all(new is old for new, old in zip(parts, tree.parts, strict=True)):
            return tree
        return cat(parts) if isinstance(tree, Cat) else alt(parts)
    if isinstance(tree, Look):
        body = within(tree.body, longest)
        return tree if body is tree.body else look(body, tree.ahead, tree.negated)
    if not isinstance(tree, Repeat):
        return tree
    body, most = within(tree.body, longest), tree.maximum
    if most is not None and most * body.least >= longest:
        most = None
    return tree if body is tree.body and most == tree.maximum else repeat(body, tree.minimum, most)


def _is_counted(tree: Tree) -> TypeGuard[Repeat]:
    return isinstance(tree, Repeat) and isinstance(tree.body, Chars)


def _any_number(tree: Repeat) -> Tree:
    return repeat(tree.body, 0, None)


def _sum(a: int, b: int | None) -> int | None:
    return None if b is None else a + b


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
