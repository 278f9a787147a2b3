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

from .evaluate cimport Evaluator
from .schema_types cimport Arrays, Located, Numbers, Objects, Shape, Strings

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
