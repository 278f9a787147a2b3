"""Items that must differ: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector as plain_vector

from .bits cimport has_bit
from .hashing cimport MISSING, map_bytes, map_clear, map_get, map_put
from .pool cimport held_bytes, vector
from .rows cimport DEAD, INSTANCE, MET, Arena, RowC
from .vocabulary cimport Vocabulary

#: of the lists of one generation
cdef size_t MOST_BYTES = 16 << 20

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
    cdef plain_vector[WayC] todo
    cdef WayC way, made
    cdef RowC* row
    cdef uint32_t k, found, steps = 0
    cdef uint8_t byte
    if not has_few_ways(arena, instance):
        return False
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


cdef Suspects new_suspects(Arena arena, Vocabulary vocabulary):
    cdef Suspects made = Suspects.__new__(Suspects)
    made.arena, made.vocabulary, made.held = arena, vocabulary, 0
    with nogil:
        made.sort_tokens()
    return made


cdef class Suspects:
    cdef uint32_t number(self, uint32_t instance, bint is_open, const uint32_t* mask) noexcept nogil:
        cdef uint64_t key
        cdef uint32_t t, found
        cdef vector[uint32_t] ids
        instance = self.arena.instances[instance].rep
        key = <uint64_t>instance << 1 | is_open
        found = map_get(&self.numbers, key)
        if found != MISSING:
            return found
        for t in self.deciding if is_open else self.opening:
            if has_bit(mask, t) and self.is_suspect(instance, is_open, t):
                ids.push_back(t)
        if self.held > MOST_BYTES:
            self.drop()
        found = <uint32_t>self.tokens.size()
        self.tokens.push_back(ids)
        self.held += held_bytes(self.tokens.back())
        map_put(&self.numbers, key, found)
        return found

    cdef size_t bytes_held(self) noexcept nogil:
        return (
            self.held + held_bytes(self.tokens) + held_bytes(self.deciding) + held_bytes(self.opening)
            + map_bytes(&self.numbers))

    cdef void drop(self) noexcept nogil:
        map_clear(&self.numbers)
        self.tokens.clear()
        self.held = 0

    cdef void sort_tokens(self) noexcept nogil:
        cdef uint32_t t, k
        cdef uint8_t byte
        cdef bint decides, opens
        for t in range(self.vocabulary.size):
            if not has_bit(self.vocabulary.ordinary_words.data(), t):
                continue
            decides = opens = False
            for k in range(self.vocabulary.offsets[t], self.vocabulary.offsets[t + 1]):
                byte = self.vocabulary.data[k]
                decides = decides or self.arena.automata.ir.decides[byte]
                opens = opens or byte == OPENING_BRACKET or byte == OPENING_BRACE
            if decides:
                self.deciding.push_back(t)
            if opens:
                self.opening.push_back(t)

    cdef bint is_suspect(self, uint32_t instance, bint is_open, uint32_t token) noexcept nogil:
        cdef uint32_t k, found
        for k in range(self.vocabulary.offsets[token], self.vocabulary.offsets[token + 1]):
            found = self.arena.step_met(instance, self.vocabulary.data[k])
            if found & MET:
                return True
            if found == DEAD:
                return False
            instance = found
        return is_open and has_few_ways(self.arena, instance)
