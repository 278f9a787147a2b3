"""What does not fit a schema, taken from shapes: keyword by keyword, since what fails one keyword fails
the schema.

    allOf, $ref  without one of the branches
    anyOf        without all of them
    oneOf        without all of them, or within two
    if           within it and without ``then``, or without it and without ``else``
    not          within it

So alternatives of a schema, which multiply as its keywords meet, are never taken away one by one,
unless they are all that is known (enum and const beside applicators, unevaluated keywords).

Invariants   I1 exact, as the intersections are.
             I2 remembered by the identities of the schema and of the shapes.
Not here     what does not fit a shape (complements).
"""

from .composition cimport Composition
from .keywords cimport KeywordsC
from .schema_types cimport Located, Shape


cdef class Negation(Composition):
    # by the identity of schemas: those that are being taken apart
    cdef set _apart
    # by the identities of a schema and of shapes: these, and what is left of them
    cdef dict _without

    cdef Shape own(self, KeywordsC* found, Located where)
    cdef bint scan_known(self, Located where, KeywordsC* found) except -1
    cdef Located referred_by(self, KeywordsC* found, Located where)
    cdef tuple opposite(self, Located where, tuple shapes)
    cdef tuple without_derived(self, Located where, tuple shapes)
    cdef tuple without_place(self, tuple place, tuple shapes)
    cdef tuple without_all(self, list branches, tuple shapes)
    cdef tuple taken_apart(self, KeywordsC* found, Located where, tuple shapes)
    cdef list within_two(self, list branches, Located where, tuple shapes)
    cdef list against_condition(self, KeywordsC* found, Located where, tuple shapes)
    cdef list against_dependency(self, str name, value, str keyword, Located where, tuple shapes)
