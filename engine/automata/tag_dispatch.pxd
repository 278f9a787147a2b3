"""The automaton of free text with triggers: Aho-Corasick over bytes and tokens, and UTF-8.

States   A text state is (trie node, debt, place within a character). The debt counts the letters
         since a token that only a pattern may contain. At a character boundary a text state also
         takes the allowed special tokens. A completed pattern leads to a TRIGGER state, whose only
         edge is the arm's rule: back to the start, or to the DONE state. Completing an exclude is
         no edge. If patterns complete together, an exclude wins, then the longest arm. In text
         whose characters are counted, each state at a boundary is a LOOP state.
         An anchored DISPATCH is the trie alone: its states are nodes, and one where a pattern
         completes has an edge for the arm's rule and those of longer patterns.
Cost     linear in the letters of the patterns, if they share few suffixes.
Source   A. Aho, M. Corasick, Efficient string matching, CACM 18(6), 1975.
"""

from libc.stdint cimport uint32_t, uint8_t

from ..grammar.lowered cimport LoweredGrammar
from ..native.pool cimport vector
from .rule_automata cimport Automata

cdef struct Utf8RangeC:
    # a range of bytes, and the place within a character after it
    uint8_t low, high, place


# Places within a UTF-8 character: 0 a boundary; 1, 2, 3 the continuation bytes to come; then the
# four lead bytes with a restricted first continuation byte (RFC 3629, section 4).
cdef enum:
    BOUNDARY = 0
    AFTER_E0 = 4
    AFTER_ED = 5
    AFTER_F0 = 6
    AFTER_F4 = 7

cdef enum:
    MAX_UTF8_RANGES = 9

# List the ranges of bytes that may follow a place, ascending; return their number.
cdef uint32_t utf8_ranges(uint8_t place, Utf8RangeC* out) noexcept nogil
# Build the rule of a DISPATCH. False after a limit (``Automata.error``).
cdef bint build_dispatch(Automata automata, LoweredGrammar ir, uint32_t rule) noexcept nogil
# Build the rule of an anchored DISPATCH.
cdef void build_anchored(Automata automata, LoweredGrammar ir, uint32_t rule) noexcept nogil
