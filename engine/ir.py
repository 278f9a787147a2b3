"""The IR: what every front end emits and every back end reads.

A ``Grammar`` is a table of hash-consed nodes plus named rules. A node is an ``int``, an index into
``Grammar.nodes``; ``Grammar.nodes[i]`` is a tuple whose first field is the kind:

    (EMPTY,)                          the empty word
    (FAIL,)                           no word at all
    (BYTES, data)                     these bytes, exactly
    (TEXT, text)                      this text, as the inside of a JSON string: each character in
                                      any legal spelling (raw, short escape, \\uXXXX in either
                                      case, surrogate pairs)
    (CHARS, ranges)                   one character in UTF-8, from sorted disjoint (low, high)
                                      ranges of code points
    (JSON_CHARS, ranges)              the same, in any spelling legal inside a JSON string
    (SEQ, (node, ...))
    (ALT, (node, ...))
    (REPEAT, node, minimum, maximum)  counted repetition; a maximum of -1 is no upper bound
    (REF, rule)                       a rule by its index
    (TOKENS, (id, ...))               one token out of these ids; matches ids only, never bytes
    (GRAPH, n, ((from, node, to), ...), finals)
                                      a small automaton whose edges are nodes: states 0..n-1,
                                      start 0; an edge with node EMPTY is an empty move
    (DISPATCH, arms, excludes, specials, open_end, min_chars, max_chars)
                                      free text with triggers, see below
    (OTHER_TEXT, rule, (text, ...))   the inside of any JSON string whose value is none of these texts,
                                      in any spelling; ``rule`` is that of any string's inside
    (CAPTURE, label, role, node)      the same language as node; marks a region for the event
                                      parser

DISPATCH is UTF-8 text (of any length, also none) in which the first pattern to be completed
decides:

    arms       ((pattern, node, returns), ...)  when ``pattern`` completes, ``node`` must follow;
               then free text goes on (returns=True) or the DISPATCH is over (returns=False).
               Patterns may share prefixes.
    excludes   (pattern, ...)  these must never be completed
    specials   (id, ...)  token ids that free text may hold; a token that is a letter of a pattern
               goes on with it, every other resets the search. A token not among them is legal
               only inside the pattern that completes.
    open_end   whether the DISPATCH may be over while still in free text, at any character
               boundary
    min_chars, max_chars
               how many characters the text has; a maximum of -1 is no upper bound. Only text
               without arms and specials, and with an open end, can be counted

A pattern is a tuple of letters: 0..255 a byte, 256 + id that token; it completes only between
characters. Where patterns complete at the same letter, an exclude wins, then the longest arm.

Roles of CAPTURE: "tag" (a begin...end region), "begin" and "end" (its two marks), "text" (a leaf
whose bytes are content). A trigger that was matched by a DISPATCH belongs to the "begin" that its
node starts with; the bytes of an arm whose node is an empty "end" capture belong to that capture.

Invariants   I1 children have smaller ids than their parents, except through REF.
             I2 equal content is the same id.
             I3 SEQ and ALT are flat and have at least two children; ALT has no FAIL, SEQ neither
                FAIL nor EMPTY.
             I4 every rule is defined before the grammar leaves its front end (``check``).
Not here     meaning of schemas (frontends), automata (automata), identities (fingerprint).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from .errors import InternalError, LimitExceeded
from .limits import Limits

(
    EMPTY,
    FAIL,
    BYTES,
    TEXT,
    CHARS,
    JSON_CHARS,
    SEQ,
    ALT,
    REPEAT,
    REF,
    TOKENS,
    GRAPH,
    DISPATCH,
    CAPTURE,
    OTHER_TEXT,
) = range(15)

Node = int
#: a node: its kind, then what the header lists for it
NodeTuple = tuple[Any, ...]
Ranges = tuple[tuple[int, int], ...]
Pattern = tuple[int, ...]
Arm = tuple[Pattern, Node, bool]

#: every Unicode scalar value
ANY_CHAR: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))


class Grammar:
    """Hash-consed nodes, rules, and the root rule. Built by front ends, read by everybody else."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.nodes: list[NodeTuple] = []
        self.rules: list[Node] = []
        self.rule_names: list[str] = []
        self.root: int = -1
        self._ids: dict[NodeTuple, Node] = {}
        self._empty = self._add((EMPTY,))
        self._fail = self._add((FAIL,))

    def _add(self, node: NodeTuple) -> Node:
        found = self._ids.get(node)
        if found is not None:
            return found
        number = len(self.nodes)
        if number >= self.limits.ir_nodes:
            raise LimitExceeded("ir_nodes", self.limits.ir_nodes, number + 1)
        self._ids[node] = number
        self.nodes.append(node)
        return number

    def kind(self, node: Node) -> int:
        return int(self.nodes[node][0])

    def is_fail(self, node: Node) -> bool:
        return node == self._fail

    def is_empty_word(self, node: Node) -> bool:
        return node == self._empty

    # -- leaves ------------------------------------------------------------------------------------
    def empty(self) -> Node:
        return self._empty

    def fail(self) -> Node:
        return self._fail

    def bytes(self, data: bytes) -> Node:
        return self._add((BYTES, data)) if data else self._empty

    def text(self, text: str) -> Node:
        """``text`` inside a JSON string, in any spelling (no quotes around it)."""
        return self._add((TEXT, text)) if text else self._empty

    def chars(self, ranges: Iterable[tuple[int, int]]) -> Node:
        return self._set(CHARS, ranges)

    def json_chars(self, ranges: Iterable[tuple[int, int]]) -> Node:
        return self._set(JSON_CHARS, ranges)

    def _set(self, kind: int, ranges: Iterable[tuple[int, int]]) -> Node:
        ranges = tuple(ranges)
        return self._add((kind, ranges)) if ranges else self._fail

    def other_text(self, rule: int, texts: Iterable[str]) -> Node:
        """Any string's inside but these texts; ``rule`` must be that of any string's inside."""
        body = self.nodes[self.rules[rule]]
        if (
            body[0] != REPEAT
            or body[2:] != (0, -1)
            or self.nodes[body[1]] != (JSON_CHARS, ANY_CHAR)
        ):
            raise InternalError("other_text needs the rule of any string's inside")
        return self._add((OTHER_TEXT, rule, tuple(sorted(set(texts)))))

    def tokens(self, ids: Iterable[int]) -> Node:
        ids = tuple(sorted(set(ids)))
        return self._add((TOKENS, ids)) if ids else self._fail

    # -- composition -------------------------------------------------------------------------------
    def seq(self, *parts: Node) -> Node:
        flat: list[Node] = []
        for part in parts:
            node = self.nodes[part]
            if node[0] == FAIL:
                return self._fail
            flat.extend(node[1] if node[0] == SEQ else () if node[0] == EMPTY else (part,))
        if len(flat) < 2:
            return flat[0] if flat else self._empty
        return self._add((SEQ, tuple(flat)))

    def alt(self, *parts: Node) -> Node:
        flat: dict[Node, None] = {}
        for part in parts:
            node = self.nodes[part]
            for child in node[1] if node[0] == ALT else () if node[0] == FAIL else (part,):
                flat[child] = None
        if len(flat) < 2:
            return next(iter(flat), self._fail)
        return self._add((ALT, tuple(flat)))

    def repeat(self, node: Node, minimum: int, maximum: int | None) -> Node:
        """``node`` from ``minimum`` to ``maximum`` times; ``None`` is no upper bound."""
        if maximum is not None and maximum < minimum:
            return self._fail
        kind = self.nodes[node][0]
        if kind == FAIL:
            return self._fail if minimum else self._empty
        if kind == EMPTY or maximum == 0:
            return self._empty
        if minimum == maximum == 1:
            return node
        return self._add((REPEAT, node, minimum, -1 if maximum is None else maximum))

    def optional(self, node: Node) -> Node:
        return self.alt(self._empty, node)

    def graph(
        self, states: int, edges: Sequence[tuple[int, Node, int]], finals: Iterable[int]
    ) -> Node:
        live = tuple(edge for edge in edges if self.nodes[edge[1]][0] != FAIL)
        return self._add((GRAPH, states, live, tuple(sorted(set(finals)))))

    def dispatch(
        self,
        arms: Sequence[Arm],
        *,
        excludes: Iterable[Pattern] = (),
        specials: Iterable[int] = (),
        open_end: bool,
        min_chars: int = 0,
        max_chars: int | None = None,
    ) -> Node:
        """Free text with triggers; see the module's header."""
        allowed = tuple(sorted(set(specials)))
        maximum = -1 if max_chars is None else max_chars
        if (min_chars or maximum >= 0) and (arms or allowed or not open_end):
            raise InternalError("only plain text with an open end can be counted")
        if 0 <= maximum < min_chars:
            return self._fail
        if maximum == 0:
            return self._empty
        return self._add(
            (DISPATCH, tuple(arms), tuple(excludes), allowed, open_end, min_chars, maximum)
        )

    def capture(self, label: str, role: str, node: Node) -> Node:
        return self._add((CAPTURE, label, role, node))

    # -- rules -------------------------------------------------------------------------------------
    def declare(self, name: str) -> int:
        """A new rule without a body; ``name`` is for people only."""
        self.rules.append(-1)
        self.rule_names.append(name)
        return len(self.rules) - 1

    def define(self, rule: int, node: Node) -> None:
        if self.rules[rule] != -1:
            raise InternalError(f"rule {self.rule_names[rule]!r} is defined twice")
        self.rules[rule] = node

    def rule(self, name: str, node: Node) -> int:
        rule = self.declare(name)
        self.define(rule, node)
        return rule

    def ref(self, rule: int) -> Node:
        return self._add((REF, rule))

    def check(self) -> None:
        """I4; called once by the compiler."""
        for name, node in zip(self.rule_names, self.rules, strict=True):
            if node < 0:
                raise InternalError(f"rule {name!r} was never defined")
        if not 0 <= self.root < len(self.rules):
            raise InternalError("the grammar has no root rule")


def children(node: NodeTuple) -> tuple[Node, ...]:
    """The ids of a node's direct children, REF excluded."""
    kind = node[0]
    if kind in (SEQ, ALT):
        return tuple(node[1])
    if kind == REPEAT:
        return (node[1],)
    if kind == GRAPH:
        return tuple(edge[1] for edge in node[2])
    if kind == DISPATCH:
        return tuple(arm[1] for arm in node[1])
    if kind == CAPTURE:
        return (node[3],)
    return ()
