"""Held bitmasks: see the header file."""

from libc.string cimport memset


cdef class Bitmask:
    """Takes the place of its buffer in every call that takes a bitmask, and spares it the look.

    Args:
        buffer: writable C-contiguous buffer of int32, shape (rows, words); held as long as this.

    Raises:
        TypeError, ValueError: another dtype, shape or layout.
    """

    def __init__(self, buffer not None):
        self.rows = buffer
        self.height = self.rows.shape[0]

    def allow_all(self):
        """Sets every bit."""
        if self.rows.shape[0] and self.rows.shape[1]:
            memset(&self.rows[0, 0], 0xff, 4 * self.rows.shape[0] * self.rows.shape[1])


cdef int[:, ::1] rows_of(object bitmask):
    """
    Raises:
        TypeError, ValueError: it is no bitmask.
    """
    if type(bitmask) is Bitmask:
        return (<Bitmask>bitmask).rows
    if bitmask is None:
        raise TypeError("a bitmask is needed, not None")
    return bitmask
