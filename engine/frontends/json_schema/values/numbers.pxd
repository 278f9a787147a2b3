"""JSON numbers of a schema as IR; the implementation documents their dfa."""

from libc.stdint cimport uint32_t

from ..json_text cimport JsonText
from ..schema_types cimport Numbers

cdef uint32_t any_integer(JsonText text) except? 0xFFFFFFFF
cdef uint32_t any_number(JsonText text) except? 0xFFFFFFFF
# ``numbers`` None: any integer, any number
cdef uint32_t build_integer(JsonText text, Numbers numbers) except? 0xFFFFFFFF
cdef uint32_t build_number(JsonText text, Numbers numbers) except? 0xFFFFFFFF
