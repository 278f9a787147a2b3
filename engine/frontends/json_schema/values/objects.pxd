"""JSON objects of a schema as IR; the implementation documents their dfa."""

from libc.stdint cimport uint32_t

from ..builder cimport Builder
from ..schema_types cimport Objects

# ``objects`` None: any object
cdef uint32_t build_object(Builder builder, Objects objects) except? 0xFFFFFFFF
