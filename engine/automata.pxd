"""Rule automata: one small automaton per rule, built whole when something first visits the rule.

Representation   states of all built rules lie in one array; state 0 is unused (0 = unknown).
                 A state's edges are byte_edges[byte_off ..], sorted and disjoint; ref_edges,
                 token_edges, empty_edges likewise. `live` has a bit for every byte that some
                 byte edge takes.
                 An edge that leads to a LOOP state ends an iteration. A counted rule has one, its
                 start; counted free text has one for every boundary between characters.
                 `held` is, in a DISPATCH rule, the bytes at the end of the text that may turn out
                 to belong to a pattern; in a TRIGGER state the bytes of the completed pattern.
Invariants       I1 every state is reachable and can reach the end (counts permitting).
                 I2 numbering within a rule depends on the rule's content alone, so
                    `state - first[rule]` names the same state in every grammar that holds an
                    equal rule.
                 I3 no byte edge leads into the start state of a plain rule's automaton from
                    outside the rule.
Cost             subset construction, then Moore's minimisation; a rule whose deterministic form
                 grows past GROWTH times its edges stays nondeterministic, which rows handle.
Threads          built under the arena's mutex.
Not here         rows (rows), what the IR means (ir).
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from .flat cimport FlatIR
from .nfa cimport NfaC
from .vocabulary cimport Vocabulary

cdef enum:
    FINAL_STATE = 1
    LOOP_STATE = 2
    TRIGGER_STATE = 4       # behind a completed pattern: only the arm's rule follows

cdef enum:
    NO_ERROR = 0
    RULE_EDGES_EXCEEDED = 1
    ROW_ITEMS_EXCEEDED = 2
    ROWS_EXCEEDED = 3

cdef struct ByteEdgeC:
    uint32_t target
    uint8_t low, high

cdef struct SymbolEdgeC:
    uint32_t symbol         # rule or token set
    uint32_t target

cdef struct StateC:
    uint32_t byte_off, n_bytes
    uint32_t ref_off, n_refs
    uint32_t token_off, n_tokens
    uint32_t empty_off, n_empty
    uint32_t rule
    uint32_t held
    uint64_t live[4]
    uint8_t flags

cdef struct DraftC:
    # a state while its rule is being built; edges into a vector of their own
    vector[ByteEdgeC] bytes
    vector[SymbolEdgeC] refs
    vector[SymbolEdgeC] tokens
    vector[uint32_t] empty
    uint32_t held
    uint8_t flags

cdef class Automata:
    cdef FlatIR ir
    cdef Vocabulary vocabulary
    cdef uint32_t edge_limit
    cdef uint32_t error, error_got
    cdef vector[StateC] states
    cdef vector[ByteEdgeC] byte_edges
    cdef vector[SymbolEdgeC] ref_edges
    cdef vector[SymbolEdgeC] token_edges
    cdef vector[uint32_t] empty_edges
    cdef vector[uint32_t] first           # by rule: its start state, 0 while unbuilt
    cdef vector[uint32_t] span            # by counted rule: most iterations one token can end
    cdef uint32_t start(self, uint32_t rule) noexcept nogil
    cdef bint is_tail(self, uint32_t state) noexcept nogil
    cdef bint build(self, uint32_t rule) noexcept nogil
    cdef void make_counted(self, vector[DraftC]* drafts) noexcept nogil
    cdef uint32_t iteration_span(self, uint32_t rule, vector[DraftC]* drafts) noexcept nogil
    cdef void append(self, uint32_t rule, vector[DraftC]* drafts) noexcept nogil
