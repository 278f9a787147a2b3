"""A bitmask whose memory is held.

Representation   the view of a caller's buffer: int32, shape (rows, words), C-contiguous. Every call
                 that takes a bitmask takes a held one too.
Cost             to look at a buffer and to take a slice of an array costs more than to copy a mask
                 that is there: 5-15 us where caches are cold, as after a model's forward pass.
Not here         what a mask says (masks), and who allocates its memory.
"""

cdef class Bitmask:
    cdef int[:, ::1] rows
    cdef readonly Py_ssize_t height     # how many rows

cdef int[:, ::1] rows_of(object bitmask)
