"""What does not fit: the complement of a shape, as alternatives.

A facet asks several things at once, so its complement is one alternative for each of them that is
not so: {minLength 2, pattern p} becomes {maxLength 1} or {without p}. Places inside (items,
properties) are negated as places, which nobody reads before a value gets there.

    not this     a place whose values do not fit a place
    any of       a place whose values fit one of several places
    this value   a place of one value
    plain        a place of everything, numbers written plainly

All are places of one ``Located``, whose schema is a ``Derived``.

Invariants   I1 exact: a value fits the complement if and only if it does not fit the shape; what has
                no complement here (some formats; uniqueItems) is a refusal of its type. Of other
                formats the complement is that of a wider language: narrower, never wrong.
             I2 one place, one ``Located``: derived places are remembered by what they are made of.
Not here     complements of several alternatives, and what they meet (intersections); of schemas (opposites).
"""

from libc.stdint cimport int64_t

from .evaluator cimport Evaluator
from .schema_types cimport Arrays, Judge, Located, Numbers, Objects, Shape, Strings

cdef class Complements(Evaluator):
    # by the kind and the identities of schemas; None as long as it is empty
    cdef dict _derived
    cdef list _constants
    cdef tuple _plain

    cdef tuple negated(self, tuple place)
    cdef tuple either(self, tuple places)
    cdef tuple derived(self, int kind, tuple places)
    cdef list complement(self, Shape shape)
    cdef list other_values(self, tuple values)
    cdef Located listing_place(self)
    cdef list other_container(self, value)
    cdef tuple constant(self, value)
    cdef tuple plain_numbers(self)
    cdef list other_strings(self, Strings strings)
    cdef list other_numbers(self, Numbers numbers, int types)
    cdef list other_arrays(self, Arrays arrays)
    cdef list other_objects(self, Objects objects)
    cdef list other_names(self, Objects objects)


cdef tuple NOTHING_FITS     # the place of no value


cdef bint is_false(tuple place) noexcept


# -- subsumption -----------------------------------------------------------------------------------
# Whether one alternative says all that another one says, so that it adds nothing beside it.
#
# Complements multiply: what is neither {a, b} nor {a, c} is found as "no a", "no a and no c", "no b and
# no a", "no b and no c", of which the two in the middle are part of the first. Without this, few
# schemas with ``oneOf`` would stay within ``limits.alternatives``.
#
# Constraints are compared by what they are made of (places by the identities of their schemas), never
# by what they mean: so not all that could go is found, and what is found is certain.
#
# Cost   each alternative with each other one, up to ``MOST`` of them; counted.

cdef bint is_within_shape(Shape a, Shape b, Judge judge) except -1
cdef tuple absorbed(tuple shapes, Judge judge)


# -- intersection ----------------------------------------------------------------------------------
# Alternatives that meet, or are taken from one another.
#
#     intersections     all pairs of alternatives of two sides (allOf, $ref, siblings)
#     subtract     what fits one side and not the other
#
# Invariants   I1 exact, as the complements are.
#              I2 an alternative that is seen to be empty is dropped; not all are seen.
#              A look for emptiness gives up after its share of the budget.
# Cost         alternatives multiply; ``limits.alternatives`` bounds those of a place, and a schema's
#              intersections take at most half of the budget, so that a refusal names the place.
# Not here     which alternatives meet: what applicators mean (composition, opposites).

cdef class Intersection(Complements):
    cdef Py_ssize_t work            # intersections so far of the whole schema, weighed
    cdef Py_ssize_t looking         # levels of places that are looked into for whether they are empty
    cdef int64_t looks_left, look_end   # steps of all looks to come; where the present one gives up
    # by the identities of a place's schemas: the place, and how many levels were looked at (EMPTY: it is)
    cdef dict _voids

    cdef tuple read(self, Located where)
    cdef Located target(self, Located where)
    cdef tuple intersections(self, tuple left, tuple right, Located where, str keyword)
    cdef int add_work(self, Py_ssize_t work, Located where, str keyword) except -1
    cdef tuple subtract(self, tuple shapes, tuple others, Located where, str keyword)
    cdef tuple parted(self, tuple shapes, Shape part)
    cdef bint is_void(self, Shape shape) except -1
    cdef bint is_void_place(self, tuple place) except -1
    cdef bint look_into(self, tuple place) except -1
    cdef bint has_void_items(self, Shape shape) except -1
    cdef bint is_contradiction(self, tuple place) except -1
    cdef tuple not_void(self, tuple shapes)
    cdef int check_bound(self, Py_ssize_t shapes, Located where, str keyword) except -1


cdef tuple united(list shapes)
cdef tuple place_key(tuple place)
