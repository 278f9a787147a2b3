"""Texts for states, edges and items.

An item has a position in its rule, and a deterministic state covers many positions at once. Its
text is the shortest path from the rule's start, a dot, the continuation while there is only one,
and then the alternatives.

    member name -> '"na·me":' (<white space> | <string>)

Names of rules are in <...>, bytes in quotes, classes in [...], special tokens without marks. An
ellipsis marks an incomplete path.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from .values import Edge, Item, Rule, State

#: maximum pieces of a path (a byte, a class, a rule) on either side of the dot
BEFORE = 12
BEHIND = 16
#: maximum alternatives at the end of a path
ALTERNATIVES = 4
#: maximum named tokens of a set
TOKENS = 3

#: one byte, or the text of a class, a rule or a token
Piece = int | str


class Wording:
    """Texts for the states of one snapshot."""

    def __init__(
        self, rules: Sequence[Rule], states: dict[int, State], tokens: Sequence[bytes]
    ) -> None:
        self._rules, self._states, self._tokens = rules, states, tokens
        self._ways: dict[int, dict[int, tuple[int, Piece]]] = {}

    def item(self, item: Item, row: int) -> str:
        """Return the text of an item; it names the origin if that is another row."""
        state = self._states[item.state]
        text = self.place(item.state)
        if item.goal != state.rule:
            text += f"  ends <{self._rules[item.goal].name}>"
        if item.is_counted:
            text += f"  counted{', ' if item.count_class else ''}{item.count_class}"
        if item.origin is not None and item.origin != row:
            text += f"  from row {item.origin}"
        return text

    def place(self, number: int) -> str:
        """Return the position of a state in its rule."""
        state = self._states[number]
        before, behind = self._before(state), self._behind(state)
        name = self._rules[state.rule].name
        last = before[-1] if before else None
        first = behind[0] if behind else None
        if isinstance(last, int) and isinstance(first, int):
            return f"{name} -> {_joined(before, behind)}"
        parts = [*_texts(before), "·", *_texts(behind)]
        return f"{name} -> {' '.join(parts)}"

    def edge(self, edge: Edge) -> Piece:
        """Return the text of an edge, or its single byte."""
        if edge.kind == "bytes":
            return edge.low if edge.low == edge.high else byte_class([(edge.low, edge.high)])
        if edge.kind == "rule":
            return f"<{self._rules[edge.low].name}>"
        if edge.kind == "other tokens":
            return f"any token but {self.ranges(edge.tokens)}" if edge.tokens else "any token"
        return self.ranges(edge.tokens) if edge.kind == "tokens" else "nothing"

    def tokens(self, ids: Sequence[int]) -> str:
        """Return the text of a set of special tokens."""
        return self.ranges([(number, number) for number in ids])

    def ranges(self, ranges: Sequence[tuple[int, int]]) -> str:
        """Return the text of a set of tokens, given as ranges of ids."""
        ids = chain.from_iterable(range(low, high + 1) for low, high in ranges)
        named = [_readable(self._tokens[token]) for token in islice(ids, TOKENS)]
        count = sum(high - low + 1 for low, high in ranges)
        if count > TOKENS:
            named.append(f"{count - TOKENS} more tokens")
        return " | ".join(named)

    def _before(self, state: State) -> list[Piece]:
        """Return the shortest path from the rule's start."""
        start = self._rules[state.rule].start
        if start not in self._ways:
            self._ways[start] = self._shortest(start)
        ways, at = self._ways[start], state.number
        out: list[Piece] = []
        while at != start and at in ways:
            at, piece = ways[at]
            out.append(piece)
        if len(out) > BEFORE:
            out = [*out[:BEFORE], "…"]
        return out[::-1]

    def _shortest(self, start: int) -> dict[int, tuple[int, Piece]]:
        """Return each state's predecessor on a shortest path, and the piece between them."""
        found: dict[int, tuple[int, Piece]] = {}
        todo = deque([start])
        while todo:
            at = todo.popleft()
            for edge in self._states[at].edges:
                if edge.target != start and edge.target not in found:
                    found[edge.target] = at, self.edge(edge)
                    todo.append(edge.target)
        return found

    def _behind(self, state: State) -> list[Piece]:
        out: list[Piece] = []
        seen = {state.number}
        while len(out) < BEHIND:
            if not state.is_built:
                return [*out, "…"]
            targets = {edge.target for edge in state.edges}
            if state.is_final or state.like or len(targets) != 1 or targets & seen:
                return [*out, *self._choice(state)]
            out.append(self._alternatives(state.edges))
            seen |= targets
            state = self._states[targets.pop()]
        return [*out, "…"]

    def _choice(self, state: State) -> list[str]:
        """Return the alternatives, including the end of the rule."""
        if not state.edges and not state.like:
            return []
        texts = [self._alternatives(edges) for edges in _by_target(state.edges)]
        shown = [text if isinstance(text, str) else literal([text]) for text in texts]
        if state.like:
            shown.append(f"as {self._rules[self._states[state.like].rule].name}")
        if len(shown) > ALTERNATIVES:
            shown = [*shown[: ALTERNATIVES - 1], "…"]
        if state.is_final:
            shown.append("end")
        return [shown[0] if len(shown) == 1 else f"({' | '.join(shown)})"]

    def _alternatives(self, edges: Sequence[Edge]) -> Piece:
        """Return edges to one target as one piece."""
        if len(edges) == 1:
            return self.edge(edges[0])
        ranges = [(edge.low, edge.high) for edge in edges if edge.kind == "bytes"]
        texts = [str(self.edge(edge)) for edge in edges if edge.kind != "bytes"]
        if ranges:
            texts.insert(0, byte_class(ranges))
        return texts[0] if len(texts) == 1 else f"({' | '.join(texts)})"


