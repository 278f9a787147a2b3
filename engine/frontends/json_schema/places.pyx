"""Places and their nodes: see the header file."""

from libc.stdint cimport uint32_t

from .schema_types cimport Located


cdef class Places:
    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF:
        """The node of a place; its rule may still wait for its definition."""
        raise NotImplementedError

    cdef uint32_t schema(self, schema, Located above, str keyword, key) except? 0xFFFFFFFF:
        """As ``place``, for one schema of another one's keyword."""
        raise NotImplementedError
