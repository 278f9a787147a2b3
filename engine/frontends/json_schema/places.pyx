"""Places and their nodes: see the header file."""

from libc.stdint cimport uint32_t


cdef class Places:
    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF:
        """The node of a place; its rule may still wait for its definition."""
        raise NotImplementedError
