"""Attributes of Lark's rules: ``rule[lazy]: ...``. The rule's body is a regular expression then.

    lazy             as few characters as possible
    suffix=TERMINAL  the body, and behind it this: both together as few characters as possible
    stop=TERMINAL    the same without what the suffix matches, which is left to what follows
    max_tokens=N     of free text: as many tokens at most

Captures say nothing of the language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...grammar.ir import Node
from ..regex.char_automaton import before, shortest
from ..regex.charset import complement
from ..regex.regex_syntax import Cat, Chars, Repeat, Tree, cat

if TYPE_CHECKING:
    from .emission import Emission
    from .parts import Part

#: characters that free text may leave out
MOST_LEFT_OUT = 64


class Attributes(NamedTuple):
    at: int
    is_lazy: bool = False
    suffix: Part | None = None
    stop: Part | None = None
    max_tokens: int | None = None

    def node(self, made: Emission, body: Tree) -> Node:
        """
        Raises:
            UnsupportedSchema, LimitExceeded.
        """
        if self.max_tokens is not None:
            return self._counted(made, body)
        end = self.suffix or self.stop
        text = body if end is None else cat((body, end.tree(made)))
        found = None if self.stop is not None else _first_occurrence(made, text)
        if found is not None:
            return found
        automaton = shortest(made.automaton(text))
        if self.stop is not None:
            ends = made.automaton(self.stop.tree(made))
            automaton = before(automaton, ends, made.bound())
        return automaton.minimal(made.bound()).to_node(made.g, inside_json=False)

    def _counted(self, made: Emission, body: Tree) -> Node:
        if self.max_tokens == 0:
            return made.g.empty()
        left_out = _left_out(body)
        if left_out is None or self.is_lazy or self.suffix or self.stop:
            why = "only free text without another end can be counted, as /(.|\\n)*/ or /.*/"
            raise made.s.refuse("max_tokens", self.at, why)
        excludes = [tuple(c.encode()) for c in left_out]
        return made.g.dispatch([], excludes=excludes, open_end=True, max_tokens=self.max_tokens)


def _left_out(tree: Tree) -> str | None:
    """The characters that are not in free text; None if this is no free text."""
    if not isinstance(tree, Repeat) or tree.minimum or tree.maximum is not None:
        return None
    if not isinstance(tree.body, Chars):
        return None
    rest = complement(tree.body.ranges)
    if sum(high - low + 1 for low, high in rest) > MOST_LEFT_OUT:
        return None
    return "".join(chr(c) for low, high in rest for c in range(low, high + 1))


def _first_occurrence(made: Emission, tree: Tree) -> Node | None:
    """Free text up to the first occurrence of a literal; None if the tree is something else.

    Here the literal may be a special token.
    """
    parts = tree.parts if isinstance(tree, Cat) else ()
    left_out = _left_out(parts[0]) if parts else None
    if left_out is None:
        return None
    ranges = [part.ranges for part in parts[1:] if isinstance(part, Chars)]
    if len(ranges) < len(parts) - 1 or not all(
        len(each) == 1 and each[0][0] == each[0][1] for each in ranges
    ):
        return None
    literal = "".join(chr(each[0][0]) for each in ranges)
    if set(literal) & set(left_out):
        return None
    arms = [
        (pattern, made.g.empty(), False)
        for pattern in made.vocabulary.spelling.patterns(literal, made.s.pointer)
    ]
    excludes = [tuple(c.encode()) for c in left_out]
    return made.g.dispatch(arms, excludes=excludes, open_end=False)
