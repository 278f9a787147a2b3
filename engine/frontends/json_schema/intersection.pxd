"""Intersections of alternatives, constraint by constraint, and the constraints that apply under a key.

Invariants   I1 intersect() is exact: a value fits the intersection if and only if it fits both operands.
"""

from ...native.resources cimport WorkBudget
from .evaluator cimport Evaluator
from .schema_types cimport Keyed, Numbers, Objects, SchemaType, Strings

# whether the constraints of a Keyed apply to a key; the place of the value under a key, listed or not
cdef bint applies(Keyed keyed, str name, Evaluator evaluator) except -1
cdef tuple place_of(Objects objects, name, Evaluator evaluator)
cdef SchemaType intersect(SchemaType a, SchemaType b, Evaluator evaluator)
cdef bint disjoint_objects(SchemaType a, SchemaType b, Evaluator evaluator) except -1
# the number of patterns, formats and excluded texts
cdef Py_ssize_t texts_of(Strings strings) except -1
cdef Numbers intersect_numbers(Numbers a, Numbers b, WorkBudget budget)
cdef Strings intersect_strings(Strings a, Strings b, Evaluator evaluator)
cdef bint is_crossed(Numbers numbers) except -1
cdef Py_ssize_t weight_of(Objects objects) except -1
cdef tuple both(tuple a, tuple b, Evaluator evaluator)
cdef smaller_bound(a, b)
