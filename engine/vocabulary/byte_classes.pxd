"""Classes of bytes, so that a trie node can say at once which bytes occur below it.

Classes  one for each ASCII punctuation mark, because patterns exclude single ones; letters and
         digits share a few; MULTIBYTE stands for well-formed characters of several bytes, INVALID
         for malformed bytes. A truncated last character counts as well-formed.
Phase    the place of a text within a character: BOUNDARY, or the bytes that must follow.
"""

from libc.stdint cimport uint64_t, uint8_t

cdef enum:
    BOUNDARY = 0
    NEED_1 = 1              # continuation bytes
    NEED_2 = 2
    NEED_3 = 3
    AFTER_E0 = 4            # A0..BF, then one more
    AFTER_ED = 5            # 80..9F, then one more
    AFTER_F0 = 6            # 90..BF, then two more
    AFTER_F4 = 7            # 80..8F, then two more
    BROKEN = 8

cdef extern from *:
    """
    static const uint64_t MULTIBYTE = uint64_t{1} << 43;
    static const uint64_t INVALID = uint64_t{1} << 44;
    """
    const uint64_t MULTIBYTE
    const uint64_t INVALID

cdef inline uint64_t class_bit(uint8_t byte) noexcept nogil:
    """Return the class of an ASCII byte as one bit of a set."""
    cdef int number
    if byte <= 0x20:
        number = 4 if byte == 0x20 else 1 if byte == 9 else 2 if byte == 10 else 3 if byte == 13 else 0
    elif 48 <= byte <= 57:
        number = 5
    elif 65 <= byte <= 90:
        number = 6 if byte <= 70 else 7
    elif 97 <= byte <= 122:
        number = 8 if byte <= 102 else 9
    elif byte == 0x7F:
        number = 10
    else:
        number = 11 + byte - (33 if byte < 48 else 43 if byte < 65 else 69 if byte < 97 else 95)
    return <uint64_t>1 << number

cdef inline uint8_t low_of(uint8_t phase) noexcept nogil:
    """Return the first byte that may follow within a character."""
    return 0xA0 if phase == AFTER_E0 else 0x90 if phase == AFTER_F0 else 0x80

cdef inline uint8_t high_of(uint8_t phase) noexcept nogil:
    """Return the last byte that may follow within a character."""
    return 0x9F if phase == AFTER_ED else 0x8F if phase == AFTER_F4 else 0xBF

cdef inline uint8_t phase_after(uint8_t phase, uint8_t byte) noexcept nogil:
    """Return the phase after one more byte."""
    if phase == BROKEN:
        return BROKEN
    if phase == BOUNDARY:
        if byte < 0x80:
            return BOUNDARY
        if byte < 0xC2 or byte > 0xF4:
            return BROKEN
        if byte < 0xE0:
            return NEED_1
        if byte < 0xF0:
            return AFTER_E0 if byte == 0xE0 else AFTER_ED if byte == 0xED else NEED_2
        return AFTER_F0 if byte == 0xF0 else AFTER_F4 if byte == 0xF4 else NEED_3
    if byte < low_of(phase) or byte > high_of(phase):
        return BROKEN
    if phase == NEED_1:
        return BOUNDARY
    return NEED_2 if phase == NEED_3 or phase >= AFTER_F0 else NEED_1
