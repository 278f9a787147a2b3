"""The values of an inspection.

Rows are numbered breadth first from the start, along the known transitions, so that their numbers
do not depend on the order of visits; rows that no transition reaches come last. States keep their
numbers in the grammar.
"""

from typing import Literal, NamedTuple

#: the values of a row's counters in order; text with a bound on its tokens has one for its
#: characters, if they are counted, and one for its tokens
Registers = tuple[int, ...]


class Edge(NamedTuple):
    """An edge of a rule's automaton."""

    kind: Literal["bytes", "rule", "tokens", "other tokens", "empty"]
    low: int  #: of "bytes": the range's first byte; of "rule": the rule's number
    high: int  #: of "bytes": the range's last byte
    tokens: tuple[tuple[int, int], ...]  #: ranges of ids; of "other tokens": the excluded ones
    target: int


class State(NamedTuple):
    """A state of a rule's automaton."""

    number: int
    rule: int
    is_final: bool  #: the rule may end here, if its count has reached the minimum
    is_loop: bool  #: an edge to this state counts an iteration
    is_trigger: bool  #: a trigger of free text is complete here
    is_built: bool  #: whether a visit has built the edges
    like: int  #: 0, or the state that handles all bytes without an edge here
    edges: tuple[Edge, ...]


class Rule(NamedTuple):
    """A rule. Names are unique; a rule that the engine added is named after its kind."""

    number: int
    name: str
    kind: Literal[
        "plain",
        "counted",
        "bounded",
        "graph",
        "object",
        "texts",
        "free text",
        "begins",
        "other text",
    ]
    #: not visited; built state by state; complete and deterministic; complete and nondeterministic
    automaton: Literal["unvisited", "lazy", "tabled", "nondeterministic"]
    start: int  #: the start state, 0 while unvisited
    minimum: int
    maximum: int | None


class Item(NamedTuple):
    """An Earley item."""

    state: int
    goal: int  #: the rule that the item belongs to
    origin: int | None  #: the row in which the rule began, this row for predicted items
    is_counted: bool  #: it has a register
    count_class: Literal["", "below minimum", "plenty"]


class Row(NamedTuple):
    """A row, with the registers with which it was visited."""

    number: int
    accepts: bool
    kernel: tuple[Item, ...]
    predicted: tuple[Item, ...]
    registers: tuple[Registers, ...]


class Move(NamedTuple):
    """All transitions from one row to another."""

    source: int
    target: int
    ranges: tuple[tuple[int, int], ...]  #: bytes, ascending and disjoint
    tokens: tuple[int, ...]  #: special tokens
    ends_token: bool  #: the end of a token, if tokens are counted; then bytes and tokens are empty
    registers: tuple[tuple[Registers, Registers], ...]  #: before and after, if they differ


class TokenMask(NamedTuple):
    """The token mask of a state below a node of the token trie."""

    state: int
    node: int  #: 0: all tokens
    accepted: int
    uncertain: int
    exits: int  #: ranges of trie nodes that contain the uncertain tokens
    suffixes: int  #: nodes of the suffix tries; 0 until they are needed often
    triggers: int
    is_shared: bool  #: its rule has a digest, so other grammars can use it


class Mask(NamedTuple):
    """A cached mask of a row, and the parts that it consists of."""

    row: int
    registers: Registers
    allowed: int
    token_masks: tuple[int, ...]  #: numbers of the token masks in it
    outside: tuple[int, ...]  #: numbers of uncertain tokens that parent rows allow
    single: int  #: single tokens: from rows, token edges, bounds, and stop tokens
    is_bitset: bool  #: whether some parts were merged into one bitset
    detours: int  #: tokens of the parts that are left out


class Snapshot(NamedTuple):
    """A generation of a grammar at one moment."""

    rules: tuple[Rule, ...]
    states: dict[int, State]
    rows: tuple[Row, ...]
    reached: int  #: rows below this number are reached by transitions from the start
    moves: tuple[Move, ...]
    token_masks: tuple[TokenMask, ...]
    masks: tuple[Mask, ...]
    here: tuple[int, Registers] | None  #: the matcher's position


class DiagramNode(NamedTuple):
    """A row, or a state of a rule's automaton, in a drawing. ``lines``: its items, or its place."""

    number: int
    title: str
    lines: tuple[str, ...]
    is_final: bool
    is_here: bool  #: the matcher's position


class DiagramEdge(NamedTuple):
    """All transitions between two nodes."""

    source: int
    target: int
    label: str


class Diagram(NamedTuple):
    """A drawing as values. The first node is the start; ``hidden``: nodes that are left out."""

    nodes: tuple[DiagramNode, ...]
    edges: tuple[DiagramEdge, ...]
    hidden: int
