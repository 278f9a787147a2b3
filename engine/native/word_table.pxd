"""An interning table: sequences of words, numbered in the order of arrival; equal ones have one
number.

Representation   the words of all sequences are adjacent; number k begins at ``off[k]``. ``slots``
                 is an
                 open hash table of numbers + 1.
"""

from libc.stdint cimport uint32_t
from libc.string cimport memcmp

from .hashing cimport hash_words
from .pool cimport held_bytes, vector

cdef struct WordTableC:
    vector[uint32_t] words, off, slots

cdef inline uint32_t table_size(WordTableC* table) noexcept nogil:
    return <uint32_t>table.off.size() - 1 if table.off.size() else 0

cdef inline size_t table_bytes(const WordTableC* table) noexcept nogil:
    """Return the bytes held."""
    return held_bytes(table.words) + held_bytes(table.off) + held_bytes(table.slots)

cdef inline void table_clear(WordTableC* table) noexcept nogil:
    table.words.clear()
    table.off.clear()
    table.slots.clear()

cdef inline void table_grow(WordTableC* table) noexcept nogil:
    cdef size_t mask, at
    cdef uint32_t k
    if table.off.size() == 0:
        table.off.push_back(0)
    if 2 * table.off.size() < table.slots.size():
        return
    table.slots.assign(max(<size_t>64, 4 * table.off.size()), 0)
    # a power of two, so that a mask replaces the modulo
    mask = 64
    while mask < table.slots.size():
        mask *= 2
    table.slots.assign(mask, 0)
    mask -= 1
    for k in range(table_size(table)):
        at = hash_words(table.words.data() + table.off[k], table.off[k + 1] - table.off[k]) & mask
        while table.slots[at]:
            at = (at + 1) & mask
        table.slots[at] = k + 1

cdef inline uint32_t table_number(WordTableC* table, const uint32_t* words, size_t n) noexcept nogil:
    """Return the number of a sequence, which is added if new."""
    cdef size_t mask, at, k
    cdef uint32_t found
    table_grow(table)
    mask = table.slots.size() - 1
    at = hash_words(words, n) & mask
    while table.slots[at]:
        found = table.slots[at] - 1
        if table.off[found + 1] - table.off[found] == n:
            if n == 0 or memcmp(table.words.data() + table.off[found], words, n * sizeof(uint32_t)) == 0:
                return found
        at = (at + 1) & mask
    for k in range(n):
        table.words.push_back(words[k])
    table.off.push_back(<uint32_t>table.words.size())
    table.slots[at] = table_size(table)
    return table.slots[at] - 1
