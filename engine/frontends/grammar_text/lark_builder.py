"""The definitions of one Lark grammar by name, and the nodes and trees built from them.

Expressions are parts that know how to build themselves with a builder (``Part``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ...grammar.ir import ALT, GRAPH, REPEAT, SEQ, Grammar, Node
from ..regex.char_automaton import Bound, CharAutomaton
from ..regex.char_nfa import from_tree
from ..regex.regex_syntax import Tree, accepted
from ..structural_tag.tag_vocabulary import TagVocabulary
from .source import Rules, Source

if TYPE_CHECKING:
    from ..regex.char_automaton import Edges

_COMPOUND = (SEQ, ALT, REPEAT, GRAPH)
#: steps for a definition
DEFINITION_STEPS = 8

#: the value of a reference, given the value of the rule that contains it
ParameterExpression = Callable[[int | None], int]


def is_terminal(name: str) -> bool:
    """Whether a name is that of a terminal, in upper case."""
    return name.lstrip("_")[:1].isupper()


class Scope(NamedTuple):
    """The context of an expression: a rule or a terminal, and the value of the rule's parameter."""

    in_rule: bool
    value: int | None = None


class Part(Protocol):
    def node(self, builder: LarkBuilder, scope: Scope, /) -> Node: ...

    def tree(self, builder: LarkBuilder, /) -> Tree:
        """Return the tree; raise UnsupportedSchema if the part is not regular."""


class Terminal(Part, Protocol):
    """A part whose node does not depend on the rule that contains it."""

    def content(self, builder: LarkBuilder, /) -> Node:
        """Return the node without ignored text."""


class Body(Part, Protocol):
    """The expression of a definition."""

    def all_nodes(self, builder: LarkBuilder, scope: Scope, /) -> list[list[Node]]:
        """Return the nodes of each alternative."""


class Modifier(Protocol):
    """The attributes of a rule."""

    def node(self, builder: LarkBuilder, body: Tree, /) -> Node: ...


class Definition(NamedTuple):
    name: str
    body: Body
    at: int
    attributes: Modifier | None = None
    has_parameter: bool = False


