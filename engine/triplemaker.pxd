"""Making triples: walking the token trie over one pure rule, with nothing outside it.

A rule is pure if it is deterministic over bytes and refers to nothing, but for the arms of free
text: string bodies, patterns, numbers, white space, free text. These are the automata that visit
most of the trie, and what they say is the same in every grammar. Everything else is walked by the
rows themselves (masks).

Cost      one table look-up for each trie node visited; a rejected byte skips its subtree.
Threads   under the arena's mutex.
Not here  what a triple means (triples), the rows outside (masks).
"""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from .automata cimport Automata
from .hashing cimport U64MapC
from .triples cimport TripleC, TriplePtr
from .vocabulary cimport Vocabulary

cdef class TripleMaker:
    cdef Automata automata
    cdef Vocabulary vocabulary
    cdef U64MapC table_ids                # state -> number of its dense table
    cdef vector[uint32_t] tables          # 256 targets each, 0: none
    # one path of a walk, by depth
    cdef vector[uint32_t] nodes_at, tables_at, counts, noted
    cdef vector[uint8_t] is_exit
    cdef vector[uint32_t] needs           # of the accepted ids, in order
    cdef TriplePtr make(self, uint32_t state, uint32_t node, bint filtered) noexcept nogil
    cdef void walk(self, uint32_t state, uint32_t top, TripleC* out) noexcept nogil
    cdef void take(self, uint32_t node, uint32_t need, TripleC* out) noexcept nogil
    cdef void leave(self, uint32_t node, uint32_t top_depth, TripleC* out) noexcept nogil
    cdef uint32_t table(self, uint32_t state) noexcept nogil
    cdef void pack(self, TripleC* out, bint by_need) noexcept nogil
    cdef void sort_exits(self, TripleC* out) noexcept nogil
