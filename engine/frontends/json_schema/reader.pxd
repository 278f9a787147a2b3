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

from ...grammar.ir cimport Grammar
from ...native.hashing cimport U64MapC
from .document cimport KeywordsC, References
from .evaluator cimport Evaluator
from .intersection cimport Intersection
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


# -- negation --------------------------------------------------------------------------------------
# What does not fit a schema, taken from shapes: keyword by keyword, since what fails one keyword fails
# the schema.
#
#     allOf, $ref  without one of the branches
#     anyOf        without all of them
#     oneOf        without all of them, or within two
#     if           within it and without ``then``, or without it and without ``else``
#     not          within it
#
# So alternatives of a schema, which multiply as its keywords meet, are never taken away one by one,
# unless they are all that is known (enum and const beside applicators, unevaluated keywords).
#
# Invariants   I1 exact, as the intersections are.
#              I2 remembered by the identities of the schema and of the shapes.
# Not here     what does not fit a shape (complements).

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


# -- constraints -----------------------------------------------------------------------------------
# The keywords that a schema has of its own, read into one shape.
#
# Every value is checked for its form, whether its types are allowed or not. What can't be enforced
# goes into the shape as a refusal, which is raised only where it would matter.

cdef Shape own_shape(KeywordsC* found, Located where, Evaluator evaluator, bint refuse_unknown)
cdef Evaluated evaluated_by(KeywordsC* found, Located where, bint by_contains)


# -- reader ----------------------------------------------------------------------------------------
# Schemas -> shapes. References and applicators are worked in here; properties and items stay places.
#
# What is read is remembered by the identity of the schema object, so that a schema that is referred
# to often is read once.
#
# Invariants   I1 nothing is dropped: a keyword is an annotation, or it is in the shape, or it is
#              refused by name.
#              I2 applicators and references lead from schema to schema at one place; one that leads back
#              to itself is an error.
# Cost         linear in the schema, but for intersections of several alternatives at one place, which
#              multiply (intersections).

cdef Reader new_reader(References references, Grammar grammar, bint refuse_unknown)


cdef class Reader(Negation):
    cdef References references
    cdef Py_ssize_t depth_limit
    cdef bint refuse_unknown        # formats
    cdef object excludes            # what no string may hold as it is written, or None
    cdef bint followed              # whether a $ref was met
    # by the identities of schemas (odd: with what they evaluate): what was read, as numbers in a list;
    # and what is being read, schemas and places of several, where that may lead back to itself
    cdef U64MapC _read
    cdef list _shapes
    cdef dict _open
    cdef set _within        # schemas that were read within what was known
    # None as long as they are empty
    cdef dict _targets
    # places are remembered by identity: what merging made must live as long
    cdef dict _places
    # of Cardinality, by the identities of places
    cdef dict _ranges, _told

    cdef Located end_of_chain(self, Located where)
    cdef tuple place_shapes(self, tuple place)
    cdef tuple read_target(self, Located where)
    cdef tuple opened(self, Located where)
    cdef int check_open(self, Located where) except -1
    cdef tuple schema(self, Located where)
    cdef tuple composition(self, KeywordsC* found, Located where, tuple shapes)
    cdef tuple referred(self, KeywordsC* found, Located where, tuple shapes)
    cdef tuple derived_shapes(self, Located where)
    cdef tuple listed_values(self, given, str keyword, Located where, tuple shapes)
