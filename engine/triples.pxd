"""Automaton-only masks: what one state says about the vocabulary, whatever lies outside its rule.

A triple sorts the ordinary tokens that the state's own byte edges begin: *accepted* (they stay
within the rule, or end as it ends), *uncertain* (rejected within the rule, but the rule may end
inside them; what remains must be decided by the rows outside), rejected (the rest).

Representation   accepted: ids ascending, or the bitset `words` where that is smaller.
                 exits: pairs (x, c) of nodes of the token trie. At x the rule may end; at c,
                 below or equal, it can't go on. What remains of the tokens below c is their path
                 from x: nothing is copied. c = x: all tokens below x.
                 triggers: nodes at which a pattern of free text completes. What follows is the
                 arm's business, so that a triple of free text depends on the patterns alone and
                 is shared by all sets of tools.
                 Counted rules: a triple is made without bounds and filtered by the registers when
                 it is used. `ids` come in the order of their need, the iterations they begin;
                 need_ends[n] is the number of ids that need at most n; exit_counts[k] is the
                 number of iterations that end before exit k.
Invariants       I1 a triple depends on the vocabulary, the rule's digest, the state within the
                    rule, and the count where it is not filtered.
                 I2 immutable once built; shared between grammars by shared_ptr, so dropping one
                    here is always safe.
Cost             merging: O(V/32) for a bitset, else O(ids); exits cost a step each, mostly
                 rejected at the first byte.
Bounds           `max_bytes`; past it everything is dropped at once, which only costs time.
Threads          the table has a mutex of its own, never held while anything is built.
Not here         making them (triplemaker), their bytes (artifact), using them (masks).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from .hashing cimport U64MapC
from .vocabulary cimport Vocabulary

cdef struct TripleKeyC:
    uint64_t high, low        # the rule's digest; 0, 0: it has none, and nothing is shared
    uint32_t state, count     # state counted from the rule's start; saturated count, or 0

cdef struct TripleC:
    TripleKeyC key
    vector[uint32_t] words
    vector[uint32_t] ids
    vector[uint32_t] need_ends
    vector[uint32_t] exits
    vector[uint32_t] exit_counts
    vector[uint32_t] triggers

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

cdef size_t triple_bytes(TripleC* triple) noexcept nogil
cdef bint is_sound(TripleC* triple, Vocabulary vocabulary) noexcept nogil
