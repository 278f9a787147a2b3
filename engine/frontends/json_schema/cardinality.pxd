"""How many values fit a place: bounds from below and above.

Items that must differ can always be found if each place has more values than items stand before it.

Bounds   LOTS: more than any text holds items. Where a schema says too much to count: from 0 or 1 to LOTS.
         A place within itself, and one below ``LEVELS`` levels, may have any number.
Cost     linear in the schema: a place is counted once. Counted steps (budget).
"""

from .reader cimport Reader
from .schema_types cimport Arrays, Objects, Strings

cdef enum:
    LOTS = 1 << 30

cdef struct RangeC:
    long long least, most

cdef class Cardinality:
    cdef Reader reader
    cdef bint any_order

    cdef RangeC of_place(self, tuple place, int levels) except *
    cdef RangeC counted(self, tuple place, int levels) except *
    cdef tuple key_of(self, tuple place)
    cdef RangeC of_strings(self, Strings strings) except *
    cdef automaton_of(self, Strings strings)
    cdef RangeC of_type(self, shape, int kind, int levels) except *
    cdef RangeC of_numbers(self, numbers, bint whole) except *
    cdef RangeC of_array(self, Arrays arrays, int levels) except *
    cdef RangeC of_object(self, Objects objects, int levels) except *


cdef Cardinality new_cardinality(Reader reader, bint any_order)
