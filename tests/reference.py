"""A plain Earley recogniser over the IR of ``engine.ir``: what the engine's rows are compared with.

It shares no code with the rows: nothing is interned, memoised, determinised or minimised. Every IR
node is a nonterminal of its own, and a ``Machine`` says how far one has got in it.

Representation   A letter is 0..255 for a byte and 256 + id for a token. An item is (node, position,
                 origin): ``position`` is the machine's dot, written out (a count is an integer in
                 it), ``origin`` the Column where the node began. A Column is one Earley set;
                 columns refer to earlier ones only, so a state can be stepped in many directions.
Invariants       I1 a column's items are closed under prediction and completion, empty ones too.
                 I2 nodes without any word are never predicted, so a state that is not None can
                 still be completed. (One exception: a DISPATCH is taken to be completable while it
                 is in free text; excludes that leave no way to any arm are the front end's part.)
Cost             linear in what people write, some microseconds an item; no bounds, no recursion.
Not here         events of captures; a CAPTURE is the language of its node.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from engine.grammar import ir
from engine.grammar.ir import Grammar, Node

from .reference_letters import (
    DONE,
    TOKEN,
    AnchoredMachine,
    DispatchMachine,
    Letters,
    Position,
    bytes_machine,
    char_machine,
    meet,
    read_char,
    read_json_char,
    text_except_machine,
    text_machine,
    tokens_machine,
)


class Machine(Protocol):
    """One node: where its dot starts, when it is done, what it waits for, whether it reads letters
    at all, and which letters move it."""

    start: Position

    def done(self, at: Position) -> bool: ...
    def waits(self, at: Position) -> Iterable[tuple[Node, Position]]: ...
    def reads(self, at: Position) -> bool: ...
    def scan(self, at: Position, letter: int) -> Position | None: ...


class Steps:
    """A machine that only waits for nodes; ``moves`` tells for which, and where it goes then."""

    def __init__(
        self,
        start: Position,
        done: Callable[[Position], bool],
        moves: Callable[[Position], Iterable[tuple[Node, Position]]],
    ) -> None:
        self.start, self.done, self.waits = start, done, moves

    def reads(self, at: Position) -> bool:
        return False

    def scan(self, at: Position, letter: int) -> Position | None:
        return None


# -- nodes made of nodes --------------------------------------------------------------------------


def seq_machine(parts: Sequence[Node]) -> Steps:
    return Steps(
        0,
        lambda at: at == len(parts),
        lambda at: [(parts[at], at + 1)] if at < len(parts) else [],
    )


def alt_machine(parts: Sequence[Node]) -> Steps:
    return Steps("", lambda at: at == DONE, lambda at: [] if at else [(p, DONE) for p in parts])


def repeat_machine(body: Node, minimum: int, maximum: int, nullable: bool) -> Steps:
    """The position is the count, which stops at ``minimum`` where there is no upper bound.

    A body that can be empty fills up any minimum with empty words, so its minimum is 0; the
    recogniser never lets an empty body advance the count.
    """
    least = 0 if nullable else minimum

    def waits(at: int) -> list[tuple[Node, Position]]:
        if maximum == -1:
            return [(body, min(at + 1, least))]
        return [(body, at + 1)] if at < maximum else []

    return Steps(0, lambda at: at >= least, waits)


def graph_machine(edges: Sequence[tuple[int, Node, int]], finals: Sequence[int]) -> Steps:
    leaving: dict[int, list[tuple[Node, Position]]] = {}
    for source, node, target in edges:
        leaving.setdefault(source, []).append((node, target))
    return Steps(0, lambda at: at in finals, lambda at: leaving.get(at, ()))


def name_machine(name: str, spelled: bool) -> Steps:
    """A text in any spelling, or as it is written."""
    return bytes_machine(name.encode()) if spelled else text_machine(name)


#: where an object has bytes of its own to come
READING = ("nothing", "open, space", "in a name", "name, space", "member, space", "comma, space")


class ObjectMachine:
    """A JSON object, its listed members tried one by one.

    A layout has no white space of its own, but parts that hold theirs: opening, comma, colon and
    closing.

    Position   (what was read, i, names): i is the lowest listed member that may still come, in any
               order the set of those that came; from a name to its value (i, the member whose value
               is due). names, inside a name, holds (member, position in its text) for each member
               that the bytes may still spell.
    """

    def __init__(self, node: tuple, productive: set[Node]) -> None:
        _, members, self.extra, self.space, self.may_be_empty, self.extra_last, *ways = node
        self.any_order, spelled, self.layout, _ = ways
        self.members = [member for member in members if member[1] in productive]
        self.texts = [name_machine(name, spelled) for name, _, _ in self.members]
        self.has_extra = self.extra in productive
        self.first: Any = frozenset() if self.any_order else 0
        self.start: Position = ("nothing", self.first, frozenset())

    def done(self, at: Position) -> bool:
        return bool(at[0] == "end")

    def _left(self, i: Any) -> list[int]:
        """The listed members that may still come, whatever is required."""
        n = len(self.members)
        return [k for k in range(n) if k not in i] if self.any_order else list(range(i, n))

    def _may_leave_out(self, i: Any) -> bool:
        return not any(self.members[k][2] for k in self._left(i))

    def _next(self, i: Any) -> list[int]:
        """The listed members that may come next: in order, none behind a required one."""
        left = self._left(i)
        due = next((at for at, k in enumerate(left) if self.members[k][2]), len(left))
        return left if self.any_order else left[: due + 1]

    def _behind(self, i: Any, member: int) -> Any:
        return i | {member} if self.any_order else member + 1

    def _all(self) -> Any:
        return frozenset(range(len(self.members))) if self.any_order else len(self.members)

    def waits(self, at: Position) -> list[tuple[Node, Position]]:
        read, i, _ = at
        found: list[tuple[Node, Position]] = []
        if self.layout and read in ("open", "name", "member"):
            return self._parts(read, i)
        if read in ("open", "name", "colon", "member", "comma"):
            found.append((self.space, (f"{read}, space", i, frozenset())))
        if read in ("open, space", "comma, space"):
            if not self.extra_last:
                found.append((self.extra, ("member", i, frozenset())))
            elif self._may_leave_out(i):
                found.append((self.extra, ("member", self._all(), frozenset())))
        if read == "colon, space":
            before, k = i
            found.append((self.members[k][1], ("member", self._behind(before, k), frozenset())))
        return found

    def _parts(self, read: str, i: Any) -> list[tuple[Node, Position]]:
        """Of the layout, which may follow."""
        opening, comma, colon, closing = self.layout
        if read == "open":
            return [(opening, ("comma, space", i, frozenset()))]
        if read == "name":
            return [(colon, ("colon, space", i, frozenset()))]
        found: list[tuple[Node, Position]] = []
        if self.has_extra or self._left(i):
            found.append((comma, ("comma, space", i, frozenset())))
        if self._may_leave_out(i):
            found.append((closing, ("end", self.first, frozenset())))
        return found

    def reads(self, at: Position) -> bool:
        return at[0] in READING or (at[0] == "open" and bool(self.layout))

    def scan(self, at: Position, letter: int) -> Position | None:
        read, i, names = at
        if read == "open" and not self.layout:
            return None
        if read == "in a name":
            return self._scan_name(i, names, letter)
        byte = bytes([letter]) if letter < TOKEN else b""
        if read == "nothing" and byte == b"{":
            return ("open", self.first, frozenset())
        if read in ("open, space", "comma, space") and byte == b'"':
            fitting = [(k, self.texts[k].start) for k in self._next(i)]
            return ("in a name", i, frozenset(fitting)) if fitting else None
        if read == "name, space" and byte == b":":
            return ("colon", i, frozenset())
        if read == "member, space" and byte == b"," and (self.has_extra or self._left(i)):
            return ("comma", i, frozenset())
        opened = "open" if self.layout else "open, space"
        may_end = read == "member, space" or (read == opened and self.may_be_empty)
        if may_end and byte == b"}" and self._may_leave_out(i):
            return ("end", self.first, frozenset())
        return None

    def _scan_name(
        self, i: Any, names: Iterable[tuple[int, Position]], letter: int
    ) -> Position | None:
        for k, at in names:
            if letter == ord('"') and self.texts[k].done(at):
                return ("name", (i, k), frozenset())
        moved = [(k, self.texts[k].scan(at, letter)) for k, at in names]
        left = frozenset((k, at) for k, at in moved if at is not None)
        return ("in a name", i, left) if left else None


class BareObjectMachine(ObjectMachine):
    """An object without braces and quotes: opening, name, colon, value, then comma and so on, and
    closing.

    Position   as of an object: ("nothing" | "due" | "in a name" | "value" | "member" | "end", ...)
    """

    def waits(self, at: Position) -> list[tuple[Node, Position]]:
        read, i, names = at
        opening, comma, colon, closing = self.layout
        found: list[tuple[Node, Position]] = []
        if read == "nothing":
            found.append((opening, self._due(i)))
        elif read == "in a name":
            found += [
                (colon, ("value", (i, k), frozenset()))
                for k, way in names
                if self.texts[k].done(way)
            ]
            if all(way == self.texts[k].start for k, way in names):
                found += self._extras(i)
        elif read == "value":
            before, k = i
            found.append((self.members[k][1], ("member", self._behind(before, k), frozenset())))
        elif read == "member":
            if self.has_extra or self._left(i):
                found.append((comma, self._due(i)))
            if self._may_leave_out(i):
                found.append((closing, ("end", self.first, frozenset())))
        return found

    def _due(self, i: Any) -> Position:
        return ("in a name", i, frozenset((k, self.texts[k].start) for k in self._next(i)))

    def _extras(self, i: Any) -> list[tuple[Node, Position]]:
        if not self.extra_last:
            return [(self.extra, ("member", i, frozenset()))]
        if self._may_leave_out(i):
            return [(self.extra, ("member", self._all(), frozenset()))]
        return []

    def reads(self, at: Position) -> bool:
        return at[0] == "in a name"

    def scan(self, at: Position, letter: int) -> Position | None:
        read, i, names = at
        if read != "in a name":
            return None
        moved = [(k, self.texts[k].scan(way, letter)) for k, way in names]
        left = frozenset((k, way) for k, way in moved if way is not None)
        return ("in a name", i, left) if left else None


class TextsMachine:
    """Some texts, each read on its own; the position holds those that the bytes may still spell."""

    def __init__(self, texts: Sequence[str], spelled: bool) -> None:
        self.machines = [name_machine(text, spelled) for text in texts]
        self.start: Position = frozenset((k, m.start) for k, m in enumerate(self.machines))

    def done(self, at: Position) -> bool:
        return any(self.machines[k].done(way) for k, way in at)

    def waits(self, at: Position) -> Iterable[tuple[Node, Position]]:
        return ()

    def reads(self, at: Position) -> bool:
        return any(self.machines[k].reads(way) for k, way in at)

    def scan(self, at: Position, letter: int) -> Position | None:
        moved = [(k, self.machines[k].scan(way, letter)) for k, way in at]
        return frozenset((k, way) for k, way in moved if way is not None) or None


class CharMachine:
    """One character: a class, or ways to spell it. A position is what was read."""

    def __init__(self, nodes: Sequence[tuple], node: Node) -> None:
        self.nodes, self.node = nodes, node

    def scan(self, prefix: bytes, letter: int) -> bytes | None:
        if letter >= TOKEN:
            return None
        data = prefix + bytes([letter])
        whole = self._match((self.node,), data)
        return None if whole is None else DONE if whole else data

    def _match(self, parts: tuple[Node, ...], data: bytes) -> bool | None:
        """Whether the parts are over with these bytes; None: they don't fit."""
        if not parts or not data:
            return None if data else not parts
        kind, *fields = self.nodes[parts[0]]
        rest = parts[1:]
        if kind == ir.SEQ:
            return self._match((*fields[0], *rest), data)
        if kind == ir.ALT:
            found = [self._match((way, *rest), data) for way in fields[0]]
            return max((each for each in found if each is not None), default=None)
        if kind == ir.BYTES:
            n = min(len(fields[0]), len(data))
            if fields[0][:n] != data[:n]:
                return None
            return False if n < len(fields[0]) else self._match(rest, data[n:])
        machine = char_machine(fields[0], read_char if kind == ir.CHARS else read_json_char)
        at: Position = machine.start
        for n, letter in enumerate(data, 1):
            at = machine.scan(at, letter)
            if at is None:
                return None
            if at == DONE:
                return self._match(rest, data[n:])
        return False