def _by_target(edges: Iterable[Edge]) -> list[list[Edge]]:
    groups: dict[int, list[Edge]] = {}
    for edge in edges:
        groups.setdefault(edge.target, []).append(edge)
    return list(groups.values())


def _texts(pieces: Iterable[Piece]) -> list[str]:
    """Return pieces as texts; adjacent bytes are joined."""
    out: list[str] = []
    run: list[int] = []
    for piece in pieces:
        if isinstance(piece, int):
            run.append(piece)
            continue
        if run:
            out.append(literal(run))
            run = []
        out.append(piece)
    return [*out, literal(run)] if run else out


def _joined(before: list[Piece], behind: list[Piece]) -> str:
    """Return a path with the dot inside a text."""
    left: list[int] = []
    while before and isinstance(before[-1], int):
        left.insert(0, before.pop())  # type: ignore[arg-type]
    right: list[int] = []
    while behind and isinstance(behind[0], int):
        right.append(behind.pop(0))  # type: ignore[arg-type]
    whole = _quoted(_readable(left) + "·" + _readable(right))
    return " ".join([*_texts(before), whole, *_texts(behind)])


def literal(data: Sequence[int]) -> str:
    """Return bytes in quotes, as text if they are UTF-8."""
    return _quoted(_readable(data))


def byte_class(ranges: Sequence[tuple[int, int]]) -> str:
    """Return ranges of bytes in brackets; a single byte in quotes."""
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return literal([ranges[0][0]])
    parts = []
    for low, high in ranges:
        ends = [_readable([byte]).replace("]", "\\]") for byte in (low, high)]
        if high - low > 1:
            parts.append("-".join(ends))
        else:
            parts.append("".join(ends[: high - low + 1]))
    return f"[{''.join(parts)}]"


def _readable(data: Sequence[int]) -> str:
    """Return text with escapes for unprintable characters."""
    text = bytes(data).decode("utf-8", "backslashreplace")
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def _quoted(text: str) -> str:
    mark = "'" if '"' in text and "'" not in text else '"'
    return f"{mark}{text}{mark}"
