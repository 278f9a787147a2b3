"""Masks over logits: see the header file."""

from libc.stdint cimport uint32_t, uintptr_t

from .bitmask cimport rows_of

cdef extern from "masks/logits.h" namespace "logits":
    void rule_out(float* row, const uint32_t* words, size_t width) noexcept nogil

# Logits that are written GIL in hand: about 0.1 ms. Who lets go of it may get it back only milliseconds later,
# when other threads want it, too.
cdef Py_ssize_t MOST_WITH_GIL = 1 << 20


def apply_bitmask(float[:, ::1] logits not None, bitmask):
    """Sets the logits of tokens that are not allowed to minus infinity, in place.

    Args:
        logits: writable C-contiguous buffer of float32, shape (rows, V).
        bitmask: C-contiguous buffer of int32, shape (rows, at least ceil(V / 32)); bit t % 32 of word
            t // 32 says whether token t is allowed. Bits past V are not looked at.

    Raises:
        ValueError: wrong shape or dtype.
    """
    cdef float* first = &logits[0, 0] if logits.shape[0] and logits.shape[1] else NULL
    lay(first, logits.shape[0], logits.shape[1], rows_of(bitmask))


def apply_bitmask_at(uintptr_t address, Py_ssize_t rows, Py_ssize_t width, bitmask):
    """``apply_bitmask`` for a framework's tensor: to take its buffer can cost as much as the rest.

    Args:
        address: of writable memory, rows * width float32 one after the other, which nobody frees
            or moves meanwhile. This is not checked, and can't be.
        rows, width: the logits' shape.
        bitmask: as for ``apply_bitmask``.

    Raises:
        ValueError: a bitmask of another shape or dtype, or no memory.
    """
    if rows < 0 or width < 0 or (address == 0 and rows and width):
        raise ValueError(f"logits of ({rows}, {width}) at address {address}")
    lay(<float*>address, rows, width, rows_of(bitmask))


cdef int lay(float* logits, Py_ssize_t rows, Py_ssize_t width, int[:, ::1] bitmask) except -1:
    if bitmask.shape[0] != rows or bitmask.shape[1] * 32 < width:
        shapes = f"({bitmask.shape[0]}, {bitmask.shape[1]}) for logits of ({rows}, {width})"
        raise ValueError(f"a bitmask of shape {shapes}")
    if not width:
        return 0
    if rows * width <= MOST_WITH_GIL:
        rule_out_rows(logits, width, bitmask)
    else:
        with nogil:
            rule_out_rows(logits, width, bitmask)
    return 0


cdef void rule_out_rows(float* logits, Py_ssize_t width, int[:, ::1] bitmask) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(bitmask.shape[0]):
        rule_out(logits + row * width, <const uint32_t*>&bitmask[row, 0], width)
