"""Left recursion of a grammar: a rule whose text may begin with a text of the same rule.

Masks allow it, but the event parser descends from rule to rule and would never stop. Grammars whose
texts must be read back are therefore checked for it. Direct left recursion is a loop by then
(source).

Cost    linear in the nodes of the rules, times the passes until no further rule can be empty.
"""

from collections.abc import Iterable, Iterator

from ...grammar import ir
from ...grammar.ir import Grammar, Node, NodeTuple, children

#: operands of a node that become a tuple in about a microsecond
_OPERANDS_PER_STEP = 32
_CHILDREN = (ir.ALT, ir.REPEAT, ir.BOUNDED, ir.CAPTURE, ir.GRAPH)


def left_recursive(grammar: Grammar, rules: Iterable[int]) -> int | None:
    """Return a left-recursive rule that ``rules`` begin with, or None."""
    beginnings = _Beginnings(grammar)
    done: set[int] = set()
    for rule in rules:
        if rule in done:
            continue
        path, open_rules = [(rule, beginnings.of(rule))], {rule}
        while path:
            at, below = path[-1]
            following = next(below, None)
            if following is None:
                path.pop()
                open_rules.discard(at)
                done.add(at)
            elif following in open_rules:
                return following
            elif following not in done:
                path.append((following, beginnings.of(following)))
                open_rules.add(following)
    return None


class _Beginnings:
    """The rules with which the texts of a rule may begin."""

    def __init__(self, grammar: Grammar) -> None:
        self._nodes, self._rules, self._budget = grammar.nodes, grammar.rules, grammar.budget
        self._empty: set[int] = set()  # rules whose text may be empty
        before = -1
        while before < len(self._empty):
            before = len(self._empty)
            # rules mostly refer to later ones
            for rule, node in reversed(list(enumerate(self._rules))):
                if node >= 0 and rule not in self._empty and self._may_be_empty(node):
                    self._empty.add(rule)

    def _node(self, number: Node) -> NodeTuple:
        """Return a node as a tuple, which takes time by its operands."""
        node = self._nodes[number]
        operands = len(node[1]) if node[0] in (ir.SEQ, ir.ALT) else 0
        self._budget.spend(2 + operands // _OPERANDS_PER_STEP)
        return node

    def of(self, rule: int) -> Iterator[int]:
        """Yield the rules, some of them more than once."""
        todo = [self._rules[rule]]
        while todo:
            node = self._node(todo.pop())
            if node[0] == ir.REF:
                yield node[1]
            elif node[0] == ir.SEQ:
                for part in node[1]:
                    todo.append(part)
                    if not self._may_be_empty(part):
                        break
            elif node[0] in _CHILDREN:
                # all edges of a graph: its texts may begin with fewer
                todo.extend(children(node))

    def _may_be_empty(self, node: Node) -> bool:
        """Whether the text of a node may be empty; true of some nodes whose text may not."""
        kind, *fields = self._node(node)
        if kind == ir.REF:
            return fields[0] in self._empty
        if kind == ir.SEQ:
            return all(map(self._may_be_empty, fields[0]))
        if kind == ir.ALT:
            return any(map(self._may_be_empty, fields[0]))
        if kind in (ir.REPEAT, ir.BOUNDED):
            return fields[1] == 0 or self._may_be_empty(fields[0])
        if kind == ir.CAPTURE:
            return self._may_be_empty(fields[2])
        if kind == ir.GRAPH:
            return 0 in fields[2] or any(
                source == 0 and self._may_be_empty(edge) for source, edge, _ in fields[1]
            )
        if kind == ir.DISPATCH:
            return bool(fields[3])
        return kind in (ir.EMPTY, ir.TEXT_EXCEPT, ir.TEXTS)
