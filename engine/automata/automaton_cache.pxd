"""Built automata by rule digest, shared by all grammars of one compiler.

Kept are rules that are built whole, refer to nothing and have no token edges: patterns, formats,
numbers, string bodies, and the bodies of texts whose characters are counted.
Their states mean the same in every grammar; the numbers of rules and of token sets would not.

Invariants   I1 immutable once added; shared by shared_ptr, so dropping is always safe.
             I2 an automaton depends on the rule's digest and on nothing else.
Bounds       `max_bytes`; past it everything is dropped at once, which only costs time.
Threads      a mutex of its own, never held while anything is built.
"""

from libc.stdint cimport uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex

from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from .dfa_state cimport DfaStateC

cdef struct AutomatonC:
    uint64_t high, low        # the rule's digest
    bint counts               # some of its states count: it is a BOUNDED_RULE's
    vector[DfaStateC] dfa

ctypedef shared_ptr[AutomatonC] AutomatonPtr

cdef class AutomatonCache:
    cdef mutex guard
    cdef U64MapC index
    cdef vector[AutomatonPtr] automata
    cdef readonly size_t max_bytes
    cdef size_t held
    cdef readonly uint64_t hits, misses, evictions
    cdef size_t bytes_held(self) noexcept nogil
    cdef AutomatonPtr find(self, uint64_t high, uint64_t low) noexcept nogil
    cdef void add(self, AutomatonPtr automaton) noexcept nogil
    cdef void clear(self) noexcept nogil
