"""Whether one alternative says all that another one says, so that it adds nothing beside it.

Complements multiply: what is neither {a, b} nor {a, c} is found as "no a", "no a and no c", "no b and
no a", "no b and no c", of which the two in the middle are part of the first. Without this, few
schemas with ``oneOf`` would stay within ``limits.alternatives``.

Constraints are compared by what they are made of (places by the identities of their schemas), never
by what they mean: so not all that could go is found, and what is found is certain.

Cost   each alternative with each other one, up to ``MOST`` of them; counted.
"""

from .schema_types cimport Judge, Shape

cdef bint is_within_shape(Shape a, Shape b, Judge judge) except -1
cdef tuple absorbed(tuple shapes, Judge judge)
