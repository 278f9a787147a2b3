"""Evaluation: whether a value fits an alternative, and whether two alternatives are disjoint.

It is needed for enum and const with other keywords, and for oneOf, which is anyOf if its branches are exclusive
(reader).

``SchemaFacts`` answers cheap questions about schemas without reading them, and never raises. Intersections ask
them for many pairs of schemas: most branches of a ``oneOf`` differ in the value of one member, and other members
often repeat one schema word by word.

    identity    equal for equal JSON values
    number      equal for schemas with the same keywords and values; annotations do not count
    hull        an upper bound of the accepted types and scalars

Invariants   I1 schemas of one number have the same meaning. Schemas that depend on their location (with a URI of
                their own, a dynamic reference, or any reference in a document of several resources) have unique
                numbers.
             I2 a hull contains all accepted values. If it is exact, it accepts all of its values.
Cost         number and hull of a schema are computed once, in one pass over it.
"""

from ...grammar.ir cimport Grammar
from ...native.resources cimport WorkBudget
from ..regex.regex_syntax cimport Tree
from .document cimport References
from .schema_types cimport (
    Arrays, ConstraintText, Derived, Location, Numbers, Objects, SchemaType, Strings,
)

cdef class Hull:
    cdef int types          # of listed values, too
    cdef frozenset values   # identities of scalars; None: all values of these types
    cdef frozenset barred   # identities of excluded scalars; empty if values are listed
    cdef bint is_exact      # all values of the hull fit


cdef class SchemaFacts:
    cdef References references
    cdef WorkBudget budget
    cdef Py_ssize_t most_values     # limit on an enum
    # by the identity of schemas, which the reader keeps alive
    cdef dict _numbers, _hulls
    cdef dict _contents     # content -> its number
    # by the identity of places of several schemas: the place, which must stay alive, and its hull
    cdef dict _places

    cdef bint holds(self, tuple place, schema) except -1
    cdef bint are_disjoint(self, tuple a, tuple b) except -1
    cdef bint disjoint_hulls(self, Hull a, Hull b) except -1
    cdef bint is_implied(self, tuple place, tuple other) except -1
    cdef bint disjoint_members(self, Objects a, Objects b) except -1
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


cdef SchemaFacts new_facts(References references, Grammar grammar)
cdef int type_of(value) except -1
cdef identity(value)
cdef bint has_surrogate(str text)

cdef class Evaluator:
    """Evaluates values of one document. The reader, which derives from it, provides the alternatives of places."""
    cdef WorkBudget budget
    cdef readonly object limits
    cdef SchemaFacts facts
    cdef Py_ssize_t checks_limit, checks
    cdef Location where         # of the listed values, for errors; with ``keyword``
    cdef str keyword
    cdef Py_ssize_t depth       # of the current part of a value
    # bounds of arrays and strings without one of their own; None: there is none
    cdef object most_items, most_characters
    cdef bint closes_objects    # those that list members, without a keyword about others
    cdef bint has_closed        # whether an object was closed
    cdef dict _trees            # by pattern: its tree, and the steps spent on it
    cdef dict _lengths          # by pattern and greatest length: its trees by length, and the steps spent on them
    cdef dict _automata         # by pattern, or key of such a tree: the automaton, and the steps spent on it
    cdef set _paid              # keys whose steps are charged, here or in the current fragment
    cdef dict _classes          # by class of keys: whether it is empty (objects)
    # by the identity of a tuple of values, which must stay alive: the identities of the values
    cdef dict _listed

    # of the reader
    cdef tuple alternatives_at(self, tuple place)
    cdef Location target(self, Location where)

    cdef void place(self, Location where, str keyword)
    cdef int check_value(self, value, Location where, str keyword, Py_ssize_t number) except -1
    cdef bint fits_type(self, SchemaType schema_type, value) except -1
    cdef bint matches(self, ConstraintText pattern, str text) except -1
    cdef bint fits(self, tuple place, value) except -1
    cdef frozenset identities(self, tuple values)
    cdef bint string(self, Strings strings, str value) except -1
    cdef bint array(self, Arrays arrays, list value) except -1
    cdef bint counts(self, Arrays arrays, list value) except -1
    cdef bint members(self, Objects objects, dict value) except -1
    cdef bint keys(self, Objects objects, dict value) except -1
    cdef bint has_match(self, ConstraintText pattern, str text) except -1
    cdef pattern(self, ConstraintText constraint_text)
    cdef list automata_by_length(self, ConstraintText constraint_text, longest)
    cdef list trees_by_length(self, ConstraintText constraint_text, longest)
    cdef format(self, ConstraintText constraint_text, bint short)
    cdef Tree tree(self, str pattern, ConstraintText constraint_text)
    cdef automaton(self, key, Tree tree, ConstraintText constraint_text)
    cdef bint are_exclusive(self, list groups) except -1
    cdef TextClasses text_classes(self, list groups)
    cdef bint disjoint(self, SchemaType a, SchemaType b, int distance) except -1
    cdef bint disjoint_objects(self, Objects a, Objects b, int distance) except -1
    cdef bint disjoint_places(self, tuple a, tuple b, int distance) except -1


cdef class TextClasses:
    """Classes of values that the types and the patterns of some groups do not divide further: all patterns run
    over a text together, and the texts of one state are a class.
    """
    cdef WorkBudget budget
    cdef bint is_exact          # groups accept all values of their classes
    cdef list accepted          # by group: its classes, as the bits of a number
    cdef list by_size           # groups, those with the most classes first; None: unknown
    cdef object twice           # classes of two groups

    cdef list others(self, Py_ssize_t number)
    cdef shared(self)
    cdef bint are_disjoint(self, Py_ssize_t one, Py_ssize_t other)


cdef bint is_within(Numbers numbers, value) except -1
