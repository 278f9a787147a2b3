"""A nondeterministic automaton under construction: IR nodes become edges between two states.

Representation   states are 0..size-1; edges in the order they were made, sorted by nothing.
                 An edge carries a byte range a..b, a rule (a), a token set (a), or nothing (an
                 empty move).
Invariants       I1 `emit(node, s, t)` adds no edge into s and none out of t, so that fragments
                    can share both.
                 I2 unproductive parts are left out; whoever trims finds no dead reference.
Cost             linear in the node's weight; nothing is emitted past `limit` edges (overflow is
                 set instead).
Not here         determinising (determinise).
"""

from libc.stdint cimport uint32_t

from ..grammar.lowered cimport LoweredGrammar
from ..native.pool cimport vector

cdef enum:
    EPSILON_EDGE = 0
    BYTE_EDGE = 1
    REF_EDGE = 2
    TOKEN_EDGE = 3

cdef struct EdgeC:
    uint32_t source, kind, a, b, target

cdef struct NfaC:
    vector[EdgeC] edges
    uint32_t size, limit
    uint32_t counted_low, counted_high    # states low..high-1 lie between counted characters, and the final one
    bint overflow

cdef void nfa_start(NfaC* nfa, uint32_t limit) noexcept nogil
cdef uint32_t nfa_state(NfaC* nfa) noexcept nogil
cdef void nfa_edge(
    NfaC* nfa, uint32_t s, uint32_t kind, uint32_t a, uint32_t b, uint32_t t
) noexcept nogil
cdef void nfa_emit_counted(NfaC* nfa, LoweredGrammar ir, uint32_t number) noexcept nogil
cdef void nfa_emit(NfaC* nfa, LoweredGrammar ir, uint32_t number, uint32_t s, uint32_t t) noexcept nogil
