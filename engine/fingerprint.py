"""Identities: what makes two rules the same for caches.

A rule's digest is 128 bits of BLAKE2b over everything that its automaton and its triples depend on:
the nodes it is made of, the digests of the rules it refers to, the choice between registers and
unrolling, and the artifact version. Left out: rule names, labels and roles of captures, limits, the
vocabulary (it is in the store's key).

Rules that refer to each other in a circle are written out breadth-first from the rule in question,
with numbers in place of the references inside the circle. Circles larger than ``LARGEST_CIRCLE``
get no digest and are not shared, nor is what refers to them: they cost time, never a wrong mask.
"""

from collections.abc import Iterator
from hashlib import blake2b

from . import ir
from .artifact import VERSION
from .ir import Grammar, NodeTuple

NONE = bytes(16)
LARGEST_CIRCLE = 32


def _hash(*parts: object) -> bytes:
    return blake2b(repr(parts).encode(), digest_size=16).digest()


def _references(grammar: Grammar) -> list[set[int]]:
    """By node: the rules that it refers to, its children's included."""
    found: list[set[int]] = []
    nothing: set[int] = set()
    for node in grammar.nodes:
        if node[0] == ir.REF:
            found.append({node[1]})
            continue
        below = [found[child] for child in ir.children(node) if found[child]]
        found.append(set().union(*below) if len(below) > 1 else below[0] if below else nothing)
    return found


def _circles(edges: list[set[int]]) -> Iterator[list[int]]:
    """Strongly connected sets of rules, referred-to ones first (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in range(len(edges)):
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            rule, rest = work[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(edges[target]))))
                    break
                if target in on_stack:
                    low[rule] = min(low[rule], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[rule])
                if low[rule] == index[rule]:
                    members: list[int] = []
                    while not members or members[-1] != rule:
                        members.append(stack.pop())
                        on_stack.discard(members[-1])
                    yield members


class Digests:
    """Digests of the rules and of single nodes of one grammar."""

    def __init__(self, grammar: Grammar, *, count_registers: bool) -> None:
        self.grammar = grammar
        self.seed = (VERSION, count_registers)
        self.refs = _references(grammar)
        self.rules: list[bytes] = [NONE] * len(grammar.rules)
        self.circle_of: dict[int, frozenset[int]] = {}
        self._nodes: dict[int, bytes] = {}
        for members in _circles([self.refs[node] for node in grammar.rules]):
            own = len(members) > 1 or members[0] in self.refs[grammar.rules[members[0]]]
            if own:
                circle = frozenset(members)
                self.circle_of.update(dict.fromkeys(members, circle))
            if not own or len(members) <= LARGEST_CIRCLE:
                digests = [self.node(grammar.rules[rule]) for rule in members]
                for rule, digest in zip(members, digests, strict=True):
                    self.rules[rule] = digest

    def patterns(self, number: int, finishable: tuple[int, ...]) -> bytes:
        """The digest of a DISPATCH without its arms.

        Its triples depend on the patterns, on which arms can be finished, and on whether its
        characters are counted, but not on the bounds.
        """
        *patterns, least, most = _content(self.grammar.nodes[number])
        counted = (least, most) != (0, -1)
        return _hash(self.seed, "patterns", *patterns, counted, finishable)

    def repeated(self, number: int) -> bytes:
        """The digest of a REPEAT without its bounds.

        Triples of counted rules are made without them.
        """
        body = self.node(self.grammar.nodes[number][1])
        return NONE if body == NONE else _hash(self.seed, "repeated", body)

    def node(self, number: int) -> bytes:
        """The digest of one node; ``NONE`` if it refers to something that has none."""
        found = self._nodes.get(number)
        if found is None:
            inside = any(r in self.circle_of and self.rules[r] == NONE for r in self.refs[number])
            found = self._in_circle(number) if inside else self._plain(number, {})
            self._nodes[number] = found
        return found

    def _plain(self, number: int, numbering: dict[int, int]) -> bytes:
        """Bottom-up over the node; references by digest, or by number as in ``numbering``."""
        node = self.grammar.nodes[number]
        if node[0] == ir.REF:
            if node[1] in numbering:
                return _hash("circle", numbering[node[1]])
            return self.rules[node[1]]
        below = []
        for child in ir.children(node):
            digest = self._plain(child, numbering) if numbering else self.node(child)
            if digest == NONE:
                return NONE
            below.append(digest)
        return _hash(self.seed, *_content(node), below)

    def _in_circle(self, number: int) -> bytes:
        """Writes out, breadth-first, every rule of the circles that the node leads into.

        Rules that have a digest already are left out.
        """
        numbering: dict[int, int] = {}
        todo = [number]
        written = []
        for body in todo:
            for rule in _in_order(self.grammar, body):
                if rule in self.circle_of and self.rules[rule] == NONE and rule not in numbering:
                    numbering[rule] = len(numbering)
                    todo.append(self.grammar.rules[rule])
                    if len(numbering) > LARGEST_CIRCLE:
                        return NONE
        for body in todo:
            written.append(self._plain(body, numbering))
            if written[-1] == NONE:
                return NONE
        return _hash("circle", written)


def _in_order(grammar: Grammar, number: int) -> Iterator[int]:
    """The rules a node refers to, in the order they are written."""
    todo = [number]
    while todo:
        node = grammar.nodes[todo.pop()]
        if node[0] == ir.REF:
            yield node[1]
        todo.extend(reversed(ir.children(node)))


def _content(node: NodeTuple) -> tuple[object, ...]:
    """What a node says besides its children."""
    kind = node[0]
    if kind in (ir.SEQ, ir.ALT):
        return (kind,)
    if kind == ir.REPEAT:
        return (kind, node[2], node[3])
    if kind == ir.GRAPH:
        return (kind, node[1], [(edge[0], edge[2]) for edge in node[2]], node[3])
    if kind == ir.DISPATCH:
        return (kind, [(arm[0], arm[2]) for arm in node[1]], *node[2:])
    if kind == ir.CAPTURE:
        return (kind,)
    if kind == ir.OTHER_TEXT:
        return (kind, node[2])
    return node


def is_costly(grammar: Grammar, number: int) -> bool:
    """Whether a rule's masks cost more to make than to fetch.

    That is so of free text, and of large classes of characters.
    """
    todo = [number]
    while todo:
        node = grammar.nodes[todo.pop()]
        if node[0] == ir.DISPATCH:
            return True
        if node[0] in (ir.CHARS, ir.JSON_CHARS) and sum(h - low for low, h in node[1]) > 64:
            return True
        todo.extend(ir.children(node))
    return False
