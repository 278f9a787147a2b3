"""Applicators: what a schema says by way of other schemas, worked into its alternatives.

    meetings     all pairs of alternatives of two sides (allOf, $ref, siblings)
    subtract     what fits one side and not the other (not, else, oneOf)

Alternatives may overlap, but those of ``oneOf`` do not: where two branches have values in common,
each loses the other.

Under ``unevaluatedProperties`` or ``unevaluatedItems`` alternatives know what was evaluated, and
``anyOf`` has one for every set of its branches that evaluates more: so each is exact by itself.

Branches that hold everywhere (allOf, $ref) are read within what is known already: a ``oneOf`` inside
may have branches that exclude one another only there.

Invariants   I1 exact, as the complements are.
             I2 an alternative that is seen to be empty is dropped; not all are seen.
Cost         alternatives multiply; ``limits.alternatives`` bounds those of a place, ``MOST_WORK`` the
             meetings of a schema.
Not here     which schemas these are (reader).
"""

from .complements cimport Complements
from .keywords cimport KeywordsC
from .shapes cimport Evaluated, Located, Shape


cdef class Composition(Complements):
    cdef Py_ssize_t tracking        # whether alternatives know what was evaluated
    cdef bint knows_const           # whether the dialect does
    cdef Py_ssize_t work            # meetings so far of the whole schema, weighed
    cdef Py_ssize_t looking         # levels of places that are looked into for whether they are empty

    cdef tuple read(self, Located where)
    cdef tuple within(self, Located where, tuple shapes)
    cdef tuple compose(self, KeywordsC* found, Located where, tuple shapes)
    cdef tuple negation(self, Located branch, Located where, tuple shapes)
    cdef tuple branched(self, KeywordsC* found, int slot, str keyword, Located where, tuple shapes)
    cdef tuple any_of(self, list groups, Located where, str keyword)
    cdef tuple one_of(self, list groups, list others, Located where, str keyword)
    cdef tuple conditional(self, KeywordsC* found, Located where, tuple shapes)
    cdef tuple dependent(self, value, str keyword, Located where, tuple shapes)
    cdef tuple depending(self, str name, value, str keyword, Located where, tuple shapes)
    cdef tuple unevaluated(self, KeywordsC* found, Located where, tuple shapes)
    cdef Shape rest_of_members(self, tuple place, Shape shape, Located where)
    cdef Shape rest_of_items(self, tuple place, Shape shape)
    cdef tuple meetings(self, tuple left, tuple right, Located where, str keyword)
    cdef tuple subtract(self, tuple shapes, tuple others, Located where, str keyword)
    cdef bint is_void(self, Shape shape) except -1
    cdef bint is_void_place(self, tuple place) except -1
    cdef bint has_void_items(self, Shape shape) except -1
    cdef tuple not_void(self, tuple shapes)
    cdef int check_bound(self, Py_ssize_t shapes, Located where, str keyword) except -1


cdef list branches(KeywordsC* found, int slot, str keyword, Located where)
cdef tuple united(list shapes)
