"""What schemas have in common at first sight: nothing is read, so no error is raised.

    identity    equal for equal JSON values
    number      of a schema; equal for schemas with the same keywords and values. Annotations do not count.
    hull        the types and scalars that a schema allows at most

Intersection ask this for many pairs of schemas. Most branches of a ``oneOf`` differ in the value of one
member, and the other members often repeat one schema word by word.

Invariants   I1 schemas of one number have the same meaning. Those that depend on where they stand (with
                a URI of their own, with a dynamic reference, with any reference in a document of
                several resources) have a number of their own.
             I2 what fits a schema lies within its hull. The opposite holds only where the hull is
                exact.
Cost         number and hull of a schema are computed once: one pass over it.
Not here     whether shapes differ (evaluate).
"""

from ...budget cimport WorkBudget
from ...grammar.ir cimport Grammar
from .references cimport References
from .schema_types cimport Derived, Objects


cdef class Hull:
    cdef int types          # of listed values, too
    cdef frozenset values   # identities of scalars; None: all values of these types
    cdef frozenset barred   # identities of scalars that do not fit; empty if values are listed
    cdef bint is_exact      # all these values fit


cdef class Contents:
    cdef References references
    cdef WorkBudget budget
    cdef Py_ssize_t most_values     # of an enum
    # by the identity of schemas, which live as long as the reader
    cdef dict _numbers, _hulls
    cdef dict _contents     # content -> its number
    # by the identity of places of several schemas: the place, so that it stays its own, and its hull
    cdef dict _places

    cdef bint holds(self, tuple place, schema) except -1
    cdef bint are_apart(self, tuple a, tuple b) except -1
    cdef bint hulls_apart(self, Hull a, Hull b) except -1
    cdef bint are_all_of(self, tuple place, tuple other) except -1
    cdef bint members_apart(self, Objects a, Objects b) except -1
    cdef bint differ_at(self, name, Objects a, Objects b) except -1
    cdef bint is_opposed(self, name, Objects a, Objects b) except -1
    cdef bint asks_for(self, name, Objects objects, tuple place) except -1
    cdef tuple narrower(self, tuple a, tuple b)
    cdef object number(self, schema)
    cdef tuple content(self, dict schema)
    cdef tuple content_of_derived(self, Derived derived)
    cdef part(self, value)
    cdef spelled(self, value)
    cdef Hull hull(self, schema)
    cdef Hull hull_of_keywords(self, dict schema)
    cdef Hull hull_of_values(self, values)
    cdef Hull hull_of_derived(self, Derived derived)
    cdef Hull hull_of_place(self, tuple place)
    cdef Hull hull_of_member(self, Objects objects, name)


cdef Contents new_contents(References references, Grammar grammar)
cdef int type_of(value) except -1
cdef identity(value)
cdef bint has_surrogate(str text)
