"""The automata of rules: one small automaton per rule, built when something first visits it.

Objects, strings without excluded names, large graphs of characters, and rules that only combine
others or list literals are built state by state, as they are visited: most of what they spell out
is never met. All others are built whole: subset construction, then minimisation. A rule whose
deterministic form exceeds GROWTH times its edges stays nondeterministic, which rows support.

`AutomatonCache` keeps automata by rule digest for all grammars of one compiler: rules that are
built whole, refer to nothing and have no token edges (patterns, formats, numbers, string bodies,
patterns with a bounded length). Their states mean the same in every grammar; numbers of rules and
token sets do not.

Representation   The states of all rules are in one array; state 0 is unused (0 = unknown). A
                 state's edges are byte_edges[byte_off ..], sorted and disjoint; ref_edges,
                 token_edges and empty_edges likewise. `live` has a bit for every byte that some
                 byte edge takes.
FINAL            The rule ends here once its count has reached the minimum.
LOOP             An edge into the state counts an iteration. A counted rule has one LOOP state, its
                 start, where an iteration has ended. If an iteration may continue after it could
                 have ended (the b of `(a+b+){0,9}`), it is counted as soon as it could end. Counted
                 free text and bounded patterns have a LOOP state for each boundary between
                 characters.
UNBUILT          The state has no edges yet: `visit` makes them, from `lazy_dfas`, `objects`, `texts`
                 or `char_graphs`, depending on the rule's kind. States of graphs have their other
                 flags already.
like             The state has only the edges that differ from those of another one (json_objects).
onward           The fewest iterations that a continuing text must still count: in a bounded
                 pattern, up to the nearest end.
held             In a DISPATCH rule the number of last bytes that may belong to a pattern; in a
                 TRIGGER state the bytes of the completed pattern.
Invariants       I1 every state is reachable and can reach the end (if counts permit).
                 I2 `name` is the same in every grammar with an equal rule: the numbering within a
                    rule that is built whole depends on its content alone.
                 I3 no byte edge leads into the start state of a plain rule from outside the rule.
                 I4 a cached automaton is immutable, shared by shared_ptr, and depends on the rule's
                    digest alone.
Bounds           the cache drops all automata when it exceeds `max_bytes`.
Threads          rules are built under the arena's mutex. The cache has its own mutex, which is
                 never held while a rule is built.
Not here         rows (rows), the meaning of the IR (ir), constructions (determinize, tag_dispatch).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex

from ..grammar.ir cimport LAYOUT_PARTS
from ..grammar.lowered cimport LoweredGrammar
from ..grammar.rule_digest cimport RuleDigests
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..native.resources cimport WorkBudget
from ..native.word_table cimport WordTableC
from ..vocabulary.vocabulary cimport Vocabulary
from .determinize cimport BuildWorkC, ByteEdgeC, ByteNfaC, ClosureC, DfaStateC, LazyDfaC, SymbolEdgeC

cdef struct AutomatonC:
    uint64_t high, low        # the rule's digest
    bint counts               # it has LOOP states: it is a BOUNDED_RULE's
    uint64_t work             # of its construction
    vector[DfaStateC] dfa

ctypedef shared_ptr[AutomatonC] AutomatonPtr

cdef class AutomatonCache:
    cdef mutex guard
    cdef U64MapC index
    cdef vector[AutomatonPtr] automata
    cdef readonly size_t max_bytes
    cdef size_t held
    cdef readonly uint64_t hits, misses, evictions
    cdef size_t bytes_held(self) noexcept nogil
    cdef AutomatonPtr find(self, uint64_t high, uint64_t low) noexcept nogil
    cdef void add(self, AutomatonPtr automaton) noexcept nogil
    cdef void clear(self) noexcept nogil


cdef enum:
    NO_ERROR = 0
    RULE_EDGES_EXCEEDED = 1
    ROW_ITEMS_EXCEEDED = 2
    ROWS_EXCEEDED = 3
    BYTES_EXCEEDED = 4
    MASK_ITEMS_EXCEEDED = 5
    WORK_EXCEEDED = 6       # the budget of the compile is spent, or the compile is cancelled

cdef struct StateC:
    uint32_t byte_off, n_bytes
    uint32_t ref_off, n_refs
    uint32_t token_off, n_tokens
    uint32_t empty_off, n_empty
    uint32_t rule
    uint32_t held
    uint32_t onward         # 0: nothing more must be counted
    # of an UNBUILT state: an index into `lazy_dfas`, `objects`, `texts` or `char_graphs`, and a
    # number there; of a graph of characters all states have them
    uint32_t lazy, position
    uint32_t like           # 0, or the state that takes the bytes without an edge here
    uint64_t live[4]
    uint8_t flags
    uint8_t is_plain_text   # free text, and no pattern is in progress
    uint8_t missing         # bytes that a character of free text lacks

cdef inline void set_live(uint64_t* live, uint32_t low, uint32_t high) noexcept nogil:
    """Set the bits of a range of bytes."""
    cdef uint32_t k
    for k in range(low >> 6, (high >> 6) + 1):
        live[k] |= (<uint64_t>-1 << (low & 63 if k == low >> 6 else 0)) & (
            <uint64_t>-1 >> (63 - (high & 63) if k == high >> 6 else 0))

# -- names and objects (json_objects) --------------------------------------------------------------

cdef struct NamesC:
    vector[uint32_t] points   # characters of all names, in sorted order
    vector[uint32_t] off      # by index in the order: the begin of the name; one more at the end
    vector[uint32_t] numbers  # by index in the order
    bint spelled              # names have one spelling, as written

cdef struct NameTrieC:
    NamesC names
    WordTableC nodes          # visited nodes (NameNodeC)
    vector[uint32_t] states   # by node: its state in `Automata`, 0: none yet

cdef enum:
    NO_NAME = 0xFFFFFFFF

cdef struct CharStepC:
    # the automaton of one character; state 0 is the start, and references name its targets
    vector[DfaStateC] dfa
    vector[uint32_t] order                # the states, each after those that it leads to

cdef struct CharGraphC:
    bint counts                   # characters, in a register
    # by state of the graph: its edges, from the first to that of the next state
    vector[uint32_t] off
    vector[uint32_t] classes, targets     # by edge: the node of its characters (NO_NAME: it leads to no end)
    vector[uint8_t] finals                # by state of the graph
    vector[uint32_t] nearest              # by state of the graph, if it counts: the characters up to an end
    WordTableC sets                       # of states of the graph; the first ones have one member
    vector[uint32_t] states               # by set: its state in `Automata`, 0: none yet
    WordTableC keys                       # of steps: classes, and the numbers of their targets
    vector[CharStepC] steps
    size_t step_bytes
    WordTableC within                     # edges of states within characters
    vector[uint32_t] states_within        # by number there: its state in `Automata`
    uint32_t hub                          # the state of the graph that most characters lead to

cdef struct ObjectC:
    NamesC names
    vector[uint32_t] values       # by member: its rule
    vector[uint32_t] due          # by member: the next required one from here on; NO_NAME: none
    vector[uint32_t] required     # bitset
    WordTableC sets               # bitsets of members; the first one is empty
    uint32_t extra, space         # rules, NO_RULE: none
    uint32_t[LAYOUT_PARTS] layout     # rules of its parts, with LAID_OUT; NO_RULE: nothing
    uint32_t flags                # as in ir
    WordTableC positions          # the first one is the start
    vector[uint32_t] states       # by position: its state in `Automata`, 0: none yet


cdef class Automata:
    cdef LoweredGrammar ir
    cdef Vocabulary vocabulary
    cdef uint32_t edge_limit
    cdef AutomatonCache table                 # None: grammars share nothing
    cdef RuleDigests digests                  # None without a table
    cdef WorkBudget budget                    # of the compile that pays for rules; None: they are free
    cdef uint32_t error, error_got
    cdef vector[StateC] states
    cdef vector[ByteEdgeC] byte_edges
    cdef vector[SymbolEdgeC] ref_edges
    cdef vector[SymbolEdgeC] token_edges
    cdef vector[uint32_t] empty_edges
    cdef vector[uint32_t] first           # by rule: its start state, 0 while unbuilt
    # by rule: deterministic over bytes, and built whole or a graph of characters; it has token masks
    cdef vector[uint8_t] tabled
    # rules that are built state by state
    cdef vector[LazyDfaC] lazy_dfas
    cdef vector[CharGraphC] char_graphs
    cdef vector[ObjectC] objects
    cdef vector[NameTrieC] texts             # TEXTS and TEXT_EXCEPT
    cdef size_t lazy_held                 # bytes of the above
    cdef ClosureC scratch
    cdef uint64_t work                    # edges made since ``Arena.count_work``, in its units
    cdef vector[uint32_t] span            # by counted rule: iterations within reach of one token
    cdef vector[uint64_t] begins          # by counted rule, 4 words: bytes that begin an iteration
    cdef void open(
        self, LoweredGrammar ir, Vocabulary vocabulary, uint32_t edge_limit, AutomatonCache table, RuleDigests digests
    ) noexcept
    cdef bint is_over(self, size_t edges) noexcept nogil
    cdef size_t lazy_bytes(self, uint8_t kind, uint32_t number) noexcept nogil
    cdef bint pay(self, uint64_t steps) noexcept nogil
    cdef uint32_t start(self, uint32_t rule) noexcept nogil
    cdef void visit(self, uint32_t state) noexcept nogil
    cdef void grow(self, uint32_t state) noexcept nogil
    cdef bint is_lazy(self, uint32_t node, ByteNfaC* nfa) noexcept nogil
    cdef uint32_t unbuilt(self, vector[uint32_t]* known, uint32_t rule, uint32_t lazy, uint32_t position) noexcept nogil
    cdef StateC new_state(self, uint32_t rule) noexcept nogil
    cdef void add_edges(self, StateC* state, const DfaStateC* dfa_state, uint32_t base) noexcept nogil
    cdef uint32_t target(self, uint32_t state, uint8_t byte) noexcept nogil
    cdef uint32_t edges_of(self, uint32_t state, uint8_t byte) noexcept nogil
    cdef bint is_tail(self, uint32_t state) noexcept nogil
    cdef bint build(self, uint32_t rule) noexcept nogil
    cdef bint is_char_graph(self, uint32_t rule) noexcept nogil
    cdef uint32_t name(self, uint32_t state) noexcept nogil
    cdef uint32_t hub_of_graph(self, uint32_t rule) noexcept nogil
    cdef bint build_of_nodes(self, uint32_t rule) noexcept nogil
    cdef bint emit_rule(self, uint32_t rule, ByteNfaC* nfa) noexcept nogil
    cdef bint build_whole(self, uint32_t rule, ByteNfaC* nfa, vector[DfaStateC]* dfa, BuildWorkC* work) noexcept nogil
    cdef bint finish_rule(self, uint32_t rule, const vector[DfaStateC]* dfa, uint64_t work) noexcept nogil
    cdef void build_lazily(self, uint32_t rule, ByteNfaC* nfa) noexcept nogil
    cdef uint32_t remaining(self, uint32_t state) noexcept nogil
    cdef void measure(self, uint32_t rule) noexcept nogil
    cdef bint is_by_bytes(self, uint32_t rule) noexcept nogil
    cdef void make_counted(self, vector[DfaStateC]* dfa) noexcept nogil
    cdef uint32_t iteration_span(self, uint32_t rule, vector[DfaStateC]* dfa) noexcept nogil
    cdef void append(self, uint32_t rule, const vector[DfaStateC]* dfa) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil
