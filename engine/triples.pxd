"""Automaton-only masks: what one automaton state says about the vocabulary, whatever lies outside its rule.

A triple sorts the ordinary tokens that the state's own byte edges begin: *accepted* (they stay within the rule, or end as it
ends), *uncertain* (the rule ends inside the token; what remains must be decided by the rows outside), rejected (the rest).

Representation   accepted: ascending ids, or a bitset where that is smaller. exits: nodes of the token trie at which the
                 rule has ended and below which tokens remain; what remains of an uncertain token is its path below an
                 exit, so the remainders are subtrees of the trie itself and nothing is copied. A token may be both.
Invariants       I1 a triple depends on (digest of the rule, state within the rule, saturated count, vocabulary) only.
                 I2 immutable once built; shared between grammars by shared_ptr, so dropping one here is always safe.
Cost             merging: O(V/32) for a bitset, else O(ids); exits cost a walk below each.
Bounds           `max_bytes`; when it is passed everything is dropped at once, which only costs time.
Threads          the table has a mutex of its own, never held while anything is built.
Not here         computing them (masks), their bytes (artifact).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from .hashing cimport U64MapC

cdef struct TripleKeyC:
    uint64_t high, low        # the rule's digest; 0, 0: it has none and its triples stay in their grammar
    uint32_t state, count     # state counted from the rule's start; saturated count

cdef struct TripleC:
    TripleKeyC key
    vector[uint32_t] words    # bitset, empty if `ids` is used
    vector[uint32_t] ids
    vector[uint32_t] exits

ctypedef shared_ptr[TripleC] TriplePtr

cdef class TripleTable:
    cdef mutex guard
    cdef U64MapC index
    cdef vector[TriplePtr] triples
    cdef vector[uint32_t] fresh               # made here since the last `take_fresh`
    cdef readonly size_t max_bytes
    cdef size_t held
    cdef readonly uint64_t hits, misses, evictions
    cdef TriplePtr find(self, TripleKeyC key) noexcept nogil
    cdef void add(self, TriplePtr triple, bint is_fresh) noexcept nogil
    cdef void clear(self) noexcept nogil
