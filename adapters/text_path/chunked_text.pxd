"""Events of texts, and the bodies in chunks of HTTP/1.1 that take them.

Invariant   the bytes of an event are made once, as those of its chunk.
Not here    the other events of an answer (app.writers), connections (app.server).
"""

cdef class TextEvent:
    cdef tuple parts
    cdef Py_ssize_t size              # of the parts
    cdef object quote

    cdef bytes of(self, str text, bint is_chunk)

cdef class ChunkedBody:
    cdef readonly object transport
    cdef public object put
    cdef public object source
    cdef public bint has_written

    cdef int write_chunk(self, bytes chunk) except -1
