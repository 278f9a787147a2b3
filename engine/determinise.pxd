"""Subset construction, trimming and minimisation of one rule's automaton.

Input    an ``NfaC`` with start 0 and final 1.
Output   DraftC states, start first, in breadth-first order.

Symbols (rules, token sets) are letters like bytes; they are ordered by first appearance in the
input, so that the output depends on the rule's content and not on how its grammar numbers rules.
"""

from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from .automata cimport DraftC
from .nfa cimport NfaC

cdef bint determinise(NfaC* nfa, vector[DraftC]* out, uint32_t limit) noexcept nogil
cdef void copy_nfa(NfaC* nfa, vector[DraftC]* out) noexcept nogil
cdef void trim(vector[DraftC]* drafts) noexcept nogil
cdef void minimise(vector[DraftC]* drafts) noexcept nogil
