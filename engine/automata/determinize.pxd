"""A state of a rule's automaton while the rule is being built: edges in vectors of its own.

Targets are numbers within the rule until the state is moved into the arrays (rule_automata).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..grammar.lowered cimport LoweredGrammar
from ..native.pool cimport vector
from ..native.word_table cimport WordTableC

cdef enum:
    FINAL_STATE = 1
    LOOP_STATE = 2          # an edge into it counts (rule_automata)
    TRIGGER_STATE = 4       # behind a completed pattern: only the arm's rule follows
    UNBUILT_STATE = 8       # edges are made by Automata.visit

cdef struct ByteEdgeC:
    uint32_t target
    uint8_t low, high

cdef struct SymbolEdgeC:
    uint32_t symbol         # rule or token set
    uint32_t target

cdef struct DfaStateC:
    # a state while its rule is being built; edges into a vector of their own
    vector[ByteEdgeC] bytes
    vector[SymbolEdgeC] refs
    vector[SymbolEdgeC] tokens
    vector[uint32_t] empty
    uint32_t held
    uint8_t flags
    uint8_t is_plain_text   # free text in which no pattern is under way
    uint8_t missing         # bytes that a character of free text lacks


# -- nfa -------------------------------------------------------------------------------------------
# A nondeterministic automaton under construction: IR nodes become edges between two states.
#
# Representation   states are 0..size-1; edges in the order they were made, sorted by nothing.
#                  An edge carries a byte range a..b, a rule (a), a token set (a), or nothing (an
#                  empty move).
# Invariants       I1 `emit(node, s, t)` adds no edge into s and none out of t, so that fragments
#                     can share both.
#                  I2 unproductive parts are left out; whoever trims finds no dead reference.
# Cost             linear in the node's weight; nothing is emitted past `limit` edges (overflow is
#                  set instead).
# Not here         determinising (determinise).

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
    uint32_t counted_low, counted_high    # states low..high-1 lie between counted characters, and the final one
    bint overflow

cdef void nfa_start(ByteNfaC* nfa, uint32_t limit) noexcept nogil
cdef uint32_t nfa_state(ByteNfaC* nfa) noexcept nogil
cdef void nfa_edge(
    ByteNfaC* nfa, uint32_t s, uint32_t kind, uint32_t a, uint32_t b, uint32_t t
) noexcept nogil
cdef void nfa_emit_counted(ByteNfaC* nfa, LoweredGrammar ir, uint32_t number) noexcept nogil
cdef void nfa_emit(ByteNfaC* nfa, LoweredGrammar ir, uint32_t number, uint32_t s, uint32_t t) noexcept nogil


# -- spelling --------------------------------------------------------------------------------------
# How characters are spelled in bytes: UTF-8, and every legal spelling inside a JSON string.
#
# Source: RFC 3629 (UTF-8 without surrogates), RFC 8259 section 7 (strings). A code point inside a
# JSON string may stand as itself (not U+0000..001F, quote or backslash), as a short escape, or as
# \\uXXXX with hexadecimal digits in either case; above U+FFFF as a pair of surrogates. Ranges given
# here hold no surrogates.

cdef uint32_t short_escape(uint32_t c) noexcept nogil
cdef void emit_utf8(ByteNfaC* nfa, uint32_t low, uint32_t high, uint32_t s, uint32_t t) noexcept nogil
cdef void emit_json_char(
    ByteNfaC* nfa, uint32_t* ranges, uint32_t n, uint32_t s, uint32_t t
) noexcept nogil


# -- minimize --------------------------------------------------------------------------------------
# Partition refinement: which states of a deterministic automaton have the same language.
#
# Representation   the edges of state s are edges[off[s]..off[s + 1] - 1]: disjoint ranges of letters, in one
#                  order for all states. Blocks are numbers by state.
# Invariants       I1 states of one block lead, letter by letter, to the same blocks; no coarser partition that
#                  refines the given one does. So the result does not depend on the order of the work.
#                  I2 blocks are numbered by their first members.
# Cost             a round looks only at the states that lead to one that changed its block, and the largest
#                  part of a block keeps its number, so that a chain of n states takes n edges, not n^2.
# Source           S. Blom and S. Orzan, Distributed Branching Bisimulation Reduction of State Spaces, 2003.

cdef struct LetterEdgeC:
    uint32_t low, high, target


cdef struct LetterEdgesC:
    vector[uint32_t] off
    vector[LetterEdgeC] edges


# Splits ``blocks``, numbered from 0 to ``count`` - 1; how many there are then. 0: more than ``most`` edges
# would have to be looked at. ``looks`` is how many were.
cdef uint32_t refine(
    const LetterEdgesC* graph, vector[uint32_t]* blocks, uint32_t count, uint64_t most, uint64_t* looks
) noexcept nogil


# -- determinize -----------------------------------------------------------------------------------
# Subset construction, trimming and minimisation of one rule's automaton.
#
# Input    an ``ByteNfaC`` with start 0 and final 1.
# Output   whole: DfaStateC states, start first, in breadth-first order; or one state at a time (LazyDfaC),
#          in the order in which they are asked for.
#
# Symbols (rules, token sets) are letters like bytes; they are ordered by first appearance in the
# input, so that the whole output depends on the rule's content and not on how its grammar numbers
# rules.

ctypedef vector[uint32_t] Set

cdef struct EdgeIndexC:
    # edges by source: order[off[s] .. off[s + 1] - 1]
    vector[uint32_t] off
    vector[uint32_t] order

cdef struct ClosureC:
    # scratch of closures: stamp[s] == now means s is in the set being made
    vector[uint32_t] stamp
    uint32_t now
    Set kept

cdef struct LazyDfaC:
    # subsets met so far, before empty moves: an object of 4,000 optional keys has as many states, each
    # with as many members once it is closed. Number 0 is the start
    ByteNfaC nfa
    EdgeIndexC index
    WordTableC sets
    vector[uint32_t] states   # by subset: its state, 0: none yet (rule_automata)

cdef bint determinise(ByteNfaC* nfa, vector[DfaStateC]* out, uint32_t limit) noexcept nogil
cdef void copy_nfa(ByteNfaC* nfa, vector[DfaStateC]* out) noexcept nogil
cdef bint merge_ways(vector[DfaStateC]* dfa, uint32_t limit) noexcept nogil
cdef void trim(vector[DfaStateC]* dfa) noexcept nogil
cdef void minimise(vector[DfaStateC]* dfa) noexcept nogil
cdef size_t lazy_dfa_bytes(const LazyDfaC* lazy) noexcept nogil
cdef void lazy_dfa_start(LazyDfaC* lazy, ClosureC* scratch) noexcept nogil
cdef void lazy_dfa_state(LazyDfaC* lazy, ClosureC* scratch, uint32_t number, DfaStateC* out) noexcept nogil
