"""The tree of a regular expression, with the facts that decide how it is emitted.

    Chars(ranges)   one character        Cat(parts)   Alt(parts)
    Repeat(body, minimum, maximum)       maximum None: no upper bound; laziness does not change a
                                         language
    START, END      the anchors ^ and $

Facts        least, most   shortest and longest match in characters (most None: no longest); anchors
                           count as empty
             anchored      an anchor stands somewhere below
Invariants   I1 trees are made by ``cat``, ``alt`` and ``repeat`` only, which flatten: a Cat holds
             no Cat, an Alt no Alt.
             I2 a Chars may be empty; it matches nothing.
Not here     reading patterns (regex_syntax), languages (regex, char_automaton).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Union

from ..ir import ANY_CHAR, Ranges
from .charset import union


@dataclass(frozen=True, slots=True)
class Chars:
    ranges: Ranges
    least: int = 1
    most: int | None = 1
    anchored: bool = False


@dataclass(frozen=True, slots=True)
class Cat:
    parts: tuple["Tree", ...]
    least: int = 0
    most: int | None = 0
    anchored: bool = False


@dataclass(frozen=True, slots=True)
class Alt:
    parts: tuple["Tree", ...]
    least: int
    most: int | None
    anchored: bool


@dataclass(frozen=True, slots=True)
class Repeat:
    body: "Tree"
    minimum: int
    maximum: int | None
    least: int
    most: int | None
    anchored: bool


@dataclass(frozen=True, slots=True)
class Anchor:
    sign: str
    least: int = 0
    most: int | None = 0
    anchored: bool = True


Tree = Union[Chars, Cat, Alt, Repeat, Anchor]  # noqa: UP007  (the names above are strings until here)
#: no text has as many characters: an upper bound from here on bounds nothing
COUNTLESS = 1 << 31
EMPTY = Cat(())
START, END = Anchor("^"), Anchor("$")


def cat(parts: Iterable[Tree]) -> Tree:
    flat: list[Tree] = []
    for part in parts:
        if isinstance(part, Cat):
            flat.extend(part.parts)
        else:
            flat.append(part)
    if len(flat) < 2:
        return flat[0] if flat else EMPTY
    longest: int | None = 0
    for part in flat:
        longest = None if longest is None or part.most is None else longest + part.most
    least = sum(part.least for part in flat)
    return Cat(tuple(flat), least, longest, any(part.anchored for part in flat))


def alt(parts: Iterable[Tree]) -> Tree:
    """Single characters among the alternatives become one set."""
    flat: list[Tree] = []
    sets: list[Ranges] = []
    for part in parts:
        for each in part.parts if isinstance(part, Alt) else (part,):
            if isinstance(each, Chars):
                sets.append(each.ranges)
            else:
                flat.append(each)
    if sets:
        flat.insert(0, Chars(union(*sets) if len(sets) > 1 else sets[0]))
    if len(flat) == 1:
        return flat[0]
    longest = [part.most for part in flat]
    return Alt(
        tuple(flat),
        min(part.least for part in flat),
        None if None in longest else max(n for n in longest if n is not None),
        any(part.anchored for part in flat),
    )


def repeat(body: Tree, minimum: int, maximum: int | None) -> Tree:
    if maximum == 0:
        return EMPTY
    if body.most == 0:
        # an anchor holds once or not at all: no count, however large, says more
        return body if minimum and body.anchored else EMPTY
    if minimum == maximum == 1:
        return body
    if isinstance(body, Repeat) and _is_one_count(body, minimum, maximum):
        return repeat(body.body, *_product(body, minimum, maximum))
    most = None
    if body.most is not None and maximum is not None:
        most = body.most * maximum
    return Repeat(body, minimum, maximum, body.least * minimum, most, body.anchored)


def _is_one_count(inner: Repeat, minimum: int, maximum: int | None) -> bool:
    """Whether counts of counts reach every number between the smallest and the largest: n times
    a..b must touch n + 1 times a..b. Texts have many readings under two counts, and one under one.
    """
    if minimum * inner.minimum >= COUNTLESS:
        return False
    if minimum == maximum or inner.maximum is None:
        return minimum > 0 or inner.minimum <= 1
    return minimum * (inner.maximum - inner.minimum) + 1 >= inner.minimum


def _product(inner: Repeat, minimum: int, maximum: int | None) -> tuple[int, int | None]:
    if maximum is None or inner.maximum is None:
        return inner.minimum * minimum, None
    most = inner.maximum * maximum
    return inner.minimum * minimum, most if most < COUNTLESS else None


def factored(tree: Tree) -> Tree:
    """The same texts; alternatives share their common beginnings, as in a trie."""
    if isinstance(tree, Cat):
        return cat(map(factored, tree.parts))
    if isinstance(tree, Repeat):
        return repeat(factored(tree.body), tree.minimum, tree.maximum)
    if isinstance(tree, Alt):
        branches = map(factored, tree.parts)
        return _trie([each.parts if isinstance(each, Cat) else (each,) for each in branches])
    return tree


def _trie(branches: list[tuple[Tree, ...]]) -> Tree:
    by_first: dict[tuple[Tree, ...], list[tuple[Tree, ...]]] = {}
    for branch in branches:
        by_first.setdefault(branch[:1], []).append(branch)
    found: list[Tree] = []
    for group in by_first.values():
        common, least = 0, min(map(len, group))
        while common < least and all(each[common] == group[0][common] for each in group):
            common += 1
        rests = [each[common:] for each in group] if len(group) > 1 and common else []
        found.append(cat([*group[0][:common], _trie(rests)] if rests else group[0]))
    return alt(found)


ANYTHING = repeat(Chars(ANY_CHAR), 0, None)
