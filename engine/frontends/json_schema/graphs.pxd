"""Graphs whose states are told apart by what was written so far: members and items that must be
counted, or remembered as sets.

States are numbered as they are met; the first is the start. Those that can't reach the end are
left out, so that no text gets stuck in them.

Cost   states and edges; more than ``MOST_STATES`` or ``MOST_EDGES`` are refused by whoever asks.
"""

from libc.stdint cimport uint32_t

from ...native.pool cimport vector
from .text cimport Text

cdef enum:
    MOST_STATES = 10_000
    MOST_EDGES = 100_000


cdef class Graph:
    cdef Text text
    cdef dict numbers       # state -> its number
    cdef list states        # by number
    cdef vector[uint32_t] edges
    cdef set finals

    cdef uint32_t number(self, state) except? 0xFFFFFFFF
    cdef int add(self, source, uint32_t node, target) except -1
    cdef bint is_full(self)
    cdef uint32_t node(self) except? 0xFFFFFFFF


cdef Graph new_graph(Text text, start)
