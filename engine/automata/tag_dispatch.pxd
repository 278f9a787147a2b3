"""The automaton of free text with triggers: Aho-Corasick over bytes and tokens, and UTF-8.

Output   states of a rule, start first, appended to the arrays. A text state is (Aho-Corasick node,
         debt, place within a character), the debt being the letters since a token that only a
         pattern may hold; at a character boundary it takes the allowed special tokens too.
         When a pattern completes, the arm's TRIGGER state follows, out of which only the arm's
         rule leads: back to the start, or to the DONE state. Completing an exclude is no edge at
         all. When patterns complete together, an exclude wins, then the longest arm.
         Of text whose characters are counted every state at a character boundary is a LOOP state.
Cost     linear in the letters of the patterns, where they share few suffixes with one another.
Source   A. Aho, M. Corasick, Efficient string matching, CACM 18(6), 1975.
"""

from libc.stdint cimport uint32_t, uint8_t

from ..grammar.lowered cimport LoweredGrammar
from ..native.pool cimport vector
from .rule_automata cimport Automata

cdef struct Utf8RangeC:
    # a range of bytes from one place within a character to the next
    uint8_t low, high, place


# Places within a UTF-8 character: 0 a boundary; 1, 2, 3 that many continuation bytes to come; then
# the four lead bytes whose first continuation byte is narrowed (RFC 3629, section 4).
cdef enum:
    BOUNDARY = 0
    AFTER_E0 = 4
    AFTER_ED = 5
    AFTER_F0 = 6
    AFTER_F4 = 7

cdef enum:
    MOST_UTF8_RANGES = 9

# the ranges of bytes that a place takes, ascending; returns their number
cdef uint32_t utf8_ranges(uint8_t place, Utf8RangeC* out) noexcept nogil
cdef void build_dispatch(Automata automata, LoweredGrammar ir, uint32_t rule) noexcept nogil
