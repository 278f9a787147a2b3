"""Whether a given value fits a shape, and whether two shapes have a value in common.

Needed for enum and const beside other keywords, and for oneOf, which is anyOf where its branches
exclude one another; where not, each loses the others (composition).
"""

from ..regex.regex_tree cimport Tree
from .contents cimport Contents
from .schema_types cimport Arrays, Judge, Located, Named, Numbers, Objects, Shape, Strings


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