class LarkBuilder:
    """The definitions of one grammar, and the nodes and trees built from them.

    ``inside_json``: characters are written as in a JSON string.
    """

    def __init__(
        self, grammar: Grammar, source: Source, vocabulary: TagVocabulary, depth: int = 0,
        *, inside_json: bool,
    ) -> None:  # fmt: skip
        self.g, self.s, self.vocabulary = grammar, source, vocabulary
        self.inside_json = inside_json
        # levels of the part under construction, and the most below any part so far
        self._depth, self._deepest = depth, depth
        self.definitions: dict[str, Definition] = {}
        self.ignored: list[Part] = []
        self.rules = Rules(grammar, source)
        self._gap: Node | None = None
        self._trees: dict[str, tuple[Tree, int]] = {}  # with their levels
        self._open: set[str] = set()  # terminals whose trees are under construction
        self._built: dict[int, Node] = {}  # of rules with a parameter, by the identity of the part
        self._wanted: dict[str, tuple[Definition, int]] = {}

    def define(self, definition: Definition) -> None:
        if definition.name in self.definitions:
            raise self.s.error(f"{definition.name!r} is defined twice", definition.at)
        self.definitions[definition.name] = definition
        self.s.check("grammar_rules", len(self.definitions))

    def finish(self, *, readable: bool = False) -> Node:
        """Define all rules and return the node of ``start``."""
        if self.ignored:
            ways: list[Node] = []
            for choice in self.ignored:
                ways.append(choice.node(self, Scope(False)))
            one = self.g.alt(*ways)
            self._gap = self.g.ref(self.g.rule("%ignore", self.g.repeat(one, 0, None)))
        for name, definition in self.definitions.items():
            if not definition.has_parameter:
                self._define(name, definition, Scope(not is_terminal(name)))
        while self._wanted:
            name, (definition, value) = self._wanted.popitem()
            self._define(name, definition, Scope(True, value))
        start = self.rules.finish("start", readable=readable)
        return start if self._gap is None else self.g.seq(start, self._gap)

    def _define(self, name: str, definition: Definition, scope: Scope) -> None:
        self.g.budget.spend(DEFINITION_STEPS)
        if definition.attributes is None:
            alternatives = definition.body.all_nodes(self, scope)
        else:
            node = definition.attributes.node(self, definition.body.tree(self))
            alternatives = [[self.leaf(node, scope)]]
        self.rules.define_alternatives(name, alternatives, definition.at)

    # -- nodes ------------------------------------------------------------------------------------
    def leaf(self, node: Node, scope: Scope) -> Node:
        """Return a terminal; inside a rule, ignored text may precede it."""
        if scope.in_rule and self._gap is not None:
            return self.g.seq(self._gap, node)
        return node

    def terminal(self, part: Terminal, scope: Scope) -> Node:
        """Return a terminal as a leaf. Rules of one definition with a parameter share its node."""
        if scope.value is None:
            return self.leaf(part.content(self), scope)
        node = self._built.get(id(part))
        if node is None:
            node = part.content(self)
            if self.g.kind(node) in _COMPOUND:
                # it would be written out in each of them
                node = self.g.ref(self.g.rule("terminal", node))
            self._built[id(part)] = node
        return self.leaf(node, scope)

    def ref(self, name: str, at: int, parameter: ParameterExpression | None, scope: Scope) -> Node:
        if not scope.in_rule and not is_terminal(name):
            raise self.s.error(f"a terminal can't contain the rule {name!r}", at)
        definition = self.definitions.get(name)
        if definition is not None and definition.has_parameter is (parameter is None):
            needs = "needs a" if parameter is None else "has no"
            raise self.s.error(f"the rule {name!r} {needs} parameter", at)
        if parameter is None or definition is None:
            node = self.rules.ref(name, at)
            return self.leaf(node, scope) if is_terminal(name) else node
        value = parameter(scope.value)
        made = f"{name}::{value:#x}"
        if not self.rules.is_declared(made):
            self._wanted[made] = definition, value
        return self.rules.ref(made, at)

    # -- regular expressions ----------------------------------------------------------------------
    def tree_of(self, name: str, at: int) -> Tree:
        """Return the regular expression of a terminal.

        Raises:
            SpecError: there is no such terminal.
            UnsupportedSchema: the terminal is not regular.
        """
        if not is_terminal(name):
            raise self.s.error(f"a terminal can't contain the rule {name!r}", at)
        if name not in self.definitions:
            raise self.s.error(f"there is no rule {name!r}", at)
        if name in self._open:
            raise self.s.refuse("a terminal that holds itself in a regular expression", at)
        if name not in self._trees:
            outer, self._deepest = self._deepest, self._depth
            self._open.add(name)
            tree = self.definitions[name].body.tree(self)
            self._open.remove(name)
            self._trees[name] = tree, self._deepest - self._depth
            self._deepest = max(outer, self._deepest)
        tree, levels = self._trees[name]
        self.enter(levels)
        self.leave(levels)
        return tree

    def enter(self, levels: int = 1) -> None:
        """Count levels of parts within parts; each use of a name has those of its tree."""
        self._depth += levels
        self._deepest = max(self._deepest, self._depth)
        self.s.check("spec_depth", self._depth)

    def leave(self, levels: int = 1) -> None:
        self._depth -= levels

    def check_parts(self, parts: int) -> None:
        """Check the number of parts of a tree: each use of a name expands it."""
        self.s.check("pattern_chars", parts)

    def bound(self) -> Bound:
        return Bound(self.g.limits.pattern_states, self.s.pointer, self.g.budget)

    def automaton(self, tree: Tree) -> CharAutomaton:
        return from_tree(tree, self.bound(), search=False)

    def deterministic(self, edges: list[Edges], finals: Iterable[int]) -> Tree:
        """Return a tree of the texts of a nondeterministic automaton."""
        return accepted(self.automaton(accepted(CharAutomaton(edges, finals))))
