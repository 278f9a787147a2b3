"""Names: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort

from ..grammar.spelling cimport short_escape
from ..native.bitset cimport has_bit
from ..native.pool cimport held_bytes, vector
from ..native.word_table cimport table_bytes, table_number
from .dfa_state cimport FINAL_STATE, ByteEdgeC, DfaStateC

cdef uint32_t NONE = 0xFFFFFFFF
cdef uint32_t QUOTE = 0x22
cdef uint32_t BACKSLASH = 0x5C


cdef struct SlotC:
    # names that go on with one byte
    uint32_t low, high, stage, value
    bint whole                # the character is spelled


cdef struct ReaderC:
    SlotC[256] slots
    uint8_t[256] bytes        # those with a slot in use, in order of appearance
    uint32_t used


cdef size_t names_bytes(const NamesC* names) noexcept nogil:
    return held_bytes(names.points) + held_bytes(names.off) + held_bytes(names.numbers)


cdef size_t spots_bytes(const SpotsC* spots) noexcept nogil:
    return names_bytes(&spots.names) + table_bytes(&spots.spots) + held_bytes(spots.states)


cdef bint text_before(const TextC& a, const TextC& b) noexcept nogil:
    cdef uint32_t k
    for k in range(min(a.n, b.n)):
        if a.points[k] != b.points[k]:
            return a.points[k] < b.points[k]
    return a.n < b.n


cdef void sort_names(vector[TextC]* texts, NamesC* out) noexcept nogil:
    cdef TextC text
    sort(texts.begin(), texts.end(), &text_before)
    for text in texts[0]:
        out.off.push_back(<uint32_t>out.points.size())
        out.points.insert(out.points.end(), text.points, text.points + text.n)
        out.numbers.push_back(text.number)
    out.off.push_back(<uint32_t>out.points.size())


cdef SpotC start_of(NamesC* names) noexcept nogil:
    cdef SpotC spot
    spot.low, spot.high = 0, <uint32_t>names.numbers.size()
    spot.depth = spot.stage = spot.value = 0
    return spot


cdef uint32_t name_at(NamesC* names, const SpotC* spot, const ChoiceC* choice) noexcept nogil:
    """The number of the name that is complete here, if it is one of the choice; else NO_NAME."""
    cdef uint32_t n
    # the shortest of those that begin alike comes first
    if spot.stage != BETWEEN or spot.low == spot.high:
        return NO_NAME
    n = names.numbers[spot.low]
    if names.off[spot.low + 1] - names.off[spot.low] == spot.depth and is_choice(choice, n):
        return n
    return NO_NAME


cdef inline bint is_choice(const ChoiceC* choice, uint32_t n) noexcept nogil:
    return choice.first <= n <= choice.last and (choice.taken == NULL or not has_bit(choice.taken, n))


cdef void list_steps(
    NamesC* names, const SpotC* spot, const ChoiceC* choice, vector[StepC]* out
) noexcept nogil:
    """How the names of a choice go on from a spot, by byte ascending."""
    cdef ReaderC reader
    cdef uint32_t k, place, at
    cdef StepC step
    reader.used = 0
    for k in range(256):
        reader.slots[k].high = 0
    for place in range(spot.low, spot.high):
        at = names.off[place] + spot.depth
        if is_choice(choice, names.numbers[place]) and at < names.off[place + 1]:
            if names.spelled:
                read_utf8(&reader, place, names.points[at], spot.stage, spot.value)
            else:
                read_point(&reader, place, names.points[at], spot.stage, spot.value)
    out.clear()
    sort(reader.bytes, reader.bytes + reader.used)
    for k in range(reader.used):
        step.byte = reader.bytes[k]
        step.to.low, step.to.high = reader.slots[step.byte].low, reader.slots[step.byte].high
        step.to.stage, step.to.value = reader.slots[step.byte].stage, reader.slots[step.byte].value
        step.to.depth = spot.depth + reader.slots[step.byte].whole
        out.push_back(step)


cdef inline void offer(
    ReaderC* reader, uint32_t place, uint32_t byte, bint whole, uint32_t stage, uint32_t value
) noexcept nogil:
    """All names that go on with a byte agree in what lies behind it."""
    cdef SlotC* slot = &reader.slots[byte]
    if slot.high == 0:
        reader.bytes[reader.used] = <uint8_t>byte
        reader.used += 1
        slot.low = place
        slot.whole = whole
        slot.stage, slot.value = (<uint32_t>BETWEEN, <uint32_t>0) if whole else (stage, value)
    slot.high = place + 1


cdef void read_point(
    ReaderC* reader, uint32_t place, uint32_t c, uint32_t stage, uint32_t value
) noexcept nogil:
    """The bytes that go on with a character of which some were read; a lone surrogate has none."""
    cdef uint32_t n
    if 0xD800 <= c <= 0xDFFF:
        return
    if stage == BETWEEN:
        if c >= 0x20 and c != QUOTE and c != BACKSLASH:
            read_utf8(reader, place, c, 0, 0)
        offer(reader, place, BACKSLASH, False, ESCAPED, 0)
    elif stage < ESCAPED:
        read_utf8(reader, place, c, stage, value)
    elif stage == ESCAPED:
        if short_escape(c) != NONE:
            offer(reader, place, short_escape(c), True, 0, 0)
        offer(reader, place, 0x75, False, IN_HEX, 0)
    elif stage < BEHIND_HIGH:
        n = stage - IN_HEX
        if c < 0x10000:
            read_hex(reader, place, c, n, value, IN_HEX, 0, True)
        else:
            read_hex(reader, place, high_unit(c), n, value, IN_HEX, 0, False)
    elif c >= 0x10000 and high_unit(c) == (value >> 16 if stage >= IN_LOW_HEX else value):
        if stage == BEHIND_HIGH:
            offer(reader, place, BACKSLASH, False, HIGH_ESCAPED, value)
        elif stage == HIGH_ESCAPED:
            offer(reader, place, 0x75, False, IN_LOW_HEX, value << 16)
        else:
            read_hex(reader, place, low_unit(c), stage - IN_LOW_HEX, value & 0xFFFF, IN_LOW_HEX,
                     value >> 16 << 16, True)


cdef inline uint32_t high_unit(uint32_t c) noexcept nogil:
    return 0xD800 + (c - 0x10000 >> 10)


cdef inline uint32_t low_unit(uint32_t c) noexcept nogil:
    return 0xDC00 + (c & 0x3FF)


cdef void read_utf8(ReaderC* reader, uint32_t place, uint32_t c, uint32_t n, uint32_t value) noexcept nogil:
    """Byte n of a character whose first n bytes must be those in ``value``."""
    cdef uint8_t utf8[4]
    cdef uint32_t size, k, read = 0
    if c < 0x80:
        utf8[0], size = <uint8_t>c, 1
    elif c < 0x800:
        utf8[0], size = <uint8_t>(0xC0 | c >> 6), 2
    elif c < 0x10000:
        utf8[0], size = <uint8_t>(0xE0 | c >> 12), 3
    else:
        utf8[0], size = <uint8_t>(0xF0 | c >> 18), 4
    for k in range(1, size):
        utf8[k] = <uint8_t>(0x80 | c >> (6 * (size - 1 - k)) & 0x3F)
    if n >= size:
        return
    for k in range(n):
        read = read << 8 | utf8[k]
    if read == value:
        offer(reader, place, utf8[n], n + 1 == size, IN_UTF8 + n, value << 8 | utf8[n])


cdef void read_hex(
    ReaderC* reader, uint32_t place, uint32_t unit, uint32_t n, uint32_t value,
    uint32_t stages, uint32_t beside, bint is_last
) noexcept nogil:
    """Digit n of a unit whose first n digits must be those in ``value``.

    ``stages`` is that of no digit, ``beside`` goes into the value; ``is_last``: whether the unit ends
    the character.
    """
    cdef uint32_t digit = unit >> (12 - 4 * n) & 15
    cdef bint whole = is_last and n == 3
    if unit >> (16 - 4 * n) != value:
        return
    value = beside | value << 4 | digit
    if digit < 10:
        offer(reader, place, 0x30 + digit, whole, stages + n + 1, value)
    else:
        offer(reader, place, 0x41 + digit - 10, whole, stages + n + 1, value)
        offer(reader, place, 0x61 + digit - 10, whole, stages + n + 1, value)


cdef void read_texts(SpotsC* out, const uint32_t* words, uint32_t n, bint spelled) noexcept nogil:
    """Texts given each as its length and its code points; spot 0 is the start."""
    cdef uint32_t at = 0
    cdef vector[TextC] texts
    cdef TextC text
    cdef SpotC start
    while at < n:
        text.points, text.n, text.number = words + at + 1, words[at], <uint32_t>texts.size()
        texts.push_back(text)
        at += 1 + words[at]
    sort_names(&texts, &out.names)
    out.names.spelled = spelled
    start = start_of(&out.names)
    number_spot(out, &start)


cdef void texts_state(SpotsC* spots, uint32_t number, DfaStateC* out) noexcept nogil:
    """The edges of a spot where any of the texts may stand; their targets are numbers of spots."""
    cdef SpotC spot = spot_at(spots, number)
    cdef ChoiceC all_names = every_name()
    cdef vector[StepC] steps
    cdef StepC step
    cdef ByteEdgeC edge
    out.held, out.is_plain_text = 0, 0
    out.flags = FINAL_STATE if name_at(&spots.names, &spot, &all_names) != NO_NAME else 0
    list_steps(&spots.names, &spot, &all_names, &steps)
    for step in steps:
        edge.low = edge.high = step.byte
        edge.target = number_spot(spots, &step.to)
        out.bytes.push_back(edge)


cdef uint32_t number_spot(SpotsC* spots, const SpotC* spot) noexcept nogil:
    """The number of a spot, a new one if need be; the first one is 0."""
    cdef uint32_t words[5]
    words[0], words[1], words[2], words[3], words[4] = spot.low, spot.high, spot.depth, spot.stage, spot.value
    return table_number(&spots.spots, words, 5)


cdef SpotC spot_at(SpotsC* spots, uint32_t number) noexcept nogil:
    cdef SpotC spot
    cdef uint32_t* words = &spots.spots.words[spots.spots.off[number]]
    spot.low, spot.high, spot.depth, spot.stage, spot.value = words[0], words[1], words[2], words[3], words[4]
    return spot
