"""JSON arrays of a schema as IR; the implementation documents their dfa."""

from libc.stdint cimport uint32_t

from ..builder cimport Builder
from ..schema_types cimport Arrays

# ``arrays`` None: any array
cdef uint32_t build_array(Builder builder, Arrays arrays) except? 0xFFFFFFFF
