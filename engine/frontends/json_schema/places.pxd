"""What one kind of value needs to know of the whole schema: the nodes of the places inside it.

Not here   how places become nodes (builder).
"""

from libc.stdint cimport uint32_t

from .reader cimport Reader
from .schema_types cimport Located
from .text cimport Text


cdef class Places:
    """One schema document on its way into one grammar."""
    cdef Reader reader
    cdef Text text
    cdef bint any_order     # listed keys stand in any order
    cdef bint extra_last    # additional keys stand behind them

    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF
    cdef uint32_t schema(self, schema, Located above, str keyword, key) except? 0xFFFFFFFF
