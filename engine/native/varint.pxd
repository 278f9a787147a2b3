"""Variable-length numbers: 7 bits a byte, the lowest first; the top bit is set in all but the last
byte.

Cost      a step for each byte.
Threads   a reader belongs to its caller.
"""

from libc.stdint cimport uint64_t, uint8_t

from .pool cimport vector

cdef enum:
    NUMBER_BYTES = 5            # limit on the bytes of a number

cdef struct ReaderC:
    const uint8_t* at
    const uint8_t* end

cdef inline void put(vector[uint8_t]* out, uint64_t number) noexcept nogil:
    while number >= 0x80:
        out.push_back(<uint8_t>(number | 0x80))
        number >>= 7
    out.push_back(<uint8_t>number)

cdef inline bint take_long(ReaderC* left, uint64_t* out) noexcept nogil:
    cdef uint64_t number = 0
    cdef int k
    cdef uint8_t byte
    for k in range(NUMBER_BYTES):
        if left.at == left.end:
            return False
        byte = left.at[0]
        left.at += 1
        number |= <uint64_t>(byte & 0x7F) << (7 * k)
        if not byte & 0x80:
            out[0] = number
            return True
    return False

cdef inline bint take(ReaderC* left, uint64_t* out) noexcept nogil:
    """Read a number of at most 5 bytes; most have one."""
    if left.at < left.end and left.at[0] < 0x80:
        out[0] = left.at[0]
        left.at += 1
        return True
    return take_long(left, out)
