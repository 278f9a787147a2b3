"""Deterministic automata over characters, for what IR composition can't say: intersection,
exclusion, anchors in the middle.

Used for patterns together with lengths or formats, for keys that are not among the listed ones, and
to decide whether a given text matches.

Representation   states 0..n-1, start 0; ``edges[s]`` holds (characters, next state), disjoint
                 within a state.
Invariants       every state can reach a final one; an automaton that accepts nothing has no states.
                 (Complements are left untrimmed: there, only what was the complement of everything
                 has states that lead nowhere.)
Cost             what is looked at (members of subsets, ranges of characters) is counted, and
                 ``LOOKS`` of it count as one state, so that ``limits.pattern_states`` bounds the
                 work, too.
Not here         which patterns need an automaton (regex, json_schema.strings).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import LimitExceeded
from ..ir import ANY_CHAR, Grammar, Node, Ranges
from .charset import complement, contains, intersect, normalise
from .regex_tree import ANYTHING, Alt, Anchor, Cat, Chars, Repeat, Tree, cat

Edges = list[tuple[Ranges, int]]
LOOKS = 64
#: ranges looked at to make an automaton minimal, which is never needed; formats take up to 100,000
MINIMAL_LOOKS = 250_000


@dataclass
class CharAutomaton:
    edges: list[Edges]
    finals: set[int]

    def to_node(self, grammar: Grammar, *, inside_json: bool = True) -> Node:
        """The accepted texts; as the inside of a JSON string, or as they are."""
        if not self.edges:
            return grammar.fail()
        chars = grammar.json_chars if inside_json else grammar.chars
        moves = [(s, chars(ranges), t) for s, out in enumerate(self.edges) for ranges, t in out]
        return grammar.graph(len(self.edges), moves, self.finals)

    def accepts(self, text: str) -> bool:
        state = 0 if self.edges else -1
        for c in map(ord, text):
            state = (
                next((t for ranges, t in self.edges[state] if contains(ranges, c)), -1)
                if state >= 0
                else -1
            )
        return state in self.finals

    def trimmed(self) -> "CharAutomaton":
        """Without states that can't reach a final one."""
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
        if len(live) == len(self.edges):
            return self
        names = {s: n for n, s in enumerate(sorted(live))}
        edges = [[(r, names[t]) for r, t in self.edges[s] if t in live] for s in sorted(live)]
        return CharAutomaton(edges, {names[s] for s in self.finals})

    def minimal(self) -> "CharAutomaton":
        """The same texts with the fewest states, or as it is where that takes too long (Moore's
        algorithm; a step costs all edges, and few are needed).
        """
        part = [int(s in self.finals) for s in range(len(self.edges))]
        step = sum(len(ranges) for out in self.edges for ranges, _ in out)
        before = looks = 0
        while before < (count := len(set(part))):
            before = count
            looks += step
            if looks > MINIMAL_LOOKS:
                return self
            known: dict[tuple[object, ...], int] = {}
            part = [
                known.setdefault((part[s], *_joined([(r, part[t]) for r, t in out])), len(known))
                for s, out in enumerate(self.edges)
            ]
        edges: list[Edges] = [[] for _ in range(before)]
        for s, out in enumerate(self.edges):
            edges[part[s]] = edges[part[s]] or _joined([(r, part[t]) for r, t in out])
        return CharAutomaton(edges, {part[s] for s in self.finals})


