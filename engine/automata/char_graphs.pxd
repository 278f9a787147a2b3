"""Large graphs of characters, built state by state.

A pattern of 255 characters in every spelling of a JSON string has 13,000 states, and an answer visits
a few hundred of them.

States       A state between two characters is a set of the graph's states, mostly one. When it is
             visited, it gets its edges and all states within the next character. Where these lead is
             a *step*: the automaton of one character, whose ends are sets of targets. States with
             the same classes take the same step, so a chain of 255 has one. Equal states within
             characters are one.
Distances    The characters up to the nearest end, for graphs with a bounded length (`onward` in
             rule_automata), are computed for the whole graph: it has few states and edges beside its
             spellings.
Invariants   I1 spellings of characters are prefix-free, so no text is between characters and within
                one. Graphs that mix CHARS and JSON_CHARS are not built here (lowered).
             I2 edges that lead to no end, or whose class is empty, are left out.
             I3 `position` of a state between characters is the number of its set, and set {q} has
                number q in every grammar with an equal rule.
Cost         a state: one look-up of its step, and a copy of it.
Threads      under the arena's mutex.
Not here     which graphs are large (lowered), spellings (determinize).
"""

from libc.stdint cimport uint32_t

from ..grammar.lowered cimport LoweredGrammar
from .rule_automata cimport Automata, CharGraphC

cdef size_t char_graph_bytes(const CharGraphC* graph) noexcept nogil
# Add a rule's graph and its start state.
cdef void build_char_graph(Automata automata, uint32_t rule) noexcept nogil
cdef void grow_char_graph(Automata automata, uint32_t state) noexcept nogil
cdef uint32_t state_between(
    Automata automata, uint32_t rule, uint32_t number, const uint32_t* members, uint32_t n
) noexcept nogil
