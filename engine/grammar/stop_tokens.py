"""Check that stop tokens stand only where the text may end.

A node *may be last* if, somewhere it is used, only nullable nodes follow. A node that matches only
stop tokens and is never last makes the grammar a dead end, which is refused. If a stop token is one
of several spellings (a literal that equals its text), its edge is merely never allowed.

Cost    linear in nodes and operands, which are steps of the budget; none without such a node.
"""

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from ..errors import SpecError
from . import ir
from .ir import Grammar, Node, NodeTuple
from .lowered import LoweredGrammar


def check_stops(grammar: Grammar, lowered: LoweredGrammar, stop_token_ids: Collection[int]) -> None:
    """Refuse a grammar in which something must follow a stop token.

    Raises:
        SpecError: with the pointer of the nearest capture.
        LimitExceeded: ``compile_steps``.
    """
    grammar.budget.spend(len(grammar.nodes) // SEARCHED_PER_STEP)
    wanted = grammar.tokens_within(frozenset(stop_token_ids))
    if not wanted:
        return
    nodes = []
    for node in grammar.nodes:
        # the node is copied here, and then read three times
        grammar.budget.spend(STEPS_PER_NODE + len(ir.children(node)) // CHILDREN_PER_STEP)
        nodes.append(node)
    shape = _Shape(nodes, grammar.rules, grammar.root, lowered.is_nullable)
    last = _may_be_last(shape)
    for parent, label in _reachable(shape):
        node = shape.nodes[parent]
        for child in ir.children(node) if node[0] != ir.ALT else ():
            if child in wanted and child not in last:
                raise SpecError("a stop token ends the text: nothing can follow it", label)


#: nodes that are searched for stop tokens in about a microsecond
SEARCHED_PER_STEP = 64
#: steps for a node, and children read in about a microsecond
STEPS_PER_NODE = 3
CHILDREN_PER_STEP = 4


class _Shape(NamedTuple):
    """A grammar as lists; the grammar itself would create each tuple anew."""

    nodes: list[NodeTuple]
    rules: list[Node]
    root: int
    is_nullable: Callable[[Node], bool]


def _reachable(grammar: _Shape) -> Iterator[tuple[Node, str]]:
    """Yield every node under the root once, with the label of the innermost capture around it."""
    seen: set[Node] = set()
    todo = [(grammar.rules[grammar.root], "")]
    while todo:
        number, label = todo.pop()
        if number in seen:
            continue
        seen.add(number)
        node = grammar.nodes[number]
        label = node[1] if node[0] == ir.CAPTURE else label
        yield number, label
        below = (grammar.rules[node[1]],) if node[0] == ir.REF else ir.children(node)
        todo.extend((child, label) for child in below)


def _may_be_last(grammar: _Shape) -> set[Node]:
    last: set[Node] = set()
    todo = [grammar.rules[grammar.root]]
    while todo:
        number = todo.pop()
        if number not in last:
            last.add(number)
            todo.extend(_ends(grammar, grammar.nodes[number]))
    return last


def _ends(grammar: _Shape, node: NodeTuple) -> Iterator[Node]:
    """Yield the children that may be last in a node that may be last."""
    kind = node[0]
    if kind == ir.REF:
        yield grammar.rules[node[1]]
    elif kind == ir.SEQ:
        for child in reversed(node[1]):
            yield child
            if not grammar.is_nullable(child):
                return
    elif kind == ir.GRAPH:
        ends = _nullable_ends(grammar, node)
        yield from (child for _, child, target in node[2] if target in ends)
    elif kind == ir.OBJECT and not node[9]:
        return
    elif kind == ir.DISPATCH:
        yield from (child for _, child, returns in node[1] if node[4] or not returns)
    else:
        yield from ir.children(node)


def _nullable_ends(grammar: _Shape, node: NodeTuple) -> set[int]:
    """Return the states of a GRAPH that reach its end over nullable nodes."""
    sources: dict[int, list[int]] = {}
    for source, child, target in node[2]:
        if grammar.is_nullable(child):
            sources.setdefault(target, []).append(source)
    ends, todo = set(node[3]), list(node[3])
    while todo:
        new = [source for source in sources.get(todo.pop(), ()) if source not in ends]
        ends.update(new)
        todo += new
    return ends
