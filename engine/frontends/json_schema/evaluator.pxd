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

from ...grammar.ir cimport Grammar
from ...native.resources cimport WorkBudget
from ..regex.regex_syntax cimport Tree
from .document cimport References
from .schema_types cimport Arrays, Derived, Judge, Located, Named, Numbers, Objects, Shape, Strings

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


# -- evaluate --------------------------------------------------------------------------------------
# Whether a given value fits a shape, and whether two shapes have a value in common.
#
# Needed for enum and const beside other keywords, and for oneOf, which is anyOf where its branches
# exclude one another; where not, each loses the others (composition).

cdef class Evaluator(Judge):
    """What a reader is, too: the shapes of a place are its business."""
    cdef readonly object limits
    cdef Contents contents
    cdef Py_ssize_t checks_limit, checks
    cdef Located where          # the place at which values are judged: a schema, or a keyword of it
    cdef str keyword
    cdef Py_ssize_t depth       # of the part of a value that is judged now
    # None as long as they are empty
    cdef dict _trees            # by pattern
    cdef dict _automata         # by pattern: its automaton, and the steps that making it took
    cdef set _paid              # patterns whose steps are spent, here or in the fragment that is made now
    cdef dict _classes          # whether classes of keys have none, see ``members``
    # by the identity of a shape's values, which are kept so that it stays theirs
    cdef dict _listed

    cdef tuple shapes_at(self, tuple place)
    cdef void place(self, Located where, str keyword)
    cdef int check_value(self, value, Located where, str keyword, Py_ssize_t number) except -1
    cdef bint fits(self, tuple place, value) except -1
    cdef frozenset identities(self, tuple values)
    cdef bint string(self, Strings strings, str value) except -1
    cdef bint array(self, Arrays arrays, list value) except -1
    cdef bint counts(self, Arrays arrays, list value) except -1
    cdef bint members(self, Objects objects, dict value) except -1
    cdef bint keys(self, Objects objects, dict value) except -1
    cdef pattern(self, Named named)
    cdef format(self, Named named, bint short)
    cdef Tree tree(self, str pattern, Named named)
    cdef automaton(self, str pattern, Named named)
    cdef bint are_disjoint(self, list groups) except -1
    cdef bint apart(self, Shape a, Shape b, int distance) except -1
    cdef bint objects_apart(self, Objects a, Objects b, int distance) except -1
    cdef bint places_apart(self, tuple a, tuple b, int distance) except -1


cdef bint is_within(Numbers numbers, value) except -1
