"""Excludes: insides of JSON strings that do not contain certain texts as written.

``excludes`` of structural tags bans texts in the emitted text, before unescaping: with ``<x>``
excluded, ``"\\u003cx>"`` stays legal. So spellings matter here, unlike elsewhere in the front end.
The graph has a state for each pair of a state of the automaton of decoded characters and a prefix
of an excluded text that was just written. Its edges are whole characters in the spellings that lead
from one prefix to another, so that lengths still count characters.

Cost   states of the automaton times letters of the excluded texts, within ``Bound``; the letters
       are steps of the budget.
Source  A. Aho, M. Corasick, CACM 18(6), 1975; RFC 8259, section 7, for spellings.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ...errors import LimitExceeded
from ...grammar.ir import ANY_CHAR, Grammar, Node, Ranges
from ...native.resources import WorkBudget
from ..regex.char_automaton import Bound, CharAutomaton
from ..regex.char_classes import JSON_UNESCAPED, char, complement, contains, intersect, union

#: any text, decoded
ANYTHING = CharAutomaton([[(ANY_CHAR, 0)]], [0])
SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
BASIC = ((0, 0xD7FF), (0xE000, 0xFFFF))
ASTRAL = ((0x10000, 0x10FFFF),)
#: steps of the budget for a state with its edges, up to 20 us
STEPS = 20
#: moves of a state that are copied or followed in about a microsecond
MOVES_PER_STEP = 4
#: prefix at the end -> nodes
Ways = dict[int, list[Node]]


class Excludes:
    """Nonempty texts. A state is a prefix of one of them; 0 is the empty prefix.

    Args:
        budget: pays for the automaton.

    Raises:
        LimitExceeded: ``compile_steps``.
    """

    def __init__(self, texts: Iterable[str], budget: WorkBudget) -> None:
        #: by state: the state after each letter that does not lead to 0; None: a text is complete
        self._moves: list[dict[str, int | None]] = [{}]
        self._budget = budget
        whole = self._add(dict.fromkeys(texts))
        self._link(whole)

    def _add(self, texts: Iterable[str]) -> list[bool]:
        """Add the texts as a trie. Return, by state, whether it is a whole text."""
        whole = [False]
        for text in texts:
            self._budget.spend(1 + len(text))
            at = 0
            for c in text:
                found = self._moves[at].get(c)
                if found is None:
                    found = self._moves[at][c] = len(whole)
                    self._moves.append({})
                    whole.append(False)
                at = found
            whole[at] = True
        return whole

    def _link(self, whole: list[bool]) -> None:
        """Add the moves of the longest proper suffix of each state, breadth first."""
        fail = [0] * len(whole)
        todo = [0]
        for at in todo:
            children, suffix = self._moves[at], self._moves[fail[at]] if at else {}
            self._budget.spend(1 + (len(children) + len(suffix)) // MOVES_PER_STEP)
            moves: dict[str, int | None] = dict(suffix)
            for c, child in children.items():
                below = suffix.get(c, 0)
                if child is None or whole[child] or below is None:
                    moves[c] = None
                else:
                    fail[child] = below
                    todo.append(child)
                    moves[c] = child
            self._moves[at] = moves

    def __len__(self) -> int:
        return len(self._moves)

    def is_in(self, text: str) -> bool:
        return self.walk(0, text) is None

    def has_spelling(self, value: Any) -> bool:
        """Whether no string of a JSON value contains an excluded text in its plainest spelling."""
        if isinstance(value, str):
            self._budget.spend(len(value) // MOVES_PER_STEP)
            return not self.is_in(json.dumps(value, ensure_ascii=False)[1:-1])
        if isinstance(value, dict):
            return all(self.has_spelling(each) for pair in value.items() for each in pair)
        return not isinstance(value, list) or all(map(self.has_spelling, value))

    def step(self, state: int, c: str) -> int | None:
        """Return the state after a character; None if it completes an excluded text."""
        return self._moves[state].get(c, 0)

    def walk(self, state: int, text: str) -> int | None:
        at: int | None = state
        for c in text:
            if at is None:
                return None
            at = self.step(at, c)
        return at

    def steps(self, state: int, ranges: Ranges) -> Iterator[tuple[int, Ranges]]:
        """Return the next states, each with those of the characters that lead to it."""
        moves = self._moves[state]
        self._budget.spend(len(moves) // MOVES_PER_STEP)
        found: dict[int, list[int]] = {}
        inside = sorted(ord(c) for c in moves if contains(ranges, ord(c)))
        for c in inside:
            target = moves[chr(c)]
            if target is not None:
                found.setdefault(target, []).append(c)
        others = intersect(ranges, complement(union(*map(char, inside)))) if inside else ranges
        for target in sorted({0, *found}):
            some = union(*map(char, found.get(target, [])), others if target == 0 else ())
            if some:
                yield target, some


class Writer:
    """Adds characters in their spellings to one grammar."""

    def __init__(self, grammar: Grammar, excludes: Excludes) -> None:
        self.g, self.excludes = grammar, excludes
        self._escapes: dict[tuple[int, Ranges], dict[int, Node]] = {}
        self._digits: dict[tuple[int, int, int, int], dict[int, Node]] = {}

    def ways(self, state: int, ranges: Ranges) -> dict[int, Node]:
        """Return nodes for one of these characters, by the state that they lead to."""
        made: Ways = {}
        for target, some in self.excludes.steps(state, intersect(ranges, JSON_UNESCAPED)):
            made.setdefault(target, []).append(self.g.chars(some))
        behind = self.excludes.step(state, "\\")
        if behind is not None:
            for target, node in self._escaped(behind, ranges).items():
                made.setdefault(target, []).append(self.g.seq(self.g.bytes(b"\\"), node))
        return self._joined(made)

    def _joined(self, ways: Ways) -> dict[int, Node]:
        return {target: self.g.alt(*nodes) for target, nodes in sorted(ways.items())}

    def _escaped(self, state: int, ranges: Ranges) -> dict[int, Node]:
        """Return the spellings after a backslash."""
        key = state, ranges
        if key not in self._escapes:
            made: Ways = {}
            for c, letter in SHORT.items():
                target = self.excludes.step(state, letter)
                if target is not None and intersect(ranges, char(ord(c))):
                    made.setdefault(target, []).append(self.g.bytes(letter.encode()))
            behind = self.excludes.step(state, "u")
            if behind is not None:
                for low, high in intersect(ranges, BASIC):
                    self._add(made, self.g.bytes(b"u"), self._hex(behind, low, high, 4))
                for pair in pairs(intersect(ranges, ASTRAL)):
                    self._add_pair(made, behind, pair)
            self._escapes[key] = self._joined(made)
        return self._escapes[key]

    def _add(self, made: Ways, before: Node, ways: dict[int, Node]) -> None:
        for target, node in ways.items():
            made.setdefault(target, []).append(self.g.seq(before, node))

    def _add_pair(self, made: Ways, state: int, pair: tuple[int, int, int, int]) -> None:
        high_first, high_last, low_first, low_last = pair
        for middle, node in self._hex(state, high_first, high_last, 4).items():
            behind = self.excludes.walk(middle, "\\u")
            if behind is not None:
                before = self.g.seq(self.g.bytes(b"u"), node, self.g.bytes(b"\\u"))
                self._add(made, before, self._hex(behind, low_first, low_last, 4))

    def _hex(self, state: int, low: int, high: int, digits: int) -> dict[int, Node]:
        """Return numbers with this many hexadecimal digits, in either case."""
        if digits == 0:
            return {state: self.g.empty()}
        key = state, low, high, digits
        if key not in self._digits:
            unit = 16 ** (digits - 1)
            same: dict[tuple[int, int, int], list[int]] = {}
            for digit in range(low // unit, high // unit + 1):
                inner = max(low - digit * unit, 0), min(high - digit * unit, unit - 1)
                for c in dict.fromkeys((f"{digit:x}", f"{digit:X}")):
                    target = self.excludes.step(state, c)
                    if target is not None:
                        same.setdefault((target, *inner), []).append(ord(c))
            made: Ways = {}
            for (target, *bounds), letters in same.items():
                before = self.g.chars(union(*map(char, letters)))
                self._add(made, before, self._hex(target, bounds[0], bounds[1], digits - 1))
            self._digits[key] = self._joined(made)
        return self._digits[key]


def pairs(ranges: Ranges) -> Iterator[tuple[int, int, int, int]]:
    """Return characters above U+FFFF as ranges of high and low surrogates."""
    for low, high in ranges:
        at = low
        while at <= high:
            first, second = 0xD800 + (at - 0x10000 >> 10), 0xDC00 + (at - 0x10000 & 0x3FF)
            whole = high - at + 1 >> 10 if second == 0xDC00 else 0
            last = 0xDFFF if whole else min(0xDFFF, second + high - at)
            yield first, first + max(whole - 1, 0), second, last
            at += whole << 10 or last - second + 1


def written_node(
    grammar: Grammar, automaton: CharAutomaton, excludes: Excludes, bound: Bound
) -> Node:
    """Return the automaton's texts as the inside of a JSON string without excluded texts: a graph,
    or FAIL.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
    writer = Writer(grammar, excludes)
    decoded, finals = automaton.edges, automaton.finals
    ids = {(0, 0): 0} if decoded else {}
    order, edges = list(ids), []
    for state, prefix in order:
        bound.budget.spend(STEPS)
        if len(order) > bound.limit:
            raise LimitExceeded("pattern_states", bound.limit, len(order), bound.pointer)
        made: Ways = {}
        for ranges, target in decoded[state]:
            for after, node in writer.ways(prefix, ranges).items():
                place = target, after
                if place not in ids:
                    ids[place] = len(order)
                    order.append(place)
                made.setdefault(ids[place], []).append(node)
        edges += [(ids[state, prefix], grammar.alt(*ns), to) for to, ns in sorted(made.items())]
    ends = {number for number, (state, _) in enumerate(order) if state in finals}
    return without_dead_ends(grammar, len(order), edges, ends)


def without_dead_ends(
    grammar: Grammar, size: int, edges: list[tuple[int, Node, int]], ends: set[int]
) -> Node:
    sources: dict[int, list[int]] = {}
    for source, _, target in edges:
        sources.setdefault(target, []).append(source)
    todo, alive = list(ends), set(ends)
    while todo:
        new = [source for source in sources.get(todo.pop(), ()) if source not in alive]
        alive.update(new)
        todo += new
    if 0 not in alive:
        return grammar.fail()
    ids = {number: k for k, number in enumerate(n for n in range(size) if n in alive)}
    kept = [(ids[s], node, ids[t]) for s, node, t in edges if s in ids and t in ids]
    return grammar.graph(len(ids), kept, [ids[number] for number in sorted(ends)])
