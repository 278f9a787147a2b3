"""Items that must differ: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from .rows cimport DEAD, INSTANCE, MET, Arena, RowC

cdef struct WayC:
    uint32_t instance
    Place place


cdef enum:
    OPENING_BRACKET = 0x5B
    OPENING_BRACE = 0x7B
    FIRST_PRINTED = 0x21


cdef uint32_t follow(
    Arena arena, uint32_t instance, const uint8_t* data, size_t n, Place* place
) noexcept nogil:
    """The instance behind some bytes, DEAD if they are not allowed; ``place`` goes along."""
    cdef size_t k
    cdef uint32_t found
    for k in range(n):
        found = arena.step_met(instance, data[k])
        if found == DEAD:
            return DEAD
        place.read(data[k])
        if found & MET and place.is_open() and place.repeats():
            found = arena.step_blocked(instance, data[k])
            if found == DEAD:
                return DEAD
        instance = found & INSTANCE
        if (data[k] == OPENING_BRACKET or data[k] == OPENING_BRACE) and not place.is_open():
            if arena.rows[arena.instances[instance].row].has_differing:
                place.open(data[k] == OPENING_BRACKET)
    return instance


cdef bint has_few_ways(Arena arena, uint32_t instance) noexcept nogil:
    """Whether few bytes may come next, and the text can't end here."""
    cdef RowC* row = &arena.rows[arena.instances[instance].row]
    cdef uint32_t k, n = 0
    if row.accept or row.has_tokens:
        return False
    for k in range(FIRST_PRINTED, 256):
        n += (row.live[k >> 6] >> (k & 63)) & 1
    return n <= FEW_WAYS


cdef bint is_stuck(Arena arena, uint32_t instance, const Place* place) noexcept nogil:
    """Whether every way on ends an item that was there before. White space leads nowhere else."""
    cdef vector[WayC] todo
    cdef WayC way, made
    cdef RowC* row
    cdef uint32_t k, found, steps = 0
    cdef uint8_t byte
    way.instance, way.place = instance, place[0]
    todo.push_back(way)
    while todo.size():
        way = todo.back()
        todo.pop_back()
        if not has_few_ways(arena, way.instance):
            return False
        for k in range(FIRST_PRINTED, 256):
            row = &arena.rows[arena.instances[way.instance].row]
            if not (row.live[k >> 6] >> (k & 63)) & 1:
                continue
            steps += 1
            if steps > MOST_STEPS:
                return False
            byte = <uint8_t>k
            made.place = way.place
            found = arena.step_met(way.instance, byte)
            made.instance = follow(arena, way.instance, &byte, 1, &made.place)
            if made.instance == DEAD:
                continue
            # an item ends within the outermost array: within another one, that may have to end, too
            if not made.place.is_open():
                return False
            if found & MET and made.instance == found & INSTANCE and made.place.is_outermost():
                return False
            todo.push_back(made)
    return True
