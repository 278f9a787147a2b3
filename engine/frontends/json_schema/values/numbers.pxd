"""JSON numbers of a schema as IR; the implementation documents their dfa."""

from libc.stdint cimport uint32_t

from ..json_text cimport JsonText
from ..schema_types cimport Numbers

cdef uint32_t any_number(JsonText text, bint whole) except? 0xFFFFFFFF
# ``numbers`` None: any number
cdef uint32_t build_number(JsonText text, Numbers numbers, bint whole) except? 0xFFFFFFFF
cdef period_of(list steps)
