"""Applicators: what a schema says by way of other schemas, worked into its alternatives.

Alternatives may overlap, but those of ``oneOf`` do not: where two branches have values in common,
each loses the other.

Under ``unevaluatedProperties`` or ``unevaluatedItems`` alternatives know what was evaluated, and
``anyOf`` has one for every set of its branches that evaluates more: so each is exact by itself.

Branches that hold everywhere (allOf, $ref) are read within what is known already: a ``oneOf`` inside
may have branches that exclude one another only there.

Invariants   exact, as the intersections are.
Not here     which schemas these are (reader), what does not fit them (opposites).
"""

from .intersection cimport Intersection
from .keywords cimport KeywordsC
from .schema_types cimport Evaluated, Located, Shape


cdef class Composition(Intersection):
    cdef Py_ssize_t tracking        # whether alternatives know what was evaluated
    cdef bint knows_const           # whether the dialect does

    cdef tuple within(self, Located where, tuple shapes)
    cdef tuple without(self, Located where, tuple shapes)
    cdef tuple compose(self, KeywordsC* found, Located where, tuple shapes)
    cdef tuple negation(self, Located branch, Located where, tuple shapes)
    cdef tuple branched(self, KeywordsC* found, int slot, str keyword, Located where, tuple shapes)
    cdef tuple any_of(self, list groups, Located where, str keyword)
    cdef tuple one_of(self, list groups, list branches, Located where, str keyword)
    cdef tuple conditional(self, KeywordsC* found, Located where, tuple shapes)
    cdef tuple depending(self, str name, value, str keyword, Located where, tuple shapes)
    cdef tuple unevaluated(self, KeywordsC* found, Located where, tuple shapes)
    cdef Shape rest_of_members(self, tuple place, Shape shape, Located where)
    cdef Shape rest_of_items(self, tuple place, Shape shape)


cdef list branches_of(KeywordsC* found, int slot, str keyword, Located where)
cdef list dependencies_of(KeywordsC* found, Located where)
cdef tuple names_needed(str name, value, str keyword, Located branch)
cdef Shape present(tuple names, Located where)
cdef Shape absent(str name, Located where)
