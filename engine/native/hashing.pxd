"""Two small hash tables for paths where ``unordered_map`` costs too much.

``U64MapC``      open addressing; keys are packed non-zero integers, values uint32; no deletion.
``hash_words``   a multiplicative hash of uint32 words, for interning tables that compare contents.
"""

from libc.stdint cimport uint32_t, uint64_t

from .pool cimport held_bytes, vector

cdef enum:
    MISSING = 0xFFFFFFFF

cdef struct U64MapC:
    vector[uint64_t] keys
    vector[uint32_t] values
    size_t used

cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """Return the finaliser of MurmurHash3."""
    x ^= x >> 33
    x *= <uint64_t>0xFF51AFD7ED558CCD
    x ^= x >> 33
    x *= <uint64_t>0xC4CEB9FE1A85EC53
    return x ^ (x >> 33)

cdef inline uint64_t hash_words(const uint32_t* words, size_t n) noexcept nogil:
    cdef uint64_t h = <uint64_t>0x9E3779B97F4A7C15 ^ n
    cdef size_t k
    for k in range(n):
        h = (h ^ words[k]) * <uint64_t>0xFF51AFD7ED558CCD
        h ^= h >> 29
    return mix(h)

cdef inline uint32_t map_get(U64MapC* table, uint64_t key) noexcept nogil:
    cdef size_t mask = table.keys.size() - 1, at
    if table.keys.size() == 0:
        return MISSING
    at = mix(key) & mask
    while table.keys[at]:
        if table.keys[at] == key:
            return table.values[at]
        at = (at + 1) & mask
    return MISSING

cdef inline size_t map_bytes(U64MapC* table) noexcept nogil:
    """Return the bytes held."""
    return held_bytes(table.keys) + held_bytes(table.values)

cdef inline void map_place(U64MapC* table, uint64_t key, uint32_t value) noexcept nogil:
    cdef size_t mask = table.keys.size() - 1
    cdef size_t at = mix(key) & mask
    while table.keys[at] and table.keys[at] != key:
        at = (at + 1) & mask
    table.used += table.keys[at] == 0
    table.keys[at] = key
    table.values[at] = value

cdef inline void map_clear(U64MapC* table) noexcept nogil:
    if table.used:
        table.keys.clear()
        table.values.clear()
        table.used = 0

cdef inline void map_put(U64MapC* table, uint64_t key, uint32_t value) noexcept nogil:
    """Set a key; the table is at most 5/8 full."""
    cdef vector[uint64_t] keys
    cdef vector[uint32_t] values
    cdef size_t k
    if table.used * 8 >= table.keys.size() * 5:
        keys.swap(table.keys)
        values.swap(table.values)
        table.keys.assign(max(<size_t>16, keys.size() * 2), 0)
        table.values.assign(table.keys.size(), 0)
        table.used = 0
        for k in range(keys.size()):
            if keys[k]:
                map_place(table, keys[k], values[k])
    map_place(table, key, value)
