"""Spellings of characters as automaton fragments: see the header file."""

from libc.stdint cimport uint32_t

from ..automata.nfa cimport BYTE_EDGE, NfaC, nfa_edge, nfa_state

cdef uint32_t NONE = 0xFFFFFFFF


cdef void emit_utf8(NfaC* nfa, uint32_t low, uint32_t high, uint32_t s, uint32_t t) noexcept nogil:
    """One code point of low..high in UTF-8; split where the encoded length changes."""
    cdef uint32_t bounds[4]
    cdef uint32_t k, end
    bounds[0], bounds[1], bounds[2], bounds[3] = 0x7F, 0x7FF, 0xFFFF, 0x10FFFF
    for k in range(4):
        if low > high:
            return
        if low <= bounds[k]:
            end = min(high, bounds[k])
            if k == 0:
                nfa_edge(nfa, s, BYTE_EDGE, low, end, t)
            else:
                utf8_of_length(nfa, low, end, k, s, t)
            low = end + 1


cdef void utf8_of_length(
    NfaC* nfa, uint32_t low, uint32_t high, uint32_t more, uint32_t s, uint32_t t
) noexcept nogil:
    """A lead byte and ``more`` continuation bytes."""
    cdef uint32_t lead = 0xC0 if more == 1 else 0xE0 if more == 2 else 0xF0
    digits(nfa, low, high, more, 6, lead, s, t)


cdef void digits(
    NfaC* nfa, uint32_t low, uint32_t high, uint32_t more, uint32_t bits, uint32_t mark, uint32_t s, uint32_t t
) noexcept nogil:
    """Numbers low..high written in 1 + more digits of ``bits`` bits.

    The first digit carries ``mark``, the rest 0x80.
    """
    cdef uint32_t shift = more * bits
    cdef uint32_t first = low >> shift, last = high >> shift, rest = (1 << shift) - 1, middle
    if more == 0:
        nfa_edge(nfa, s, BYTE_EDGE, mark + low, mark + high, t)
        return
    if first == last:
        middle = nfa_state(nfa)
        nfa_edge(nfa, s, BYTE_EDGE, mark + first, mark + first, middle)
        digits(nfa, low & rest, high & rest, more - 1, bits, 0x80, middle, t)
        return
    if low & rest:
        digits(nfa, low, low | rest, more, bits, mark, s, t)
        first += 1
    if (high & rest) != rest:
        digits(nfa, high & ~rest, high, more, bits, mark, s, t)
        last -= 1
    if first <= last and last != NONE:
        middle = nfa_state(nfa)
        nfa_edge(nfa, s, BYTE_EDGE, mark + first, mark + last, middle)
        digits(nfa, 0, rest, more - 1, bits, 0x80, middle, t)


cdef void hex_digit(NfaC* nfa, uint32_t low, uint32_t high, uint32_t s, uint32_t t) noexcept nogil:
    """One hexadecimal digit low..high in either case."""
    if low < 10:
        nfa_edge(nfa, s, BYTE_EDGE, 0x30 + low, 0x30 + min(high, <uint32_t>9), t)
    if high > 9:
        low = max(low, <uint32_t>10) - 10
        nfa_edge(nfa, s, BYTE_EDGE, 0x41 + low, 0x41 + high - 10, t)
        nfa_edge(nfa, s, BYTE_EDGE, 0x61 + low, 0x61 + high - 10, t)


cdef void hex_number(
    NfaC* nfa, uint32_t low, uint32_t high, uint32_t more, uint32_t s, uint32_t t
) noexcept nogil:
    """Numbers low..high in 1 + more hexadecimal digits."""
    cdef uint32_t shift = 4 * more
    cdef uint32_t first = low >> shift, last = high >> shift, rest = (1 << shift) - 1, middle
    if more == 0:
        hex_digit(nfa, low, high, s, t)
        return
    if first == last:
        middle = nfa_state(nfa)
        hex_digit(nfa, first, first, s, middle)
        hex_number(nfa, low & rest, high & rest, more - 1, middle, t)
        return
    if low & rest:
        hex_number(nfa, low, low | rest, more, s, t)
        first += 1
    if (high & rest) != rest:
        hex_number(nfa, high & ~rest, high, more, s, t)
        last -= 1
    if first <= last and last != NONE:
        middle = nfa_state(nfa)
        hex_digit(nfa, first, last, s, middle)
        hex_number(nfa, 0, rest, more - 1, middle, t)


