"""Subset construction, trimming and minimisation of one rule's automaton.

Input    an ``NfaC`` with start 0 and final 1.
Output   whole: DfaStateC states, start first, in breadth-first order; or one state at a time (LazyC),
         in the order in which they are asked for.

Symbols (rules, token sets) are letters like bytes; they are ordered by first appearance in the
input, so that the whole output depends on the rule's content and not on how its grammar numbers
rules.
"""

from libc.stdint cimport uint32_t

from ..native.pool cimport vector
from ..native.word_table cimport WordTableC
from .dfa_state cimport DfaStateC
from .nfa cimport NfaC

ctypedef vector[uint32_t] Set

cdef struct IndexC:
    # edges by source: order[off[s] .. off[s + 1] - 1]
    vector[uint32_t] off
    vector[uint32_t] order

cdef struct ClosureC:
    # scratch of closures: stamp[s] == now means s is in the set being made
    vector[uint32_t] stamp
    uint32_t now
    Set kept

cdef struct LazyC:
    # subsets met so far, before empty moves: an object of 4,000 optional keys has as many states, each
    # with as many members once it is closed. Number 0 is the start
    NfaC nfa
    IndexC index
    WordTableC sets
    vector[uint32_t] states   # by subset: its state, 0: none yet (rule_automata)

cdef bint determinise(NfaC* nfa, vector[DfaStateC]* out, uint32_t limit) noexcept nogil
cdef void copy_nfa(NfaC* nfa, vector[DfaStateC]* out) noexcept nogil
cdef bint merge_ways(vector[DfaStateC]* dfa, uint32_t limit) noexcept nogil
cdef void trim(vector[DfaStateC]* dfa) noexcept nogil
cdef void minimise(vector[DfaStateC]* dfa) noexcept nogil
cdef size_t lazy_bytes(const LazyC* lazy) noexcept nogil
cdef void lazy_start(LazyC* lazy, ClosureC* scratch) noexcept nogil
cdef void lazy_state(LazyC* lazy, ClosureC* scratch, uint32_t number, DfaStateC* out) noexcept nogil
