"""Masks made ahead of time: while a prompt is prefilled, or all there are.

From the start, rows are followed byte by byte, breadth first; each state met is a *place*. What a
place will cost is estimated by how much of the token trie its items take and by what is known of
them already, and the costliest are made first. Only one spelling of each character is followed
where a place has others: escapes are rare in what models write.

Bounds   places looked at; masks made; where others walk in the generation, an eighth of what it,
         a mask, and all looking may take.
Threads  under the arena's mutex, which is given back after each place and each mask: the scheduler
         of a worker waits for no more than one of them.
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.unordered_set cimport unordered_set

from ..earley.rows cimport Arena
from ..native.pool cimport vector
from .row_masks cimport Masks

cdef struct PlaceC:
    uint64_t cost
    uint32_t instance

cdef class Prefill:
    cdef Arena arena
    cdef Masks masks
    cdef bint escapes, leaves_out
    cdef size_t most_rows, most_bytes         # of the generation; beyond them nothing is made
    cdef uint32_t items_left                  # that may be met while it looks
    cdef vector[PlaceC] places
    cdef vector[uint32_t] todo                # instances, in the order in which they were met
    cdef size_t at                            # of ``todo``, the next to be looked at
    cdef unordered_set[uint32_t] seen
    cdef bint is_over
    # what was done
    cdef uint32_t made, error
    cdef bint is_complete                     # all places were looked at
    cdef int run(self, uint32_t places, uint32_t budget) except -1
    cdef void make(self, uint32_t instance) noexcept nogil
    cdef bint is_full(self) noexcept nogil
    cdef bint passes_limit(self) noexcept nogil
    # under the mutex
    cdef void explore(self, uint32_t most) noexcept nogil
    cdef void look(self, uint32_t most) noexcept nogil
    cdef bint follow(self, uint32_t instance, uint32_t most) noexcept nogil
    cdef uint64_t cost(self, uint32_t instance) noexcept nogil
