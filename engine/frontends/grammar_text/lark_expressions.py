"""Expressions of Lark grammars as a syntax tree, and attributes of rules.

Every part has two translations: a node of the IR, and, if it is regular, the tree of a regular
expression, to which the operators & and ~ and the attributes of rules apply.

Attributes   ``rule[lazy]: ...`` treats the body of a rule as a regular expression:

                 lazy             as few characters as possible
                 suffix=TERMINAL  the body and then this, together as few characters as possible
                 stop=TERMINAL    the same without the match of the suffix, which stays unread
                 max_tokens=N     free text of at most N tokens

             Captures do not change the language.
Invariants   a tree has no anchors and contains characters only: a literal that is the text of a
             special token stands for that text, not for the token.
Not here     parsing (lark_parser), names and rules (lark_builder).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...grammar.ir import Node
from ..regex.char_automaton import CharAutomaton, before, intersection, shortest
from ..regex.char_classes import complement
from ..regex.regex_syntax import (
    Alt,
    Cat,
    Chars,
    Repeat,
    Tree,
    accepted,
    alt,
    cat,
    emit,
    repeat,
)
from .lark_builder import LarkBuilder, ParameterExpression, Part, Scope
from .macros import substring_node

#: whether an alternative is available
Condition = Callable[[int], bool]

#: steps for a part of a sequence or an alternative, besides those of its node
PART_STEPS = 2
#: characters of a literal that become a tree in about a microsecond
CHARS_PER_STEP = 4
#: characters that free text may exclude
MAX_LEFT_OUT = 64


class Regular(NamedTuple):
    """A regular terminal: a pattern, a range, a literal in any letter case."""

    expression: Tree

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        return builder.terminal(self, scope)

    def content(self, builder: LarkBuilder) -> Node:
        return emit(builder.g, self.expression, builder.inside_json)

    def tree(self, builder: LarkBuilder) -> Tree:
        return self.expression


class Literal(NamedTuple):
    """A literal, which may contain special tokens."""

    text: str

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        return builder.terminal(self, scope)

    def content(self, builder: LarkBuilder) -> Node:
        if builder.inside_json:
            return builder.g.text(self.text)
        return builder.vocabulary.spelling.add_mark(builder.g, self.text)

    def tree(self, builder: LarkBuilder) -> Tree:
        builder.check_parts(len(self.text))
        builder.g.budget.spend(len(self.text) // CHARS_PER_STEP)
        return cat([Chars(((ord(c), ord(c)),)) for c in self.text])


class OpaqueTerminal(NamedTuple):
    """A terminal that is not regular: tokens, a schema, a grammar."""

    make: Callable[[], Node]
    what: str
    at: int

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        if self.what == "%lark" and not scope.in_rule:
            raise builder.s.error("a terminal can't contain a grammar", self.at)
        if self.what != "%lark" and builder.inside_json:
            raise builder.s.refuse(f"{self.what} inside a JSON string", self.at)
        return builder.terminal(self, scope)

    def content(self, _: LarkBuilder) -> Node:
        return self.make()

    def tree(self, builder: LarkBuilder) -> Tree:
        raise builder.s.refuse(f"{self.what} in a regular expression", self.at)


class Substring(NamedTuple):
    """Runs of consecutive chunks, as a suffix automaton."""

    states: int
    edges: list[tuple[int, str, int]]

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        return builder.terminal(self, scope)

    def content(self, builder: LarkBuilder) -> Node:
        if builder.inside_json:
            return emit(builder.g, self.tree(builder), True)
        return substring_node(builder.g, self.states, self.edges)

    def tree(self, builder: LarkBuilder) -> Tree:
        builder.s.check("pattern_states", sum(len(chunk) for _, chunk, _ in self.edges))
        alternatives: list[list[tuple[tuple[tuple[int, int], ...], int]]] = [
            [] for _ in range(self.states)
        ]
        for source, chunk, to in self.edges:
            for c in chunk[:-1]:
                alternatives.append([])
                alternatives[source].append((((ord(c), ord(c)),), len(alternatives) - 1))
                source = len(alternatives) - 1
            alternatives[source].append((((ord(chunk[-1]), ord(chunk[-1])),), to))
        return builder.deterministic(alternatives, range(self.states))


class Name(NamedTuple):
    name: str
    at: int
    parameter: ParameterExpression | None = None

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        return builder.ref(self.name, self.at, self.parameter, scope)

    def tree(self, builder: LarkBuilder) -> Tree:
        return builder.tree_of(self.name, self.at)


class Concatenation(NamedTuple):
    """A sequence of parts."""

    parts: list[Part]

    def nodes(self, builder: LarkBuilder, scope: Scope) -> list[Node]:
        found: list[Node] = []
        for part in self.parts:
            builder.g.budget.spend(PART_STEPS)
            found.append(part.node(builder, scope))
        return found

    def tree(self, builder: LarkBuilder) -> Tree:
        found: list[Tree] = []
        size = 0
        for part in self.parts:
            found.append(part.tree(builder))
            size += _size(found[-1])
            builder.check_parts(size)
        return cat(found, builder.g.budget)


class Alternative(NamedTuple):
    """One alternative: the intersection of its operands (&), under a condition."""

    operands: list[Concatenation]
    at: int
    condition: Condition | None = None

    def holds(self, builder: LarkBuilder, scope: Scope) -> bool:
        if self.condition is None:
            return True
        if scope.value is None:
            raise builder.s.error("%if needs a rule with a parameter", self.at)
        return self.condition(scope.value)

    def nodes(self, builder: LarkBuilder, scope: Scope) -> list[Node]:
        if len(self.operands) == 1:
            return self.operands[0].nodes(builder, scope)
        if scope.in_rule:
            raise builder.s.refuse("& in a rule", self.at, "write it in a terminal, in upper case")
        return [emit(builder.g, self.tree(builder), builder.inside_json)]

    def tree(self, builder: LarkBuilder) -> Tree:
        if len(self.operands) == 1:
            return self.operands[0].tree(builder)
        found: list[CharAutomaton] = []
        for operand in self.operands:
            found.append(builder.automaton(operand.tree(builder)))
        return accepted(intersection(found, [], builder.bound()))


class Alternatives(NamedTuple):
    alternatives: list[Alternative]

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        return builder.g.choice(self.all_nodes(builder, scope))

    def all_nodes(self, builder: LarkBuilder, scope: Scope) -> list[list[Node]]:
        """Return the alternatives whose conditions hold, each as a list of parts."""
        found: list[list[Node]] = []
        builder.enter()
        for alternative in self.alternatives:
            builder.g.budget.spend(PART_STEPS)
            if alternative.holds(builder, scope):
                found.append(alternative.nodes(builder, scope))
        builder.leave()
        return found

    def tree(self, builder: LarkBuilder) -> Tree:
        found: list[Tree] = []
        size = 0
        builder.enter()
        for alternative in self.alternatives:
            found.append(alternative.tree(builder))
            size += len(found[-1].parts) if isinstance(found[-1], Alt) else 1
            builder.check_parts(size)
        builder.leave()
        return alt(found, builder.g.budget)


class Repeated(NamedTuple):
    body: Part
    low: int
    high: int | None

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        # a group counts itself
        levels = isinstance(self.body, Repeated)
        builder.enter(levels)
        node = self.body.node(builder, scope)
        builder.leave(levels)
        return builder.g.repeat(node, self.low, self.high)

    def tree(self, builder: LarkBuilder) -> Tree:
        levels = isinstance(self.body, Repeated)
        builder.enter(levels)
        body = self.body.tree(builder)
        builder.leave(levels)
        return repeat(body, self.low, self.high)


class Complement(NamedTuple):
    """Any text that the body does not match."""

    body: Part

    def node(self, builder: LarkBuilder, scope: Scope) -> Node:
        return builder.terminal(self, scope)

    def content(self, builder: LarkBuilder) -> Node:
        return emit(builder.g, self.tree(builder), builder.inside_json)

    def tree(self, builder: LarkBuilder) -> Tree:
        builder.enter()
        body = self.body.tree(builder)
        builder.leave()
        return accepted(intersection([], [builder.automaton(body)], builder.bound()))


def _size(tree: Tree) -> int:
    """Return the number of parts that a tree adds to a sequence."""
    return len(tree.parts) if isinstance(tree, Cat) else 1


# -- attributes ----------------------------------------------------------------------------------


class Attributes(NamedTuple):
    at: int
    is_lazy: bool = False
    suffix: Part | None = None
    stop: Part | None = None
    max_tokens: int | None = None

    def node(self, builder: LarkBuilder, body: Tree) -> Node:
        """Return the node of a rule with this body and these attributes.

        Raises:
            UnsupportedSchema: ``max_tokens`` of a body that is not free text.
            LimitExceeded: ``pattern_states``.
        """
        if self.max_tokens is not None:
            return self._counted(builder, body)
        end = self.suffix or self.stop
        text = body if end is None else cat((body, end.tree(builder)))
        if self.stop is None and not builder.inside_json:
            found = _first_occurrence(builder, text)
            if found is not None:
                return found
        automaton = shortest(builder.automaton(text))
        if self.stop is not None:
            ends = builder.automaton(self.stop.tree(builder))
            automaton = before(automaton, ends, builder.bound())
        return automaton.minimal(builder.bound()).to_node(
            builder.g, inside_json=builder.inside_json
        )

    def _counted(self, builder: LarkBuilder, body: Tree) -> Node:
        if self.max_tokens == 0:
            return builder.g.empty()
        if builder.inside_json:
            raise builder.s.refuse("max_tokens inside a JSON string", self.at)
        left_out = _left_out(body)
        if left_out is None or self.is_lazy or self.suffix or self.stop:
            why = "only free text without another end can be counted, as /(.|\\n)*/ or /.*/"
            raise builder.s.refuse("max_tokens", self.at, why)
        excludes = [tuple(c.encode()) for c in left_out]
        return builder.g.dispatch([], excludes=excludes, open_end=True, max_tokens=self.max_tokens)


def _left_out(tree: Tree) -> str | None:
    """Return the characters that free text excludes; None: the tree is not free text."""
    if not isinstance(tree, Repeat) or tree.minimum or tree.maximum is not None:
        return None
    if not isinstance(tree.body, Chars):
        return None
    rest = complement(tree.body.ranges)
    if sum(high - low + 1 for low, high in rest) > MAX_LEFT_OUT:
        return None
    return "".join(chr(c) for low, high in rest for c in range(low, high + 1))


def _first_occurrence(builder: LarkBuilder, tree: Tree) -> Node | None:
    """Return free text up to the first occurrence of a literal; None: the tree is something else.

    The literal may be a special token here.
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
        (pattern, builder.g.empty(), False)
        for pattern in builder.vocabulary.spelling.patterns(literal, builder.s.pointer)
    ]
    excludes = [tuple(c.encode()) for c in left_out]
    return builder.g.dispatch(arms, excludes=excludes, open_end=False)