cdef uint32_t literal(NfaC* nfa, uint32_t s, uint32_t byte) noexcept nogil:
    cdef uint32_t t = nfa_state(nfa)
    nfa_edge(nfa, s, BYTE_EDGE, byte, byte, t)
    return t


cdef uint32_t short_escape(uint32_t c) noexcept nogil:
    """The byte behind the backslash, or NONE."""
    if c == 0x22 or c == 0x5C or c == 0x2F:
        return c
    if c == 0x08:
        return 0x62
    if c == 0x0C:
        return 0x66
    if c == 0x0A:
        return 0x6E
    if c == 0x0D:
        return 0x72
    if c == 0x09:
        return 0x74
    return NONE


cdef void raw_range(NfaC* nfa, uint32_t low, uint32_t high, uint32_t s, uint32_t t) noexcept nogil:
    """The characters of low..high that may stand for themselves."""
    cdef uint32_t gaps[3][2]
    cdef uint32_t k
    gaps[0][0], gaps[0][1] = 0x00, 0x1F
    gaps[1][0], gaps[1][1] = 0x22, 0x22
    gaps[2][0], gaps[2][1] = 0x5C, 0x5C
    for k in range(3):
        if low > high:
            return
        if low < gaps[k][0]:
            emit_utf8(nfa, low, min(high, gaps[k][0] - 1), s, t)
        if low <= gaps[k][1]:
            low = gaps[k][1] + 1
    if low <= high:
        emit_utf8(nfa, low, high, s, t)


cdef void astral(NfaC* nfa, uint32_t low, uint32_t high, uint32_t u, uint32_t t) noexcept nogil:
    """Surrogate pairs for low..high, both above U+FFFF.

    ``u`` is the state behind the first ``\\u``.
    """
    cdef uint32_t first = (low - 0x10000) >> 10, last = (high - 0x10000) >> 10
    cdef uint32_t from_low = (low - 0x10000) & 0x3FF, to_high = (high - 0x10000) & 0x3FF
    if first == last:
        pair(nfa, first, first, from_low, to_high, u, t)
        return
    if from_low:
        pair(nfa, first, first, from_low, 0x3FF, u, t)
        first += 1
    if to_high != 0x3FF:
        pair(nfa, last, last, 0, to_high, u, t)
        last -= 1
    if first <= last and last != NONE:
        pair(nfa, first, last, 0, 0x3FF, u, t)


cdef void pair(
    NfaC* nfa, uint32_t first, uint32_t last, uint32_t low, uint32_t high, uint32_t u, uint32_t t
) noexcept nogil:
    cdef uint32_t middle = nfa_state(nfa)
    hex_number(nfa, 0xD800 + first, 0xD800 + last, 3, u, middle)
    middle = literal(nfa, middle, 0x5C)
    middle = literal(nfa, middle, 0x75)
    hex_number(nfa, 0xDC00 + low, 0xDC00 + high, 3, middle, t)


cdef void emit_json_char(
    NfaC* nfa, uint32_t* ranges, uint32_t n, uint32_t s, uint32_t t
) noexcept nogil:
    """One character out of n (low, high) ranges, in any spelling legal inside a JSON string."""
    cdef uint32_t k, c, low, high
    cdef uint32_t escape = literal(nfa, s, 0x5C)
    cdef uint32_t u = literal(nfa, escape, 0x75)
    for k in range(n):
        low, high = ranges[2 * k], ranges[2 * k + 1]
        raw_range(nfa, low, high, s, t)
        for c in range(low, min(high, <uint32_t>0x5C) + 1):
            if short_escape(c) != NONE:
                nfa_edge(nfa, escape, BYTE_EDGE, short_escape(c), short_escape(c), t)
        if low <= 0xFFFF:
            hex_number(nfa, low, min(high, <uint32_t>0xFFFF), 3, u, t)
        if high > 0xFFFF:
            astral(nfa, max(low, <uint32_t>0x10000), high, u, t)
