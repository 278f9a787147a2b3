"""Masks over logits: see the header file."""

from libc.math cimport INFINITY
from libc.stdint cimport uint32_t
from libcpp.algorithm cimport fill

cdef float RULED_OUT = -INFINITY
# a word whose tokens are all allowed
cdef uint32_t ALLOWED = ~<uint32_t>0


def apply_bitmask(float[:, ::1] logits, const int[:, ::1] bitmask):
    """Sets the logits of tokens that are not allowed to minus infinity, in place.

    Args:
        logits: writable C-contiguous buffer of float32, shape (rows, V).
        bitmask: C-contiguous buffer of int32, shape (rows, at least ceil(V / 32)); bit t % 32 of word
            t // 32 says whether token t is allowed. Bits past V are not looked at.

    Raises:
        ValueError: wrong shape or dtype.
    """
    cdef Py_ssize_t row, rows = logits.shape[0], width = logits.shape[1]
    if bitmask.shape[0] != rows or bitmask.shape[1] * 32 < width:
        shapes = f"({bitmask.shape[0]}, {bitmask.shape[1]}) for logits of ({rows}, {width})"
        raise ValueError(f"a bitmask of shape {shapes}")
    if not width:
        return
    with nogil:
        for row in range(rows):
            rule_out(&logits[row, 0], <const uint32_t*>&bitmask[row, 0], width)


cdef void rule_out(float* logits, const uint32_t* words, Py_ssize_t width) noexcept nogil:
    cdef Py_ssize_t k, t, last
    cdef uint32_t word
    for k in range((width + 31) // 32):
        word = words[k]
        if word == ALLOWED:
            continue
        last = 32 * k + 32 if 32 * k + 32 < width else width
        if word == 0:
            fill(logits + 32 * k, logits + last, RULED_OUT)
            continue
        for t in range(32 * k, last):
            if not word & 1:
                logits[t] = RULED_OUT
            word >>= 1
