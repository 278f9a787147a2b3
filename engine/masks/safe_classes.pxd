"""Classes of bytes that a state of a rule's automaton always takes: see byteclasses.

Where a state's safe classes hold all that occur below a node of the token trie, and both stand at
the same place within a character, every token of the subtree is accepted, unseen. Most states of
patterns and string bodies take most bytes and stay, or move among states that do.

Cost  a few passes over the edges of a rule that was built whole.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..automata.rule_automata cimport Automata
from ..native.pool cimport vector

cdef enum:
    SAFE_STATES = 256       # a rule with more would take too long: see loop_classes
    ANY_PHASE = 9           # of a state with safe classes of ASCII alone

cdef struct SafeC:
    uint64_t classes
    uint8_t phase

cdef void safe_states(Automata automata, uint32_t rule, vector[SafeC]* out) noexcept nogil
cdef SafeC safe_loop(Automata automata, uint32_t state) noexcept nogil