class BoundedMachine:
    """The words of a graph of characters with a bounded length, by exhaustive search.

    Position   (characters read, ways): a way is a state of the graph and the bytes of a character
               that is not whole yet.
    """

    def __init__(self, nodes: Sequence[tuple], node: tuple) -> None:
        _, graph, self.minimum, self.maximum = node
        _, states, edges, finals = nodes[graph]
        self.finals = set(finals)
        self.leaving: dict[int, list[tuple[Letters, int]]] = {}
        targets: dict[int, set[int]] = {}
        for source, chars, target in edges:
            self.leaving.setdefault(source, []).append((CharMachine(nodes, chars), target))
            targets.setdefault(source, set()).add(target)
        # by count: the states that stand so many characters before an end
        self.before = [self.finals]
        most = self.minimum + states if self.maximum == -1 else self.maximum
        for _ in range(most):
            self.before.append({s for s in targets if targets[s] & self.before[-1]})
        self.start: Position = (0, frozenset([(0, b"")]))

    def done(self, at: Position) -> bool:
        count, ways = at
        return bool(count >= self.minimum and any((s, b"") in ways for s in self.finals))

    def waits(self, at: Position) -> Iterable[tuple[Node, Position]]:
        return ()

    def _ends(self, state: int, count: int) -> bool:
        """Whether an end with a right count lies ahead; without a maximum far ends are alike."""
        last = len(self.before) if self.maximum == -1 else self.maximum - count + 1
        first = max(self.minimum - count, 0)
        return any(state in before for before in self.before[first : max(last, first)])

    def reads(self, at: Position) -> bool:
        count, ways = at
        return any(
            self._ends(target, count + 1)
            for state, _ in ways
            for _, target in self.leaving.get(state, ())
        )

    def scan(self, at: Position, letter: int) -> Position | None:
        count, ways = at
        whole, within = set(), set()
        for state, prefix in ways:
            for chars, target in self.leaving.get(state, ()):
                read = chars.scan(prefix, letter)
                if read == DONE and self._ends(target, count + 1):
                    whole.add((target, b""))
                elif read is not None and read != DONE and self._ends(target, count + 1):
                    within.add((state, read))
        assert not (whole and within)
        if not whole and not within:
            return None
        return (count + 1, frozenset(whole)) if whole else (count, frozenset(within))


