"""JSON arrays of a schema as IR, and the cardinality of places.

The implementation documents the grammar of arrays. Cardinality is how many values satisfy the schemas that apply at
a place, as a lower and an upper bound. ``uniqueItems`` and ``minProperties`` need it: distinct items always exist if
each place has more values than items precede it.

Bounds   UNLIMITED stands for more values than any text can hold. A schema that is too complex to count gives
         0 (or 1) to UNLIMITED, and so does a place inside itself or more than ``LEVELS`` levels deep.
Cost     each place is counted once: linear in the schema; steps count on the budget.
"""

from libc.stdint cimport uint32_t

from ..builder cimport Builder
from ..reader cimport SchemaReader
from ..schema_types cimport Arrays, Numbers, Objects, SchemaType, Strings

# ``arrays`` None: any array
cdef uint32_t build_array(Builder builder, Arrays arrays) except? 0xFFFFFFFF


cdef enum:
    UNLIMITED = 1 << 30

cdef struct RangeC:
    long long least, most

cdef class Cardinality:
    cdef SchemaReader reader
    cdef bint any_order

    cdef RangeC of_place(self, tuple place, int levels) except *
    cdef RangeC counted(self, tuple place, int levels) except *
    cdef bytes key_of(self, tuple place)
    cdef RangeC of_strings(self, Strings strings) except *
    cdef automaton_of(self, Strings strings)
    cdef RangeC of_type(self, SchemaType schema_type, int kind, int levels) except *
    cdef RangeC of_numbers(self, Numbers numbers, bint whole) except *
    cdef RangeC of_array(self, Arrays arrays, int levels) except *
    cdef RangeC of_object(self, Objects objects, int levels) except *


cdef Cardinality new_cardinality(SchemaReader reader, bint any_order)
