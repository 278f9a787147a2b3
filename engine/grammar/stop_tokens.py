"""Check that stop tokens stand only where the text may end.

A node *may be last* if, somewhere it is used, only nullable nodes follow. A node that matches only
stop tokens and is never last makes the grammar a dead end, which is refused. If a stop token is one
of several spellings (a literal that equals its text), its edge is merely never allowed.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from ..errors import SpecError
from . import ir
from .ir import Grammar, Node, NodeTuple


def check_stops(grammar: Grammar, stop_token_ids: Collection[int]) -> None:
    """Refuse a grammar in which something must follow a stop token.

    Raises:
        SpecError: with the pointer of the nearest capture.
    """
    wanted = grammar.tokens_within(frozenset(stop_token_ids))
    if not wanted:
        return
    shape = _Shape(list(grammar.nodes), grammar.rules, grammar.root)
    last = _may_be_last(shape)
    for parent, label in _reachable(shape):
        node = shape.nodes[parent]
        for child in ir.children(node) if node[0] != ir.ALT else ():
            if child in wanted and child not in last:
                raise SpecError("a stop token ends the text: nothing can follow it", label)


class _Shape(NamedTuple):
    """A grammar as lists; the grammar itself would create each tuple anew."""

    nodes: list[NodeTuple]
    rules: list[Node]
    root: int


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
    nullable = _nullable(grammar)
    last: set[Node] = set()
    todo = [grammar.rules[grammar.root]]
    while todo:
        number = todo.pop()
        if number not in last:
            last.add(number)
            todo.extend(_ends(grammar, grammar.nodes[number], nullable))
    return last


def _ends(grammar: _Shape, node: NodeTuple, nullable: set[Node]) -> Iterator[Node]:
    """Yield the children that may be last in a node that may be last."""
    kind = node[0]
    if kind == ir.REF:
        yield grammar.rules[node[1]]
    elif kind == ir.SEQ:
        for child in reversed(node[1]):
            yield child
            if child not in nullable:
                return
    elif kind == ir.GRAPH:
        ends = _nullable_ends(node, nullable)
        yield from (child for _, child, target in node[2] if target in ends)
    elif kind == ir.OBJECT:
        return
    elif kind == ir.DISPATCH:
        yield from (child for _, child, returns in node[1] if node[4] or not returns)
    else:
        yield from ir.children(node)


def _nullable_ends(node: NodeTuple, nullable: set[Node]) -> set[int]:
    """Return the states of a GRAPH that reach its end over nullable nodes."""
    ends = set(node[3])
    size = -1
    while size != len(ends):
        size = len(ends)
        ends.update(
            source for source, child, target in node[2] if target in ends and child in nullable
        )
    return ends


def _nullable(grammar: _Shape) -> set[Node]:
    """Return the nodes that match the empty word: a least fixpoint, because rules may be recursive."""
    found: set[Node] = set()
    size = -1
    while size != len(found):
        size = len(found)
        for number, node in enumerate(grammar.nodes):
            if number not in found and _is_nullable(grammar, node, found):
                found.add(number)
    return found


def _is_nullable(grammar: _Shape, node: NodeTuple, found: set[Node]) -> bool:
    kind = node[0]
    if kind == ir.EMPTY:
        return True
    if kind == ir.SEQ:
        return all(child in found for child in node[1])
    if kind == ir.ALT:
        return any(child in found for child in node[1])
    if kind == ir.REPEAT:
        return node[2] == 0 or node[1] in found
    if kind == ir.TEXTS:
        return "" in node[1]
    if kind == ir.BOUNDED:
        return node[2] == 0 and node[1] in found
    if kind == ir.REF:
        return grammar.rules[node[1]] in found
    if kind == ir.GRAPH:
        return 0 in _nullable_ends(node, found)
    if kind == ir.DISPATCH:
        return bool(node[4] and not node[5])
    return kind == ir.CAPTURE and node[3] in found