# -- the recogniser -------------------------------------------------------------------------------

Item = tuple[Node, Position, "Column"]


class Column:
    """One Earley set: its items, who waits for which node here, and which nodes are empty here."""

    def __init__(self, recogniser: "Recogniser", origin: "Column | None" = None) -> None:
        self.recogniser = recogniser
        self.first = origin or self
        self.items: list[Item] = []
        self.waiting: dict[Node, list[tuple[Item, Position]]] = {}
        self._seen: set[tuple[Node, Position, int]] = set()
        self._empty: set[Node] = set()
        self._accepts = False

    def add(self, node: Node, at: Position, origin: "Column") -> None:
        key = (node, at, id(origin))
        if key not in self._seen:
            self._seen.add(key)
            self.items.append((node, at, origin))

    def close(self) -> None:
        """Predict and complete until nothing is new."""
        for item in self.items:  # grows while it is read
            node, at, origin = item
            machine = self.recogniser.machines[node]
            if machine.done(at):
                self._complete(node, origin)
            for child, then in machine.waits(at):
                self._predict(item, child, then)

    def _complete(self, node: Node, origin: "Column") -> None:
        if node == self.recogniser.root and origin is self.first:
            self._accepts = True
        if origin is self:
            if node in self._empty:
                return
            self._empty.add(node)
        for (waiter, _, start), then in origin.waiting.get(node, ()):
            if origin is not self or not self.recogniser.counts(waiter):
                self.add(waiter, then, start)

    def _predict(self, item: Item, child: Node, then: Position) -> None:
        if child not in self.recogniser.productive:
            return
        if child not in self.waiting:
            self.waiting[child] = []
            self.add(child, self.recogniser.machines[child].start, self)
        self.waiting[child].append((item, then))
        if child in self._empty and not self.recogniser.counts(item[0]):
            self.add(item[0], then, item[2])

    # -- the public part --------------------------------------------------------------------------
    def accepts(self) -> bool:
        """Whether what was read so far is a word of the grammar."""
        return self._accepts

    def step(self, letter: int) -> "Column | None":
        """The state after one more letter, or None where no word goes on like that."""
        column = Column(self.recogniser, self.first)
        for node, at, origin in self.items:
            then = self.recogniser.machines[node].scan(at, letter)
            if then is not None:
                column.add(node, then, origin)
        column.close()
        return column if column.items else None

    def step_token(self, token: int) -> "Column | None":
        return self.step(TOKEN + token)

    def end_token(self) -> "Column | None":
        """This state once a token has ended here; it is changed, as it is the caller's alone."""
        kept: list[Item] = []
        for node, at, origin in self.items:
            machine = self.recogniser.machines[node]
            if origin is not self and isinstance(machine, DispatchMachine):
                at = machine.end_token(at)
            if at is not None:
                kept.append((node, at, origin))
        self.items = kept
        return self if self._accepts or self._goes_on() else None

    def _goes_on(self) -> bool:
        """Whether any item waits for a letter."""
        machines = self.recogniser.machines
        return any(machines[node].reads(at) for node, at, _ in self.items)


