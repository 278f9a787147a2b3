"""Names of a Lark grammar as IR rules, once all of them are known.

Meaning    ignored text may occur before every terminal of a rule and at the end, but not within
           a terminal. A rule with a parameter becomes one IR rule for each value of its references.
Not here   expressions and attributes (lark_expressions).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...errors import LimitExceeded
from ...grammar.ir import Grammar, Node
from ..regex.char_automaton import Bound, CharAutomaton
from ..regex.char_nfa import from_tree
from ..regex.regex_syntax import Alt, Cat, Tree, accepted
from ..structural_tag.tag_vocabulary import TagVocabulary
from .source import Rules, Source

if TYPE_CHECKING:
    from ..regex.char_automaton import Edges
    from .lark_expressions import Alternatives, Attributes
    from .lark_parameters import Expression


class Scope(NamedTuple):
    """The context of an expression: a rule or a terminal, and the value of the rule's parameter."""

    in_rule: bool
    value: int | None = None


class Definition(NamedTuple):
    name: str
    body: Alternatives
    at: int
    attributes: Attributes | None = None
    has_parameter: bool = False


def is_terminal(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()


class LarkBuilder:
    """The definitions of one grammar, and the nodes and trees built from them."""

    def __init__(self, grammar: Grammar, source: Source, vocabulary: TagVocabulary) -> None:
        self.g, self.s, self.vocabulary = grammar, source, vocabulary
        self.definitions: dict[str, Definition] = {}
        self.ignored: list[Alternatives] = []
        self.rules = Rules(grammar, source)
        self._gap: Node | None = None
        self._trees: dict[str, Tree] = {}
        self._open: list[str] = []  # terminals whose trees are under construction
        self._wanted: dict[str, tuple[Definition, int]] = {}

    def define(self, definition: Definition) -> None:
        if definition.name in self.definitions:
            raise self.s.error(f"{definition.name!r} is defined twice", definition.at)
        self.definitions[definition.name] = definition
        self.rules.check_count(len(self.definitions))

    def finish(self) -> Node:
        """Define all rules and return the node of ``start``."""
        if self.ignored:
            one = self.g.alt(*[choice.node(self, Scope(False)) for choice in self.ignored])
            self._gap = self.g.ref(self.g.rule("%ignore", self.g.repeat(one, 0, None)))
        for name, definition in self.definitions.items():
            if not definition.has_parameter:
                self._define(name, definition, Scope(not is_terminal(name)))
        while self._wanted:
            name, (definition, value) = self._wanted.popitem()
            self._define(name, definition, Scope(True, value))
        start = self.rules.finish("start")
        return start if self._gap is None else self.g.seq(start, self._gap)

    def _define(self, name: str, definition: Definition, scope: Scope) -> None:
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

    def ref(self, name: str, at: int, parameter: Expression | None, scope: Scope) -> Node:
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
            self._open.append(name)
            self._trees[name] = self.definitions[name].body.tree(self)
            self._open.pop()
        return self._trees[name]

    def checked(self, tree: Tree) -> Tree:
        """Check the number of parts of a tree: each use of a name expands it."""
        limit = self.g.limits.pattern_chars
        if isinstance(tree, Cat | Alt) and len(tree.parts) > limit:
            raise LimitExceeded("pattern_chars", limit, len(tree.parts), self.s.pointer)
        return tree

    def check_states(self, states: int) -> None:
        limit = self.g.limits.pattern_states
        if states > limit:
            raise LimitExceeded("pattern_states", limit, states, self.s.pointer)

    def bound(self) -> Bound:
        return Bound(self.g.limits.pattern_states, self.s.pointer, self.g.budget)

    def automaton(self, tree: Tree) -> CharAutomaton:
        return from_tree(tree, self.bound(), search=False)

    def deterministic(self, edges: list[Edges], finals: Iterable[int]) -> Tree:
        """Return a tree of the texts of a nondeterministic automaton."""
        return accepted(self.automaton(accepted(CharAutomaton(edges, finals))))
