"""An automaton's bytes, as they lie in a store.

    artifact   magic "SYA1" | version u32 (artifact_version) | nanoseconds that building took u64
               | number of states | states
    state      flags | how many edges; each edge's distance from the byte behind the last one's high, its
               high from its low, and its target
    number     as in varint; fixed ones lie as the processor has them

Shared are automata as tables keep them (drafttable) of which each state has byte edges alone, in order.

Invariants   I1 what is taken has a state at least, every target is one of its states, edges ascend, and
                flags are those of plain rules. It may still be another rule's: that it is not is the
                business of the store's MAC.
Cost         linear in the edges.
"""

from libc.stdint cimport uint8_t, uint64_t

from .draft cimport DraftC
from .pool cimport vector

# False if it is none that these bytes can say
cdef bint put_automaton(vector[uint8_t]* out, const vector[DraftC]* drafts, uint64_t took_ns) noexcept nogil
# False where anything is off
cdef bint take_automaton(
    const uint8_t* data, size_t size, vector[DraftC]* out, uint64_t* took_ns) noexcept nogil