class Bound:
    """``limits.pattern_states`` at one place of a spec."""

    def __init__(self, limit: int, pointer: str) -> None:
        self.limit, self.pointer, self.looks = limit, pointer, 0

    def look(self, looks: int) -> None:
        self.looks += looks
        self.check(self.looks // LOOKS)

    def check(self, states: int) -> None:
        if states > self.limit:
            raise LimitExceeded("pattern_states", self.limit, states, self.pointer)


# -- from trees ----------------------------------------------------------------------------------


class _Nfa:
    """Thompson's construction. ``empty[s]`` holds (sign, target): sign "" moves freely, "^" and "$"
    where they hold.
    """

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.empty: list[list[tuple[str, int]]] = []
        self.moves: list[list[tuple[Ranges, int]]] = []

    def state(self) -> int:
        self.bound.check(len(self.moves) + 1)
        self.empty.append([])
        self.moves.append([])
        return len(self.moves) - 1

    def add(self, tree: Tree, s: int) -> int:
        """Adds a fragment behind state s; returns where it ends."""
        if isinstance(tree, Cat):
            for part in tree.parts:
                s = self.add(part, s)
            return s
        if isinstance(tree, Repeat):
            for _ in range(tree.minimum):
                s = self.add(tree.body, s)
            if tree.maximum is None:
                loop = self.state()
                self.empty[s].append(("", loop))
                self.empty[self.add(tree.body, loop)].append(("", loop))
                return loop
        t = self.state()
        if isinstance(tree, Chars):
            self.moves[s].append((tree.ranges, t))
        elif isinstance(tree, Anchor):
            self.empty[s].append((tree.sign, t))
        elif isinstance(tree, Alt):
            for part in tree.parts:
                start = self.state()
                self.empty[s].append(("", start))
                self.empty[self.add(part, start)].append(("", t))
        else:
            for _ in range((tree.maximum or 0) - tree.minimum):
                self.empty[s].append(("", t))
                s = self.add(tree.body, s)
            self.empty[s].append(("", t))
        return t

    def closure(self, states: Iterable[int], signs: str = "") -> frozenset[int]:
        """All states reached without a character; ``signs`` are the anchors that hold here."""
        found = set(states)
        todo = list(found)
        while todo:
            for sign, t in self.empty[todo.pop()]:
                if t not in found and (not sign or sign in signs):
                    found.add(t)
                    todo.append(t)
        self.bound.look(len(found))
        return frozenset(found)


def from_tree(tree: Tree, bound: Bound, *, search: bool) -> CharAutomaton:
    """The texts that match as a whole, or in which a match is found; anchors may stand anywhere.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
    nfa = _Nfa(bound)
    start = nfa.state()
    final = nfa.add(cat((ANYTHING, tree, ANYTHING)) if search else tree, start)
    first = nfa.closure([start], "^")
    # the start is a state of its own: what ^ allows there does not hold where the same set is met
    # again
    ids: dict[frozenset[int] | None, int] = {None: 0}
    todo = [first]
    edges: list[Edges] = []
    finals: set[int] = set()
    for states in todo:
        if final in nfa.closure(states, "$" if edges else "^$"):
            finals.add(len(edges))
        out: Edges = []
        moves = [move for s in states for move in nfa.moves[s]]
        for targets, ranges in _pieces(moves, bound).items():
            after = nfa.closure(targets)
            if after not in ids:
                bound.check(len(ids) + 1)
                ids[after] = len(ids)
                todo.append(after)
            out.append((normalise(ranges), ids[after]))
        edges.append(_joined(out))
    return CharAutomaton(edges, finals).trimmed()


def _pieces(
    moves: list[tuple[Ranges, int]], bound: Bound
) -> dict[frozenset[int], list[tuple[int, int]]]:
    """Cuts overlapping moves into disjoint ranges, by the set of targets."""
    bound.look(sum(len(ranges) for ranges, _ in moves))
    if len(moves) == 1:
        ranges, target = moves[0]
        return {frozenset((target,)): list(ranges)} if ranges else {}
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
            bound.look(len(active))
            out.setdefault(frozenset(moves[n][1] for n in active), []).append((start, at - 1))
        for sign, number in events[at]:
            if sign > 0:
                active.add(number)
            else:
                active.discard(number)
        start = at
    return out


def _joined(out: Edges) -> Edges:
    """One edge to each target, in the order of their characters."""
    by_target: dict[int, list[tuple[int, int]]] = {}
    for ranges, target in out:
        by_target.setdefault(target, []).extend(ranges)
    return sorted((normalise(ranges), target) for target, ranges in by_target.items())


# -- from automata -------------------------------------------------------------------------------


def intersection(a: CharAutomaton, b: CharAutomaton, bound: Bound) -> CharAutomaton:
    """
    Raises:
        LimitExceeded: ``pattern_states``.
    """
    if not a.edges or not b.edges:
        return CharAutomaton([], set())
    ids, todo = {(0, 0): 0}, [(0, 0)]
    edges: list[Edges] = []
    for s, t in todo:
        out: Edges = []
        for left, to_left in a.edges[s]:
            for right, to_right in b.edges[t]:
                bound.look(len(left) + len(right))
                both = intersect(left, right)
                if not both:
                    continue
                after = (to_left, to_right)
                if after not in ids:
                    bound.check(len(ids) + 1)
                    ids[after] = len(ids)
                    todo.append(after)
                out.append((both, ids[after]))
        edges.append(_joined(out))
    finals = {n for (s, t), n in ids.items() if s in a.finals and t in b.finals}
    return CharAutomaton(edges, finals).trimmed()


def with_length(
    automaton: CharAutomaton, minimum: int, maximum: int | None, bound: Bound
) -> CharAutomaton:
    """The accepted texts of ``minimum`` to ``maximum`` characters; counts past the bounds that
    matter are one.

    Raises:
        LimitExceeded: ``pattern_states``.
    """
    if not automaton.edges:
        return automaton
    cap = minimum if maximum is None else maximum
    ids, todo = {(0, 0): 0}, [(0, 0)]
    edges: list[Edges] = []
    finals: set[int] = set()
    for state, count in todo:
        if state in automaton.finals and count >= minimum:
            finals.add(len(edges))
        out: Edges = []
        if maximum is None or count < maximum:
            for ranges, target in automaton.edges[state]:
                after = (target, min(count + 1, cap))
                if after not in ids:
                    bound.check(len(ids) + 1)
                    ids[after] = len(ids)
                    todo.append(after)
                out.append((ranges, ids[after]))
        edges.append(out)
    return CharAutomaton(edges, finals).trimmed()


def without(automaton: CharAutomaton) -> CharAutomaton:
    """Every text that the automaton does not accept (its complement)."""
    edges = [list(out) for out in automaton.edges] or [[]]
    sink = len(edges)
    for out in edges:
        rest = complement(
            out[0][0] if len(out) == 1 else normalise(pair for ranges, _ in out for pair in ranges)
        )
        if rest:
            out.append((rest, sink))
    edges.append([(ANY_CHAR, sink)])
    return CharAutomaton(edges, set(range(sink + 1)) - automaton.finals)


def words(texts: Iterable[str]) -> CharAutomaton:
    """Exactly these texts: their trie."""
    children: list[dict[int, int]] = [{}]
    ends: set[int] = set()
    for text in texts:
        at = 0
        for c in map(ord, text):
            found = children[at].get(c)
            if found is None:
                found = children[at][c] = len(children)
                children.append({})
            at = found
        ends.add(at)
    return CharAutomaton(
        [[(((c, c),), t) for c, t in sorted(out.items())] for out in children], ends
    )


def excluding(texts: Iterable[str]) -> CharAutomaton:
    """Every text but the given ones."""
    return without(words(texts))
