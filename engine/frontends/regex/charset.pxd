"""Sets of characters as sorted, disjoint, inclusive ranges of Unicode scalar values (no
surrogates): tuples of (low, high).
"""

cpdef tuple normalise(ranges)
cpdef tuple intersect(tuple a, tuple b)
cpdef tuple char(int c)
cpdef bint contains(tuple ranges, int c)
