"""Automata over bytes: from IR nodes to minimal deterministic automata.

    NFA            `nfa_emit` adds edges for an IR node between two states. Characters become bytes:
                   UTF-8 or, inside JSON strings, every legal spelling (RFC 8259, section 7): raw, a
                   short escape, or \\uXXXX in either case, with surrogate pairs above U+FFFF.
    whole DFA      `determinise`, `trim` and `minimise`: all states, the start first, breadth first.
    lazy DFA       `LazyDfaC` computes the edges of one subset at a time, in the order of requests.
    refinement     `refine` finds the coarsest partition of a DFA's states into equivalent ones.

Representation   NFA states are 0..size-1; state 0 is the start, state 1 the final state. Edges are
                 in the order of their creation; an edge has a byte range a..b, a rule (a), a token
                 set (a), or nothing (an empty move). Symbols (rules, token sets) are letters like
                 bytes, ordered by first appearance. Targets of a DFA state are numbers within the
                 rule until rule_automata moves the state into its arrays.
Invariants       I1 `nfa_emit(node, s, t)` adds no edge into s and none out of t, so fragments can
                    share both.
                 I2 unproductive nodes are left out, so a trimmed automaton has no dead reference.
                 I3 the output depends on the rule's content, not on the numbers of rules in a
                    grammar.
                 I4 refinement: states of one block lead to the same blocks for each letter, and no
                    coarser partition that refines the given one does. Blocks are numbered by their
                    first members.
Cost             NFA: linear in the node's weight; beyond `limit` edges `overflow` is set.
                 Refinement: a round visits only predecessors of states that changed their block,
                 and the largest part of a block keeps its number, so a chain of n states takes n
                 edges, not n^2.
Source           S. Blom, S. Orzan, Distributed Branching Bisimulation Reduction of State Spaces,
                 2003.
Not here         when each construction is used (rule_automata).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..grammar.lowered cimport LoweredGrammar
from ..native.pool cimport vector
from ..native.word_table cimport WordTableC

cdef enum:
    FINAL_STATE = 1
    LOOP_STATE = 2          # an edge into it counts an iteration (rule_automata)
    # after a completed pattern: only the arm's rule follows, or the rest of a longer pattern if the DISPATCH is
    # anchored
    TRIGGER_STATE = 4
    UNBUILT_STATE = 8       # Automata.visit makes its edges

cdef struct ByteEdgeC:
    uint32_t target
    uint8_t low, high

cdef struct SymbolEdgeC:
    uint32_t symbol         # rule or token set
    uint32_t target

cdef struct DfaStateC:
    # a state under construction
    vector[ByteEdgeC] bytes
    vector[SymbolEdgeC] refs
    vector[SymbolEdgeC] tokens
    vector[uint32_t] empty
    uint8_t flags


# -- NFA -------------------------------------------------------------------------------------------

cdef enum:
    EPSILON_EDGE = 0
    BYTE_EDGE = 1
    REF_EDGE = 2
    TOKEN_EDGE = 3

cdef struct EdgeC:
    uint32_t source, kind, a, b, target

cdef struct ByteNfaC:
    vector[EdgeC] edges
    uint32_t size, limit
    uint32_t counted_low, counted_high    # states low..high-1, and the final one, lie between characters
    bint overflow

cdef void nfa_start(ByteNfaC* nfa, uint32_t limit) noexcept nogil
cdef uint32_t nfa_state(ByteNfaC* nfa) noexcept nogil
cdef void nfa_edge(ByteNfaC* nfa, uint32_t s, uint32_t kind, uint32_t a, uint32_t b, uint32_t t) noexcept nogil
cdef void nfa_emit_counted(ByteNfaC* nfa, LoweredGrammar ir, uint32_t number) noexcept nogil
cdef void nfa_emit(ByteNfaC* nfa, LoweredGrammar ir, uint32_t number, uint32_t s, uint32_t t) noexcept nogil
cdef uint32_t short_escape(uint32_t c) noexcept nogil


# -- refinement ------------------------------------------------------------------------------------
# The edges of state s are edges[off[s] .. off[s + 1] - 1]: disjoint ranges of letters, in one order
# for all states.

cdef struct LetterEdgeC:
    uint32_t low, high, target


cdef struct LetterEdgesC:
    vector[uint32_t] off
    vector[LetterEdgeC] edges


# Refine ``blocks``, the block of each state, numbered 0..count-1. Return the new number of blocks;
# 0: more than ``most`` edges would have to be visited. ``looks`` counts visited edges.
cdef uint32_t refine(
    const LetterEdgesC* graph, vector[uint32_t]* blocks, uint32_t count, uint64_t most, uint64_t* looks
) noexcept nogil


# -- DFA -------------------------------------------------------------------------------------------

ctypedef vector[uint32_t] Set

cdef struct EdgeIndexC:
    # edges of state s: order[off[s] .. off[s + 1] - 1]
    vector[uint32_t] off
    vector[uint32_t] order

cdef struct ClosureC:
    # scratch of closures under empty moves: stamp[s] == now if s is in the current set
    vector[uint32_t] stamp
    uint32_t now
    Set kept

cdef struct LazyDfaC:
    # subsets met so far, before their closure, which may have thousands of members; number 0 is the
    # start
    ByteNfaC nfa
    EdgeIndexC index
    WordTableC sets
    vector[uint32_t] states   # by subset: its state in rule_automata, 0: none yet

cdef struct BuildWorkC:
    # work on automata: members of subsets, pairs of edges and parts, visited edges
    uint64_t done
    const bint* cancelled     # NULL: it cannot be cancelled

cdef inline bint is_cancelled(const BuildWorkC* work) noexcept nogil:
    return work.cancelled != NULL and work.cancelled[0]

cdef bint determinise(ByteNfaC* nfa, vector[DfaStateC]* out, uint32_t limit, BuildWorkC* work) noexcept nogil
cdef void copy_nfa(ByteNfaC* nfa, vector[DfaStateC]* out) noexcept nogil
cdef bint merge_edges(vector[DfaStateC]* dfa, uint32_t limit, BuildWorkC* work) noexcept nogil
cdef void trim(vector[DfaStateC]* dfa) noexcept nogil
# Number the states that lead to one whose name is not 0xFFFFFFFF; edge k leads from owners[k] to targets[k]. Names
# of other states stay 0xFFFFFFFF, but for the start if it is kept. Return the number of named states
cdef uint32_t number_live(
    vector[uint32_t]* targets, const vector[uint32_t]* owners, bint keeps_start, vector[uint32_t]* names
) noexcept nogil
cdef void minimise(vector[DfaStateC]* dfa, BuildWorkC* work) noexcept nogil
cdef size_t lazy_dfa_bytes(const LazyDfaC* lazy) noexcept nogil
cdef void lazy_dfa_start(LazyDfaC* lazy, ClosureC* scratch) noexcept nogil
# whether a state has no edges, but may be the end
cdef bint lazy_dfa_is_tail(LazyDfaC* lazy, ClosureC* scratch, uint32_t number) noexcept nogil
cdef void lazy_dfa_state(LazyDfaC* lazy, ClosureC* scratch, uint32_t number, DfaStateC* out) noexcept nogil
