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

# Build the rule of a DISPATCH. False after a limit (``Automata.error``).
cdef bint build_dispatch(Automata automata, LoweredGrammar ir, uint32_t rule) noexcept nogil
# Build the rule of an anchored DISPATCH.
cdef void build_anchored(Automata automata, LoweredGrammar ir, uint32_t rule) noexcept nogil
