"""Sets of characters as sorted, disjoint, inclusive ranges of Unicode scalar values (no
surrogates).
"""

from collections.abc import Iterable
from functools import lru_cache

from ..ir import ANY_CHAR, Ranges

LAST = 0x10FFFF


def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sorted and merged; surrogates are cut out."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if low > high:
            continue
        if out and low <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], high))
        else:
            out.append((low, high))
    if not out or out[-1][1] < 0xD800 or all(high < 0xD800 or low > 0xDFFF for low, high in out):
        return tuple(out)
    return intersect(tuple(out), ANY_CHAR)


def union(*sets: Ranges) -> Ranges:
    return normalise(pair for ranges in sets for pair in ranges)


def intersect(a: Ranges, b: Ranges) -> Ranges:
    out = []
    i = j = 0
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            out.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


@lru_cache(maxsize=4096)
def complement(ranges: Ranges) -> Ranges:
    out, start = [], 0
    for low, high in ranges:
        if low > start:
            out.append((start, low - 1))
        start = high + 1
    if start <= LAST:
        out.append((start, LAST))
    return intersect(tuple(out), ANY_CHAR)


def char(c: int) -> Ranges:
    return ((c, c),)


def contains(ranges: Ranges, c: int) -> bool:
    return any(low <= c <= high for low, high in ranges)
