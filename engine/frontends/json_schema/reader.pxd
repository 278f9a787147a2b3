"""Schemas -> shapes. References and applicators are worked in here; properties and items stay places.

What is read is remembered by the identity of the schema object, so that a schema that is referred
to often is read once.

Invariants   I1 nothing is dropped: a keyword is an annotation, or it is in the shape, or it is
             refused by name.
             I2 applicators and references lead from schema to schema at one place; one that leads back
             to itself is an error.
Cost         linear in the schema, but for intersections of several alternatives at one place, which
             multiply (intersections).
"""

from ...grammar.ir cimport Grammar
from ...native.hashing cimport U64MapC
from .keywords cimport KeywordsC
from .negation cimport Negation
from .references cimport References
from .schema_types cimport Located


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
