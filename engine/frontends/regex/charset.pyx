"""Sets of characters: tuples of sorted, disjoint, inclusive ranges (low, high) of Unicode scalar values.

Cost   linear in the ranges. Complements of small sets are cached: patterns use few classes.
"""

from bisect import bisect_left
from functools import lru_cache

cdef enum:
    LAST = 0x10FFFF
    FIRST_SURROGATE = 0xD800
    LAST_SURROGATE = 0xDFFF

cdef tuple ANY_CHAR = ((0, 0xD7FF), (0xE000, 0x10FFFF))


cpdef tuple normalise(ranges):
    """Sort and merge ranges, and remove surrogates."""
    cdef list out = []
    cdef int low, high, start = 0, end = -2
    cdef bint has_surrogates = False
    for low, high in sorted(ranges):
        if low > high:
            continue
        has_surrogates |= low <= LAST_SURROGATE and high >= FIRST_SURROGATE
        if end >= 0 and low <= end + 1:
            end = max(end, high)
            continue
        if end >= 0:
            out.append((start, end))
        start, end = low, high
    if end >= 0:
        out.append((start, end))
    if has_surrogates:
        return intersect(tuple(out), ANY_CHAR)
    return tuple(out)


def union(*sets):
    return normalise([pair for ranges in sets for pair in ranges])


cpdef tuple intersect(tuple a, tuple b):
    cdef list out = []
    cdef Py_ssize_t i = 0, j = 0
    cdef int a_low, a_high, b_low, b_high
    while i < len(a) and j < len(b):
        a_low, a_high = a[i]
        b_low, b_high = b[j]
        if max(a_low, b_low) <= min(a_high, b_high):
            out.append((max(a_low, b_low), min(a_high, b_high)))
        if a_high < b_high:
            i += 1
        else:
            j += 1
    return tuple(out)


cdef enum:
    # Cached complements, and ranges of each. A range takes about 250 bytes with its key, so all take at most
    # 16 MB; the largest category of Unicode has 650 ranges
    KEPT_RANGES = 1000
    KEPT_COMPLEMENTS = 64


def complement(ranges):
    return cached_complement(ranges) if len(ranges) <= KEPT_RANGES else compute_complement(ranges)


@lru_cache(maxsize=KEPT_COMPLEMENTS)
def cached_complement(ranges):
    return compute_complement(ranges)


cdef tuple compute_complement(ranges):
    cdef list out = []
    cdef int low, high, start = 0
    for low, high in ranges:
        if low > start:
            out.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        out.append((start, LAST))
    return intersect(tuple(out), ANY_CHAR)


cpdef tuple char(int c):
    return ((c, c),)


cpdef bint contains(tuple ranges, int c):
    cdef int low, high
    for low, high in ranges:
        if low <= c <= high:
            return True
    return False


cpdef tuple with_partners(tuple ranges, list characters, list partners):
    cdef list found = []
    cdef Py_ssize_t k
    cdef int low, high, partner
    for low, high in ranges:
        k = bisect_left(characters, low)
        while k < len(characters) and <int>characters[k] <= high:
            partner = partners[k]
            if not low <= partner <= high:
                found.append((partner, partner))
            k += 1
    return normalise([*ranges, *found]) if found else ranges
