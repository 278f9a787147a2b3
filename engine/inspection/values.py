"""What an inspection shows, as plain values.

Rows are numbered breadth first from the start over the transitions known so far, so that numbers do
not depend on what was looked up first; those that no transition leads to come behind them. States
keep the numbers they have in their grammar.
"""

from typing import Literal, NamedTuple

#: one after the other: the values of a row's counters; text with a bound on its tokens has one for
#: its characters, if they are counted, and one for its tokens
Registers = tuple[int, ...]


class Edge(NamedTuple):
    """An edge of a rule's automaton."""

    kind: Literal["bytes", "rule", "tokens", "other tokens", "empty"]
    low: int  #: of "bytes": the range's first byte; of "rule": the rule's number
    high: int  #: of "bytes": the range's last byte
    tokens: tuple[int, ...]  #: of "other tokens": those it does not take
    target: int


class State(NamedTuple):
    """A state of a rule's automaton."""

    number: int
    rule: int
    is_final: bool  #: the rule may end here, if its count has reached the minimum
    is_loop: bool  #: an edge that leads here counts
    is_trigger: bool  #: a pattern of free text was completed here
    is_built: bool  #: edges are made when something visits the state
    like: int  #: 0, or the state that takes all bytes without an edge here
    edges: tuple[Edge, ...]


class Rule(NamedTuple):
    """A rule. Names are made unique; a rule that the engine made is named for what it is."""

    number: int
    name: str
    kind: Literal["plain", "counted", "bounded", "object", "texts", "free text", "other text"]
    #: nothing visited it; made state by state; whole and deterministic; whole and left as it was
    automaton: Literal["unvisited", "lazy", "tabled", "nondeterministic"]
    start: int  #: its start state, 0 while unvisited
    minimum: int
    maximum: int | None


class Item(NamedTuple):
    """An Earley item."""

    state: int
    goal: int  #: the rule whose end is awaited
    origin: int | None  #: the row in which the goal began, this one for predicted items
    is_counted: bool  #: it has a register
    count_class: Literal["", "below minimum", "plenty"]


class Row(NamedTuple):
    """A row, with the registers it was met with."""

    number: int
    accepts: bool
    kernel: tuple[Item, ...]
    predicted: tuple[Item, ...]
    registers: tuple[Registers, ...]


class Move(NamedTuple):
    """All transitions from one row to another one."""

    source: int
    target: int
    ranges: tuple[tuple[int, int], ...]  #: bytes, ascending and disjoint
    tokens: tuple[int, ...]  #: special tokens
    ends_token: bool  #: where a token ends, if tokens are counted; then bytes and tokens are empty
    registers: tuple[tuple[Registers, Registers], ...]  #: before and after, where they differ


class TokenMask(NamedTuple):
    """The automaton-only mask of a state below a node of the token trie."""

    state: int
    node: int  #: 0: all tokens
    accepted: int
    uncertain: int
    exits: int  #: pairs of trie nodes behind which the uncertain tokens lie
    suffixes: int  #: nodes of the tries of what remains of them; 0 while nobody asked often
    triggers: int
    is_shared: bool  #: its rule has a digest: other grammars use it, too


class Mask(NamedTuple):
    """A kept mask, and the parts that it is put together from."""

    row: int
    registers: Registers
    allowed: int
    token_masks: tuple[int, ...]  #: numbers of token masks, taken whole
    outside: tuple[int, ...]  #: of uncertain tokens, the numbers that the rows outside take
    single: int  #: tokens found one by one: over rows, token edges, within bounds; stop tokens
    is_bitset: bool  #: some parts were merged into one bitset


class Snapshot(NamedTuple):
    """A generation of a grammar as it was at one moment."""

    rules: tuple[Rule, ...]
    states: dict[int, State]
    rows: tuple[Row, ...]
    reached: int  #: rows before this number were reached by transitions from the start
    moves: tuple[Move, ...]
    token_masks: tuple[TokenMask, ...]
    masks: tuple[Mask, ...]
    here: tuple[int, Registers] | None  #: where the matcher stands
