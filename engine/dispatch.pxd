"""The automaton of free text with triggers: Aho-Corasick over bytes and tokens, and UTF-8.

Output   DraftC states, start first. A text state is a pair (Aho-Corasick node, place within a
         character); at a character boundary it takes the allowed special tokens too.
         When a pattern completes, the arm's TRIGGER state follows, out of which only the arm's
         rule leads: back to the start, or to the DONE state. Completing an exclude is no edge at
         all. When patterns complete together, an exclude wins, then the longest arm.
         Of counted text every state at a character boundary is a LOOP state.
Source   A. Aho, M. Corasick, Efficient string matching, CACM 18(6), 1975.
"""

from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from .automata cimport DraftC
from .flat cimport FlatIR

cdef void build_dispatch(
    FlatIR ir, uint32_t number, bint counted, vector[DraftC]* out
) noexcept nogil
