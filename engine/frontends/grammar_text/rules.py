"""The names of a grammar's text and the IR rules behind them."""

from ...errors import LimitExceeded
from ...grammar.ir import Grammar, Node
from .source import Source


class Rules:
    """A rule is declared where its name is met first, and defined once."""

    def __init__(self, grammar: Grammar, source: Source) -> None:
        self.grammar, self.source = grammar, source
        self._rules: dict[str, int] = {}
        self._met: dict[str, int] = {}  # where the name was met first
        self._defined: set[str] = set()

    def ref(self, name: str, at: int) -> Node:
        if name not in self._rules:
            self.check_count(len(self._rules) + 1)
            self._rules[name] = self.grammar.declare(name)
            self._met[name] = at
        return self.grammar.ref(self._rules[name])

    def is_met(self, name: str) -> bool:
        return name in self._rules

    def check_count(self, count: int) -> None:
        """
        Raises:
            LimitExceeded: so many rules are too many.
        """
        limit = self.source.limits.grammar_rules
        if count > limit:
            raise LimitExceeded("grammar_rules", limit, count, self.source.pointer)

    def define(self, name: str, node: Node, at: int) -> None:
        self.check_new(name, at)
        self.ref(name, at)
        self._defined.add(name)
        self.grammar.define(self._rules[name], node)

    def define_alternatives(self, name: str, ways: list[list[Node]], at: int) -> None:
        """A rule of alternatives, each a sequence.

        Direct left recursion becomes a loop, ``a ::= a x | y`` being ``a ::= y x*``: masks don't
        mind it, but the event parser follows rules downwards.
        """
        g, own = self.grammar, self.ref(name, at)
        first = [g.seq(*parts) for parts in ways if parts[:1] != [own]]
        more = [g.seq(*parts[1:]) for parts in ways if parts[:1] == [own]]
        node = g.alt(*first)
        if more:
            node = g.seq(node, g.repeat(g.alt(*more), 0, None))
        self.define(name, node, at)

    def check_new(self, name: str, at: int) -> None:
        if name in self._defined:
            raise self.source.error(f"the rule {name!r} is defined twice", at)

    def finish(self, root: str) -> Node:
        """
        Raises:
            SpecError: a name without a rule.
        """
        for name, at in self._met.items():
            if name not in self._defined:
                raise self.source.error(f"there is no rule {name!r}", at)
        if root not in self._defined:
            raise self.source.error(f"there is no rule {root!r}, the grammar's root", 0)
        return self.grammar.ref(self._rules[root])
