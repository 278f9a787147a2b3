"""The schema reader: schemas -> alternatives, with references and applicators resolved.

Properties and items stay places, which are read when a caller asks for them. Results are cached by the identity
of the schema object, so that a schema with many references is read once.

    own keywords  all keywords that are not applicators make one alternative. Every value is checked for its form,
                  whether its types are allowed or not. An unenforceable keyword becomes a refusal in the
                  alternative, which is raised only where it would matter.
    applicators   change the alternatives of a schema. Those of ``oneOf`` must not overlap: where two branches
                  have common values, each loses those of the other. Branches that always apply (allOf, $ref) are
                  read within the known alternatives, since a ``oneOf`` inside may be exclusive only there.
    negation      the values outside of a schema, keyword by keyword, because a value that fails one keyword fails
                  the schema:
                      allOf, $ref  without one of the branches
                      anyOf        without all of them
                      oneOf        without all of them, or within two
                      if           within it and without ``then``, or without it and without ``else``
                      not          within it
                  So the alternatives of a schema, which multiply, are subtracted one by one only where nothing
                  else is known (enum and const beside applicators, unevaluated keywords).
    evaluation    under ``unevaluatedProperties`` or ``unevaluatedItems``, alternatives record what was evaluated,
                  and ``anyOf`` has one for every set of branches that evaluates more.

Invariants   I1 no keyword is dropped: it is an annotation, a constraint, or a refusal by name.
             I2 applicators and references that lead back to their own schema at one place are an error.
             I3 results are exact, as intersections and complements are.
Cost         linear in the schema, except for intersections of several alternatives at one place, which multiply.
Not here     complements of alternatives (type_algebra).
"""

from ...grammar.ir cimport Grammar
from ...native.hashing cimport U64MapC
from .document cimport KeywordsC, References
from .type_algebra cimport TypeAlgebra
from .schema_types cimport Location, SchemaType

cdef SchemaReader new_reader(References references, Grammar grammar, bint refuse_unknown)


cdef class SchemaReader(TypeAlgebra):
    """The reader of one document. ``refuse_unknown``: refuse unknown formats."""
    cdef References references
    cdef Py_ssize_t depth_limit
    cdef Py_ssize_t tracking        # > 0: alternatives record what was evaluated
    cdef bint knows_const           # whether the dialect has ``const``
    cdef bint refuse_unknown
    cdef object excludes            # texts that strings must not contain as written, or None
    cdef bint followed              # whether a $ref was followed
    # by the identity of a schema (odd: with evaluation): an index into ``_alternatives``
    cdef U64MapC _read
    cdef list _alternatives
    cdef dict _open                 # schemas and places that are being read
    cdef set _within                # schemas that were read within known alternatives
    cdef set _negating                 # schemas whose negation is being read
    # by the identities of a schema and of alternatives: the alternatives, and the rest of them
    cdef dict _without
    cdef dict _targets
    # by the identities of schemas: the place, which must live as long, and its alternatives
    cdef dict _places
    # of Cardinality, by the identities of places
    cdef dict _ranges, _distinct

    cdef tuple place_alternatives(self, tuple place)
    cdef Location end_of_chain(self, Location where)
    cdef tuple read(self, Location where)
    cdef tuple read_target(self, Location where)
    cdef int check_open(self, Location where) except -1
    cdef tuple schema(self, Location where)
    cdef bint scan_known(self, Location where, KeywordsC* keywords) except -1
    cdef tuple within(self, Location where, tuple alternatives)
    cdef tuple composition(self, KeywordsC* keywords, Location where, tuple alternatives)
    cdef tuple referred(self, KeywordsC* keywords, Location where, tuple alternatives)
    cdef Location referred_by(self, KeywordsC* keywords, Location where)
    cdef tuple derived_alternatives(self, Location where)
    cdef tuple listed_values(self, listed_value, str keyword, Location where, tuple alternatives)

    # applicators
    cdef tuple compose(self, KeywordsC* keywords, Location where, tuple alternatives)
    cdef tuple negation(self, Location branch, Location where, tuple alternatives)
    cdef tuple branched(self, KeywordsC* keywords, int slot, str keyword, Location where, tuple alternatives)
    cdef tuple any_of(self, list groups, Location where, str keyword)
    cdef tuple one_of(self, list groups, list branches, Location where, str keyword)
    cdef tuple conditional(self, KeywordsC* keywords, Location where, tuple alternatives)
    cdef tuple depending(self, str name, value, str keyword, Location where, tuple alternatives)
    cdef tuple unevaluated(self, KeywordsC* keywords, Location where, tuple alternatives)
    cdef SchemaType rest_of_members(self, tuple place, SchemaType schema_type, Location where)
    cdef SchemaType rest_of_items(self, tuple place, SchemaType schema_type)

    # negation
    cdef tuple without(self, Location where, tuple alternatives)
    cdef tuple negated_schema(self, Location where, tuple alternatives)
    cdef tuple without_derived(self, Location where, tuple alternatives)
    cdef tuple without_place(self, tuple place, tuple alternatives)
    cdef tuple without_all(self, list branches, tuple alternatives)
    cdef tuple negated_keywords(self, KeywordsC* keywords, Location where, tuple alternatives)
    cdef list within_two(self, list branches, Location where, tuple alternatives)
    cdef list against_condition(self, KeywordsC* keywords, Location where, tuple alternatives)
    cdef list against_dependency(self, str name, value, str keyword, Location where, tuple alternatives)
