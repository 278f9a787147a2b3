"""Expressions of Lark grammars as they were read.

A part says what it is in two ways: as a node of the IR, and, if it is regular, as the tree of a
regular expression, which the operators & and ~ and the attributes of rules work on.

Invariants   a tree has no anchors; it holds characters only: a literal that is a special token's
             text is that text there, and never the token.
Not here     reading them (expressions), names and rules (emission).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ...grammar.ir import Node
from ..regex.char_automaton import intersection
from ..regex.regex_syntax import Chars, Tree, accepted, alt, cat, emit, repeat
from .emission import Emission, Scope
from .parameters import Condition, Expression


class Part(Protocol):
    def node(self, made: Emission, scope: Scope, /) -> Node: ...

    def tree(self, made: Emission, /) -> Tree:
        """
        Raises:
            UnsupportedSchema: not a regular expression.
        """


class Regular(NamedTuple):
    """A terminal of its own: a pattern, a range, a literal in any letter case."""

    expression: Tree

    def node(self, made: Emission, scope: Scope) -> Node:
        return made.leaf(emit(made.g, self.expression, False), scope)

    def tree(self, made: Emission) -> Tree:
        return self.expression


class Text(NamedTuple):
    """A literal, which may be a special token."""

    text: str

    def node(self, made: Emission, scope: Scope) -> Node:
        return made.leaf(made.vocabulary.spelling.node(made.g, self.text), scope)

    def tree(self, made: Emission) -> Tree:
        return cat([Chars(((ord(c), ord(c)),)) for c in self.text])


class Special(NamedTuple):
    """A terminal that is no regular expression: tokens, a schema, a grammar."""

    make: Callable[[], Node]
    what: str
    at: int

    def node(self, made: Emission, scope: Scope) -> Node:
        if self.what == "%lark" and not scope.in_rule:
            raise made.s.error("a terminal can't hold a grammar", self.at)
        return made.leaf(self.make(), scope)

    def tree(self, made: Emission) -> Tree:
        raise made.s.refuse(f"{self.what} in a regular expression", self.at)


class Substring(NamedTuple):
    """Any of these chunks that stand side by side; see ``substrings``."""

    states: int
    edges: list[tuple[int, str, int]]

    def node(self, made: Emission, scope: Scope) -> Node:
        nodes = {chunk: made.g.bytes(chunk.encode()) for chunk in {edge[1] for edge in self.edges}}
        edges = [(source, nodes[chunk], to) for source, chunk, to in self.edges]
        return made.leaf(made.g.graph(self.states, edges, range(self.states)), scope)

    def tree(self, made: Emission) -> Tree:
        made.check_states(sum(len(chunk) for _, chunk, _ in self.edges))
        ways: list[list[tuple[tuple[tuple[int, int], ...], int]]] = [[] for _ in range(self.states)]
        for source, chunk, to in self.edges:
            for c in chunk[:-1]:
                ways.append([])
                ways[source].append((((ord(c), ord(c)),), len(ways) - 1))
                source = len(ways) - 1
            ways[source].append((((ord(chunk[-1]), ord(chunk[-1])),), to))
        return made.deterministic(ways, range(self.states))


class Name(NamedTuple):
    name: str
    at: int
    parameter: Expression | None = None

    def node(self, made: Emission, scope: Scope) -> Node:
        return made.ref(self.name, self.at, self.parameter, scope)

    def tree(self, made: Emission) -> Tree:
        return made.tree_of(self.name, self.at)


class Row(NamedTuple):
    """One behind the other."""

    parts: list[Part]

    def nodes(self, made: Emission, scope: Scope) -> list[Node]:
        made.g.budget.spend(len(self.parts))
        return [part.node(made, scope) for part in self.parts]

    def node(self, made: Emission, scope: Scope) -> Node:
        return made.g.seq(*self.nodes(made, scope))

    def tree(self, made: Emission) -> Tree:
        return made.checked(cat([part.tree(made) for part in self.parts]))


class Way(NamedTuple):
    """One of several alternatives: what several rows take alike (&), under a condition."""

    rows: list[Row]
    at: int
    condition: Condition | None = None

    def holds(self, made: Emission, scope: Scope) -> bool:
        if self.condition is None:
            return True
        if scope.value is None:
            raise made.s.error("%if needs a rule with a parameter", self.at)
        return self.condition(scope.value)

    def nodes(self, made: Emission, scope: Scope) -> list[Node]:
        if len(self.rows) == 1:
            return self.rows[0].nodes(made, scope)
        if scope.in_rule:
            raise made.s.refuse("& in a rule", self.at, "write it in a terminal, in upper case")
        return [emit(made.g, self.tree(made), False)]

    def tree(self, made: Emission) -> Tree:
        trees = [row.tree(made) for row in self.rows]
        if len(trees) == 1:
            return trees[0]
        return accepted(intersection([made.automaton(tree) for tree in trees], [], made.bound()))


class Choice(NamedTuple):
    ways: list[Way]

    def node(self, made: Emission, scope: Scope) -> Node:
        return made.g.alt(*[made.g.seq(*nodes) for nodes in self.all_nodes(made, scope)])

    def all_nodes(self, made: Emission, scope: Scope) -> list[list[Node]]:
        """The alternatives whose conditions hold, each as its parts."""
        made.g.budget.spend(len(self.ways))
        return [way.nodes(made, scope) for way in self.ways if way.holds(made, scope)]

    def tree(self, made: Emission) -> Tree:
        return made.checked(alt([way.tree(made) for way in self.ways]))


class Times(NamedTuple):
    body: Part
    low: int
    high: int | None

    def node(self, made: Emission, scope: Scope) -> Node:
        return made.g.repeat(self.body.node(made, scope), self.low, self.high)

    def tree(self, made: Emission) -> Tree:
        return repeat(self.body.tree(made), self.low, self.high)


class Not(NamedTuple):
    """Any text but these."""

    body: Part

    def node(self, made: Emission, scope: Scope) -> Node:
        return made.leaf(emit(made.g, self.tree(made), False), scope)

    def tree(self, made: Emission) -> Tree:
        return accepted(intersection([], [made.automaton(self.body.tree(made))], made.bound()))
