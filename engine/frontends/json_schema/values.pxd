"""Values of enum and const as they are written: strings in any spelling, objects in the order of
their keys.

A number is written as Python writes it, with any zeros behind a point after its last digit; where any
items of the schema must differ, without exponent: values are counted by their digits (engine.distinct).
"""

from libc.stdint cimport uint32_t

from ...native.pool cimport vector
from .text cimport Text

cdef list once(list texts)
cdef int add_values(Text text, list values, vector[uint32_t]* alternatives) except -1
