"""Masks of instances: for every item its triple, and for what is uncertain a walk over rows.

    mask(instance) = union over its items of
                         accepted(item) + {tokens below an exit that the rows outside take}
                     + the tokens on token edges
                     + the stop tokens where the text may end

The rows outside an item are the instance that its completion leaves behind. Earley sets are
unions of their items' futures, so the union over items is exact.

Representation   a finished mask is ids or a bitset, whichever is smaller; kept by saturated
                 instance (rows, I5).
Invariants       I1 mask bit = would accept_token succeed.
                 I2 dropping kept masks only costs time.
Counted rules    whose triples are filtered: a token counts only if its need fits what is left.
                 A token that is cut by the upper bound could still be split between the rule and
                 what follows; where those two share no byte, it can't.
Cost             a mask seen before: one copy of V/8 bytes. A new one: the triples that are new,
                 then O(V/32) or less for each item, then the exits.
Threads          under the arena's mutex.
Not here         what a triple is (triples), rows (rows).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from .hashing cimport U64MapC
from .rows cimport Arena, ItemC
from .triplemaker cimport TripleMaker
from .triples cimport TripleC, TriplePtr, TripleTable
from .vocabulary cimport Vocabulary

cdef struct MaskC:
    vector[uint32_t] words    # bitset, empty if `ids` is used
    vector[uint32_t] ids

cdef class Masks:
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef TripleTable table                    # None: nothing is shared between grammars
    cdef TripleMaker maker
    cdef bint keep
    cdef readonly size_t max_bytes
    cdef size_t held
    cdef readonly uint64_t made, reused
    cdef vector[uint64_t] digests             # two words by rule
    cdef U64MapC triple_ids, mask_ids, exit_ids
    cdef vector[TriplePtr] triples
    cdef vector[MaskC] kept
    cdef vector[vector[uint32_t]] exit_tokens
    cdef vector[uint32_t] walk_stack, scratch_words, scratch_ids, filtered_words
    cdef void fill(self, uint32_t instance, uint32_t* out) noexcept nogil
    cdef void fill_stop(self, uint32_t* out) noexcept nogil
    cdef void compute(self, uint32_t instance) noexcept nogil
    cdef void add_item(self, uint32_t instance, ItemC item) noexcept nogil
    cdef void add_filtered(self, uint32_t instance, ItemC item, uint32_t outside) noexcept nogil
    cdef void add_needs(self, TripleC* triple, uint32_t room) noexcept nogil
    cdef void add_triggers(self, uint32_t instance, TripleC* triple) noexcept nogil
    cdef void add_tokens(self, uint32_t instance, uint32_t state) noexcept nogil
    cdef void add_exits(
        self, uint32_t number, uint32_t outside, uint32_t least, uint32_t most
    ) noexcept nogil
    cdef bint splits(self, uint32_t rule, uint32_t outside) noexcept nogil
    cdef uint32_t triple(self, uint32_t state, uint32_t count, bint filtered) noexcept nogil
    cdef void try_exit(
        self, uint32_t outside, uint32_t x, uint32_t c, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void walk(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void visit(self, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void set_bits(self, vector[uint32_t]* ids) noexcept nogil
