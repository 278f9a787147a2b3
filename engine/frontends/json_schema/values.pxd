"""Values of enum and const as they are written: strings in any spelling, objects in the order of
their keys.

A number is written as Python writes it; one that is whole may be written with or without ``.0``.
"""

from libc.stdint cimport uint32_t

from .text cimport Text
from ...pool cimport vector

cdef list once(list texts)
cdef int add_values(Text text, list values, vector[uint32_t]* alternatives) except -1
