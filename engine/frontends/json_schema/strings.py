"""Strings: lengths, patterns and formats, all judged on the decoded value.

A length alone is a counted repetition, a pattern or format alone is emitted as it stands. Together
they stay so where the pattern's own lengths lie within the bounds, or where one repeated class can
take the bounds over as its counts (``^[a-z]{1,4000}$``, ``^#.*$``); otherwise all of them are
intersected in one automaton. With a length beside it, a format that has one is taken in its short
form, which rules a few rare texts out.
"""

from ...ir import ANY_CHAR, Node
from ..char_automaton import Bound, intersection, with_length
from ..regex import emit_search, whole
from ..regex_syntax import parse
from ..regex_tree import ANYTHING, END, START, Cat, Chars, Repeat, Tree, cat, repeat
from . import formats
from .evaluate import Evaluator
from .shapes import Strings, least
from .text import Text


def build_string(text: Text, strings: Strings | None, evaluator: Evaluator) -> Node:
    g = text.grammar
    if strings is None:
        return text.any_string()
    minimum, maximum = strings.minimum, strings.maximum
    if maximum is not None and maximum < minimum:
        return g.fail()
    trees = [
        *((parse(n.text, pointer=n.pointer, limits=g.limits), n.pointer) for n in strings.patterns),
        *(
            (parse(formats.PATTERNS[n.text], pointer=n.pointer, limits=g.limits), n.pointer)
            for n in strings.formats
        ),
    ]
    asked = [(tree, pointer) for tree, pointer in trees if whole(tree, search=True) != ANYTHING]
    if not asked:
        if minimum == 0 and maximum is None:
            return text.any_string()
        return text.quoted(g.repeat(g.json_chars(ANY_CHAR), minimum, maximum))
    if len(asked) == 1:
        tree, pointer = asked[0]
        bounded = _bounded(tree, minimum, maximum)
        if bounded is not None:
            return text.quoted(emit_search(g, bounded, pointer))
    short = minimum > 0 or maximum is not None
    automata = [
        *map(evaluator.pattern, strings.patterns),
        *(evaluator.format(named, short=short) for named in strings.formats),
    ]
    bound = Bound(g.limits.pattern_states, asked[0][1])
    found = automata[0]
    for other in automata[1:]:
        found = intersection(found, other, bound)
    return text.quoted(with_length(found, minimum, maximum, bound).to_node(g))


def _bounded(tree: Tree, minimum: int, maximum: int | None) -> Tree | None:
    """A tree to be searched for, whose matches have no other lengths; None where that takes an
    automaton.
    """
    if minimum == 0 and maximum is None:
        return tree
    plain = whole(tree, search=True)
    if plain is None:
        return None
    if minimum <= plain.least and (
        maximum is None or (plain.most is not None and plain.most <= maximum)
    ):
        return tree
    return _counted(plain, minimum, maximum)


def _counted(plain: Tree, minimum: int, maximum: int | None) -> Tree | None:
    """The tree with the bounds in the counts of the one repeated class that makes its length vary,
    anchored.
    """
    parts: list[Tree] = list(plain.parts) if isinstance(plain, Cat) else [plain]
    varying = [n for n, part in enumerate(parts) if part.least != part.most]
    if len(varying) != 1:
        return None
    part = parts[varying[0]]
    if not isinstance(part, Repeat) or not isinstance(part.body, Chars):
        return None
    fixed = sum(other.least for other in parts) - part.least
    low = max(part.minimum, minimum - fixed)
    high = least(part.maximum, None if maximum is None else maximum - fixed)
    if high is not None and high < low:
        return Chars(())
    parts[varying[0]] = repeat(part.body, low, high)
    return cat([START, *parts, END])
