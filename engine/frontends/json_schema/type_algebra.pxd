"""The algebra of alternatives: complement, intersection, subtraction and subsumption.

Complement    an alternative has several constraints, so its complement is one alternative for the violation of each:
              {minLength 2, pattern p} becomes {maxLength 1} or {without p}. Places inside (items, properties) are
              negated as places, which are read only when a value gets there:

                  NOT_THIS         values that do not fit a place
                  ANY_OF_THESE     values that fit one of several places
                  THIS_VALUE       one value
                  PLAIN_NUMBERS    everything, with numbers in plain spelling

              Each is a place of one Location, whose schema is a Derived.
Intersection  all pairs of alternatives of two sides (allOf, $ref, siblings).
Subtraction   the values of one side that do not fit the other.
Subsumption   an alternative that implies another one is redundant. Complements multiply: the values that are
              neither {a, b} nor {a, c} come as "no a", "no a and no c", "no b and no a", "no b and no c", of which
              the first contains the next two. Without subsumption, few schemas with ``oneOf`` would stay within
              ``limits.alternatives``. Constraints are compared by their parts, so it is sound but incomplete.

Invariants   I1 complements and intersections are exact. If a constraint has no complement here (some formats,
                uniqueItems), the result is a refusal. The complement of some other formats is that of a wider
                language: narrower, never wrong.
             I2 equal derived places are one place.
             I3 alternatives that are seen to be empty are dropped; not all are seen. The search for emptiness stops
                after its share of the budget.
Cost         alternatives multiply; ``limits.alternatives`` bounds those of a place, and the intersections of a
             schema take at most half of the budget, so that a refusal names the location. Subsumption compares all
             pairs of up to ``MAX_PAIRED`` alternatives.
Not here     keywords (reader, constraints).
"""

from libc.stdint cimport int64_t

from .evaluator cimport Evaluator
from .schema_types cimport Arrays, Location, Numbers, Objects, SchemaType, Strings

cdef enum:
    INTERSECTIONS = 16    # pairs of alternatives that may be intersected for each allowed result


cdef class TypeAlgebra(Evaluator):
    cdef Py_ssize_t work            # weighted intersections of the whole schema so far
    cdef Py_ssize_t look_depth      # current levels of the search for emptiness
    cdef int64_t look_steps, look_end   # steps left for all searches; the end of the current one
    # by the identities of a place's schemas: the place, and the searched levels (EMPTY: it is empty)
    cdef dict _empty_places
    # by the kind and the identities of schemas
    cdef dict _derived
    cdef list _constants
    cdef tuple _plain

    cdef tuple negated(self, tuple place)
    cdef tuple either(self, tuple places)
    cdef tuple derived(self, int kind, tuple places)
    cdef list complement(self, SchemaType schema_type)
    cdef list other_values(self, tuple values)
    cdef Location listing_place(self)
    cdef list other_container(self, value)
    cdef tuple constant(self, value)
    cdef tuple plain_numbers(self)
    cdef list other_strings(self, Strings strings)
    cdef list other_numbers(self, Numbers numbers, int types)
    cdef list other_arrays(self, Arrays arrays)
    cdef list other_objects(self, Objects objects)
    cdef list other_names(self, Objects objects)
    # the objects as they are written, and the bound on the items of arrays: see ``extra_keys`` and ``max_items``
    # of build_json_schema
    cdef Objects written(self, Objects objects)
    cdef object most_of(self, Arrays arrays)
    cdef tuple intersections(self, tuple left, tuple right, Location where, str keyword)
    cdef int add_work(self, Py_ssize_t work, Location where, str keyword) except -1
    cdef tuple subtract(self, tuple alternatives, tuple others, Location where, str keyword)
    cdef tuple split_disjoint(self, tuple alternatives, SchemaType part)
    cdef bint is_empty(self, SchemaType schema_type) except -1
    cdef bint is_empty_place(self, tuple place) except -1
    cdef bint look_for_values(self, tuple place) except -1
    cdef bint has_empty_items(self, SchemaType schema_type) except -1
    cdef bint is_contradiction(self, tuple place) except -1
    cdef tuple without_empty(self, tuple alternatives)
    cdef int check_bound(self, Py_ssize_t alternatives, Location where, str keyword) except -1


cdef tuple NOTHING_FITS     # the place of no value


cdef bint is_false(tuple place) noexcept


cdef bint is_subsumed(SchemaType a, SchemaType b, Evaluator evaluator) except -1
cdef tuple without_subsumed(tuple alternatives, Evaluator evaluator)


cdef tuple united(list alternatives)
cdef bytes place_key(tuple place)
