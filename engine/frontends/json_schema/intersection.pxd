"""Alternatives that meet, or are taken from one another.

    intersections     all pairs of alternatives of two sides (allOf, $ref, siblings)
    subtract     what fits one side and not the other

Invariants   I1 exact, as the complements are.
             I2 an alternative that is seen to be empty is dropped; not all are seen.
             A look for emptiness gives up after its share of the budget.
Cost         alternatives multiply; ``limits.alternatives`` bounds those of a place, and a schema's
             intersections take at most half of the budget, so that a refusal names the place.
Not here     which alternatives meet: what applicators mean (composition, opposites).
"""

from libc.stdint cimport int64_t

from .complements cimport Complements
from .schema_types cimport Located, Shape


cdef class Intersection(Complements):
    cdef Py_ssize_t work            # intersections so far of the whole schema, weighed
    cdef Py_ssize_t looking         # levels of places that are looked into for whether they are empty
    cdef int64_t looks_left, look_end   # steps of all looks to come; where the present one gives up
    # by the identities of a place's schemas: the place, and how many levels were looked at (EMPTY: it is)
    cdef dict _voids

    cdef tuple read(self, Located where)
    cdef Located target(self, Located where)
    cdef tuple intersections(self, tuple left, tuple right, Located where, str keyword)
    cdef int add_work(self, Py_ssize_t work, Located where, str keyword) except -1
    cdef tuple subtract(self, tuple shapes, tuple others, Located where, str keyword)
    cdef tuple parted(self, tuple shapes, Shape part)
    cdef bint is_void(self, Shape shape) except -1
    cdef bint is_void_place(self, tuple place) except -1
    cdef bint look_into(self, tuple place) except -1
    cdef bint has_void_items(self, Shape shape) except -1
    cdef bint is_contradiction(self, tuple place) except -1
    cdef tuple not_void(self, tuple shapes)
    cdef int check_bound(self, Py_ssize_t shapes, Located where, str keyword) except -1


cdef tuple united(list shapes)
cdef tuple place_key(tuple place)