class Recogniser:
    """The language of a grammar, letter by letter."""

    def __init__(self, grammar: Grammar) -> None:
        self.nodes = list(grammar.nodes)
        self.rules = grammar.rules
        self.root = grammar.rules[grammar.root]
        nullable = self._fixpoint(self._is_nullable)
        self.productive = self._fixpoint(self._is_productive)
        self.machines = [self._machine(number, nullable) for number in range(len(self.nodes))]

    def counts(self, node: Node) -> bool:
        return self.nodes[node][0] == ir.REPEAT

    def start(self) -> Column:
        column = Column(self)
        if self.root in self.productive:
            column.add(self.root, self.machines[self.root].start, column)
        column.close()
        return column

    @staticmethod
    def after_token(states: Sequence[Column], token: int, data: bytes) -> list[Column]:
        """The states behind a token, by its id or by its bytes; special tokens have none."""
        found = [state.step_token(token) for state in states]
        for state in states if data else ():
            after: Column | None = state
            for byte in data:
                after = after and after.step(byte)
            found.append(after)
        ended = [state.end_token() for state in found if state is not None]
        return [state for state in ended if state is not None]

    def matches(self, data: bytes) -> bool:
        state: Column | None = self.start()
        for byte in data:
            state = state and state.step(byte)
        return state is not None and state.accepts()

    def matches_symbols(self, letters: Iterable[int]) -> bool:
        """Each letter is a token, also where it is a byte."""
        state: Column | None = self.start()
        for letter in letters:
            state = state and state.step(letter)
            state = state and state.end_token()
        return state is not None and state.accepts()

    # -- nodes ------------------------------------------------------------------------------------
    def _machine(self, number: Node, nullable: set[Node]) -> Machine:
        node = self.nodes[number]
        kind = node[0]
        if kind == ir.EMPTY:
            return seq_machine(())
        if kind == ir.FAIL:
            return alt_machine(())
        if kind == ir.BYTES:
            return bytes_machine(node[1])
        if kind == ir.TEXT:
            return text_machine(node[1])
        if kind in (ir.CHARS, ir.JSON_CHARS):
            return char_machine(node[1], read_char if kind == ir.CHARS else read_json_char)
        if kind == ir.TEXT_EXCEPT:
            return text_except_machine(node[2])
        if kind in (ir.TOKENS, ir.TOKENS_EXCEPT):
            ids = {t for low, high in node[1] for t in range(low, high + 1)}
            return tokens_machine(ids, others=kind == ir.TOKENS_EXCEPT)
        if kind == ir.TEXTS:
            return TextsMachine(node[1], node[2])
        if kind == ir.OBJECT:
            machine = BareObjectMachine if node[9] else ObjectMachine
            return machine(node, self.productive)
        if kind == ir.BOUNDED:
            return BoundedMachine(self.nodes, node)
        if kind == ir.REPEAT:
            return repeat_machine(node[1], node[2], node[3], node[1] in nullable)
        if kind == ir.GRAPH:
            useful = self._coaccessible(node, self.productive)
            return graph_machine([edge for edge in node[2] if edge[2] in useful], node[3])
        if kind == ir.DISPATCH:
            return (AnchoredMachine if node[8] else DispatchMachine)(node, self.productive)
        parts = ir.children(node) if kind != ir.REF else (self.rules[node[1]],)
        return alt_machine(parts) if kind == ir.ALT else seq_machine(parts)

    def _fixpoint(self, holds: Callable[[tuple, set[Node]], bool]) -> set[Node]:
        """The least set of nodes for which ``holds(node, set)``."""
        found: set[Node] = set()
        size = -1
        while size != len(found):
            size = len(found)
            for number, node in enumerate(self.nodes):
                if number not in found and holds(node, found):
                    found.add(number)
        return found

    def _is_nullable(self, node: tuple, nullable: set[Node]) -> bool:
        kind = node[0]
        if kind == ir.DISPATCH:
            return bool(node[4] and not node[5])
        if kind in (ir.BYTES, ir.TEXT):
            return not node[1]
        if kind == ir.TEXT_EXCEPT:
            return "" not in node[2]
        if kind == ir.TEXTS:
            return "" in node[1]
        if kind == ir.BOUNDED:
            return node[2] == 0 and node[1] in nullable
        if kind in (ir.CHARS, ir.JSON_CHARS, ir.TOKENS, ir.TOKENS_EXCEPT, ir.OBJECT):
            return False
        return self._is_made_of(node, nullable)

    def _is_productive(self, node: tuple, productive: set[Node]) -> bool:
        kind = node[0]
        if kind == ir.DISPATCH:
            return node[4] or any(arm[1] in productive and not arm[2] for arm in node[1])
        if kind in (ir.BYTES, ir.TEXT, ir.TEXT_EXCEPT, ir.TEXTS, ir.TOKENS_EXCEPT):
            return True
        if kind in (ir.CHARS, ir.JSON_CHARS):
            return bool(meet(node[1], ir.ANY_CHAR))
        if kind == ir.TOKENS:
            return bool(node[1])
        return self._is_made_of(node, productive)

    def _is_made_of(self, node: tuple, good: set[Node]) -> bool:
        """Whether some word of the node can be put together from good nodes only."""
        kind = node[0]
        if kind in (ir.EMPTY, ir.FAIL):
            return bool(kind == ir.EMPTY)
        if kind == ir.REF:
            return self.rules[node[1]] in good
        if kind == ir.ALT:
            return any(part in good for part in node[1])
        if kind == ir.REPEAT:
            return node[2] == 0 or node[1] in good
        if kind == ir.GRAPH:
            return 0 in self._coaccessible(node, good)
        if kind == ir.OBJECT:
            members = [member for member in node[1] if member[1] in good]
            missing = any(required and child not in good for _, child, required in node[1])
            return not missing and bool(members or node[4] or node[2] in good)
        return all(part in good for part in ir.children(node))

    @staticmethod
    def _coaccessible(node: tuple, good: set[Node]) -> set[int]:
        """The states of a GRAPH from which good edges lead to a final one."""
        useful = set(node[3])
        size = -1
        while size != len(useful):
            size = len(useful)
            useful.update(source for source, edge, to in node[2] if edge in good and to in useful)
        return useful
