"""Deterministic automata over characters, for what IR composition can't say: intersection and exclusion.

Used for a pattern together with a length, and for the keys that are not among the listed ones. States are numbered from
the start (0); every state is reachable and can reach a final one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import LimitExceeded
from ..ir import ANY_CHAR, Grammar, Node, Ranges
from .charset import complement, normalise
from .regex import Branch
from .regex_syntax import Alt, Cat, Repeat, Set, Tree

Edges = list[tuple[Ranges, int]]


@dataclass
class CharAutomaton:
    """``edges[s]``: (characters, next state), disjoint within a state."""

    edges: list[Edges]
    finals: set[int]

    def to_node(self, grammar: Grammar) -> Node:
        """The inside of a JSON string whose decoded value the automaton accepts."""
        if not self.edges:
            return grammar.fail()
        moves = [
            (s, grammar.json_chars(ranges), t) for s, out in enumerate(self.edges) for ranges, t in out
        ]
        return grammar.graph(len(self.edges), moves, self.finals)

    def trimmed(self) -> "CharAutomaton":
        """Without states that can't reach a final one; no states at all if the start can't."""
        sources: list[list[int]] = [[] for _ in self.edges]
        for s, out in enumerate(self.edges):
            for _, t in out:
                sources[t].append(s)
        live, todo = set(self.finals), list(self.finals)
        while todo:
            for s in sources[todo.pop()]:
                if s not in live:
                    live.add(s)
                    todo.append(s)
        if 0 not in live:
            return CharAutomaton([], set())
        names = {s: n for n, s in enumerate(sorted(live))}
        edges = [[(r, names[t]) for r, t in self.edges[s] if t in live] for s in sorted(live)]
        return CharAutomaton(edges, {names[s] for s in self.finals})

    def lengths(self) -> tuple[int, int | None]:
        """Shortest and longest accepted text in characters; None: no longest. The automaton must not be empty."""
        shortest, level = 0, {0}
        while not level & self.finals:
            level = {t for s in level for _, t in self.edges[s]}
            shortest += 1
        longest, level = 0, {0}
        for length in range(len(self.edges) + 1):
            if level & self.finals:
                longest = length
            level = {t for s in level for _, t in self.edges[s]}
            if not level:
                return shortest, longest
        return shortest, None


class _Nfa:
    """Thompson's construction; ``limit`` bounds the states."""

    def __init__(self, limit: int, pointer: str) -> None:
        self.limit, self.pointer = limit, pointer
        self.empty: list[list[int]] = []
        self.moves: list[list[tuple[Ranges, int]]] = []

    def state(self) -> int:
        if len(self.moves) >= self.limit:
            raise LimitExceeded("pattern_states", self.limit, len(self.moves) + 1, self.pointer)
        self.empty.append([])
        self.moves.append([])
        return len(self.moves) - 1

    def add(self, tree: Tree, s: int) -> int:
        """Adds a fragment behind state s; returns where it ends."""
        if isinstance(tree, Set):
            t = self.state()
            self.moves[s].append((tree.ranges, t))
            return t
        if isinstance(tree, Cat):
            for part in tree.parts:
                s = self.add(part, s)
            return s
        if isinstance(tree, Alt):
            t = self.state()
            for part in tree.parts:
                start = self.state()
                self.empty[s].append(start)
                self.empty[self.add(part, start)].append(t)
            return t
        assert isinstance(tree, Repeat)
        return self._repeat(tree, s)

    def _repeat(self, tree: Repeat, s: int) -> int:
        for _ in range(tree.minimum):
            s = self.add(tree.body, s)
        if tree.maximum is None:
            loop = self.state()
            self.empty[s].append(loop)
            self.empty[self.add(tree.body, loop)].append(loop)
            return loop
        end = self.state()
        for _ in range(tree.maximum - tree.minimum):
            self.empty[s].append(end)
            s = self.add(tree.body, s)
        self.empty[s].append(end)
        return end

    def closure(self, states: Iterable[int]) -> frozenset[int]:
        found = set(states)
        todo = list(found)
        while todo:
            for t in self.empty[todo.pop()]:
                if t not in found:
                    found.add(t)
                    todo.append(t)
        return frozenset(found)


