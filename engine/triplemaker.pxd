"""Making triples: walking the token trie over one automaton, with nothing outside it.

Two walks give the same answer. Over *rows* (origin BOTTOM): any automaton, references included.
Over *states*: rules that are deterministic and refer to nothing (string bodies, patterns, free
text), by dense tables of 256 targets; these are the automata that visit most of the trie, and a
table step is several times cheaper than a row's.

Cost      one step for each trie node visited; a rejected byte skips its subtree.
Threads   under the arena's mutex.
Not here  what a triple means (triples), the rows outside (masks).
"""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from .hashing cimport U64MapC
from .rows cimport Arena
from .triples cimport TripleC, TriplePtr
from .vocabulary cimport Vocabulary

cdef class TripleMaker:
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef U64MapC table_ids                # state -> number of its dense table
    cdef vector[uint32_t] tables          # 256 targets each, 0: none
    cdef vector[uint8_t] pure             # by rule: 0 unknown, 1 no, 2 yes
    # one path of a walk, by depth
    cdef vector[uint32_t] instances, nodes_at, tables_at, counts
    cdef vector[uint8_t] is_exit
    cdef vector[uint32_t] needs           # of the accepted ids, in order
    cdef bint is_pure(self, uint32_t rule) noexcept nogil
    cdef bint is_plain_state(self, uint32_t s) noexcept nogil
    cdef bint is_filtered(self, uint32_t rule) noexcept nogil
    cdef TriplePtr make(self, uint32_t state, uint32_t count, bint filtered) noexcept nogil
    cdef void walk_rows(self, uint32_t state, uint32_t count, TripleC* out) noexcept nogil
    cdef void walk_states(self, uint32_t state, TripleC* out) noexcept nogil
    cdef void take(self, uint32_t node, uint32_t need, TripleC* out) noexcept nogil
    cdef void leave(self, uint32_t node, uint32_t depth, TripleC* out) noexcept nogil
    cdef uint32_t table(self, uint32_t state) noexcept nogil
    cdef void pack(self, TripleC* out, bint by_need) noexcept nogil
