"""Plain values of an inspection.

Rows are numbered breadth first from the start over the known transitions, so that numbers do not
depend on the order of computation; unreached rows come last. States keep their numbers.
"""

from typing import Literal, NamedTuple

#: the values of a row's counters in sequence; text with a bound on its tokens has one for its
#: characters, if they are counted, and one for its tokens
Registers = tuple[int, ...]


class Edge(NamedTuple):
    """An edge of a rule's automaton."""

    kind: Literal["bytes", "rule", "tokens", "other tokens", "empty"]
    low: int  #: of "bytes": the range's first byte; of "rule": the rule's number
    high: int  #: of "bytes": the range's last byte
    tokens: tuple[int, ...]  #: of "other tokens": the excluded ones
    target: int


class State(NamedTuple):
    """A state of a rule's automaton."""

    number: int
    rule: int
    is_final: bool  #: the rule may end here, if its count has reached the minimum
    is_loop: bool  #: edges to this state increment the count
    is_trigger: bool  #: a pattern of free text is complete here
    is_built: bool  #: edges are built on the first visit
    like: int  #: 0, or the state that handles all bytes without an edge here
    edges: tuple[Edge, ...]


class Rule(NamedTuple):
    """A rule. Names are unique; rules added by the engine are named after their kind."""

    number: int
    name: str
    kind: Literal["plain", "counted", "bounded", "object", "texts", "free text", "other text"]
    #: not visited; built state by state; completely determinised; kept nondeterministic
    automaton: Literal["unvisited", "lazy", "tabled", "nondeterministic"]
    start: int  #: its start state, 0 while unvisited
    minimum: int
    maximum: int | None


class Item(NamedTuple):
    """An Earley item."""

    state: int
    goal: int  #: the rule that the item completes
    origin: int | None  #: the row in which the goal began; for predicted items this one
    is_counted: bool  #: it has a register
    count_class: Literal["", "below minimum", "plenty"]


class Row(NamedTuple):
    """A row, with all values of its registers so far."""

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
    ends_token: bool  #: at the end of a counted token; then there are no bytes and tokens
    registers: tuple[tuple[Registers, Registers], ...]  #: before and after, if they differ


class TokenMask(NamedTuple):
    """The token mask of a state below a node of the token trie."""

    state: int
    node: int  #: 0: all tokens
    accepted: int
    uncertain: int
    exits: int  #: pairs of trie nodes below which the uncertain tokens are
    suffixes: int  #: nodes of suffix tries, which are built after several uses
    triggers: int
    is_shared: bool  #: its rule has a digest, so that other grammars share it


class Mask(NamedTuple):
    """A cached mask of a row, and its parts."""

    row: int
    registers: Registers
    allowed: int
    token_masks: tuple[int, ...]  #: numbers of the token masks that it includes
    outside: tuple[int, ...]  #: numbers of uncertain tokens that parent rows accept
    single: int  #: tokens found individually, such as stop tokens
    is_bitset: bool  #: some parts are merged into a bitset


class Snapshot(NamedTuple):
    """The state of one generation of a grammar."""

    rules: tuple[Rule, ...]
    states: dict[int, State]
    rows: tuple[Row, ...]
    reached: int  #: rows below this number are reached from the start
    moves: tuple[Move, ...]
    token_masks: tuple[TokenMask, ...]
    masks: tuple[Mask, ...]
    here: tuple[int, Registers] | None  #: row and registers of the matcher