def _pieces(moves: list[tuple[Ranges, int]]) -> dict[frozenset[int], list[tuple[int, int]]]:
    """Cuts overlapping moves into disjoint ranges, by the set of targets."""
    events: dict[int, list[tuple[int, int]]] = {}
    for number, (ranges, _) in enumerate(moves):
        for low, high in ranges:
            events.setdefault(low, []).append((1, number))
            events.setdefault(high + 1, []).append((-1, number))
    out: dict[frozenset[int], list[tuple[int, int]]] = {}
    active: set[int] = set()
    start = 0
    for at in sorted(events):
        if active:
            out.setdefault(frozenset(moves[n][1] for n in active), []).append((start, at - 1))
        for sign, number in events[at]:
            if sign > 0:
                active.add(number)
            else:
                active.discard(number)
        start = at
    return out


def from_branches(found: list[Branch], *, limit: int, pointer: str) -> CharAutomaton:
    """The texts in which some branch is found (search semantics).

    Raises:
        LimitExceeded: more than ``limit`` states.
    """
    nfa = _Nfa(limit, pointer)
    anything = Repeat(Set(ANY_CHAR), 0, None)
    start, final = nfa.state(), nfa.state()
    for branch in found:
        tree = Cat(
            (
                *(() if branch.at_start else (anything,)),
                branch.tree,
                *(() if branch.at_end else (anything,)),
            )
        )
        own = nfa.state()
        nfa.empty[start].append(own)
        nfa.empty[nfa.add(tree, own)].append(final)
    return _determinise(nfa, start, final, limit, pointer)


def _determinise(nfa: _Nfa, start: int, final: int, limit: int, pointer: str) -> CharAutomaton:
    first = nfa.closure([start])
    ids, todo = {first: 0}, [first]
    edges: list[Edges] = []
    finals: set[int] = set()
    for states in todo:
        if final in states:
            finals.add(len(edges))
        out: Edges = []
        for targets, ranges in _pieces([move for s in states for move in nfa.moves[s]]).items():
            after = nfa.closure(targets)
            if after not in ids:
                if len(ids) >= limit:
                    raise LimitExceeded("pattern_states", limit, len(ids) + 1, pointer)
                ids[after] = len(ids)
                todo.append(after)
            out.append((normalise(ranges), ids[after]))
        edges.append(out)
    return CharAutomaton(edges, finals).trimmed()


def with_length(
    automaton: CharAutomaton, minimum: int, maximum: int | None, *, limit: int, pointer: str
) -> CharAutomaton:
    """The accepted texts of ``minimum`` to ``maximum`` characters; counts past the bounds that matter are one."""
    cap = minimum if maximum is None else maximum
    ids, todo = {(0, 0): 0}, [(0, 0)]
    edges: list[Edges] = []
    finals: set[int] = set()
    if not automaton.edges:
        return automaton
    for state, count in todo:
        if state in automaton.finals and count >= minimum:
            finals.add(len(edges))
        out: Edges = []
        if maximum is None or count < maximum:
            for ranges, target in automaton.edges[state]:
                after = (target, min(count + 1, cap))
                if after not in ids:
                    if len(ids) >= limit:
                        raise LimitExceeded("pattern_states", limit, len(ids) + 1, pointer)
                    ids[after] = len(ids)
                    todo.append(after)
                out.append((ranges, ids[after]))
        edges.append(out)
    return CharAutomaton(edges, finals).trimmed()


def excluding(names: Iterable[str]) -> CharAutomaton:
    """Every text but the given ones: their trie, with all other characters leading to a state that takes anything."""
    children: list[dict[int, int]] = [{}]
    ends: set[int] = set()
    for name in names:
        at = 0
        for c in map(ord, name):
            if c not in children[at]:
                children.append({})
                children[at][c] = len(children) - 1
            at = children[at][c]
        ends.add(at)
    anything = len(children)
    edges: list[Edges] = []
    for out in children:
        listed = normalise((c, c) for c in out)
        edges.append([(((c, c),), t) for c, t in sorted(out.items())] + [(complement(listed), anything)])
    edges.append([(ANY_CHAR, anything)])
    return CharAutomaton(edges, set(range(anything + 1)) - ends)
