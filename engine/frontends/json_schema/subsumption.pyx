"""Alternatives that add nothing: see the header file."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject

from ...budget cimport spend
from .complements cimport is_false
from .schema_types cimport (
    ARRAY, NUMBER, OBJECT, STRING, Arrays, Judge, Located, Named, Numbers, Objects, Shape, Strings,
    weight_of,
)

#: alternatives that are compared with each other
cdef Py_ssize_t MOST = 400
# comparisons that take about a microsecond: most end at the first facet
cdef Py_ssize_t PAIRS = 8


cdef tuple absorbed(tuple shapes, Judge judge):
    """The alternatives without those that lie within another one."""
    cdef Py_ssize_t i, j, n = len(shapes)
    cdef list gone = [False] * n, found = []
    if n < 2 or n > MOST:
        return shapes
    for i in range(n):
        spend(judge.budget, 1 + n // PAIRS)
        for j in range(n):
            if i != j and not gone[j] and is_within_shape(<Shape>shapes[i], <Shape>shapes[j], judge):
                gone[i] = True
                break
        if not gone[i]:
            found.append(shapes[i])
    return tuple(found) if len(found) < n else shapes


cdef bint is_within_shape(Shape a, Shape b, Judge judge) except -1:
    """Whether ``a`` is seen to lie within ``b``: all that ``b`` asks, ``a`` asks, too."""
    cdef int types = a.types
    if types & ~b.types or a.values is not None or b.values is not None or b.refused:
        return False
    if b.evaluated is not a.evaluated:
        return False
    return (
        (not types & STRING or b.strings is None or has_strings(a.strings, b.strings))
        and (not types & NUMBER or b.numbers is None or has_numbers(a.numbers, b.numbers))
        and (not types & ARRAY or b.arrays is None or has_arrays(a.arrays, b.arrays, judge))
        and (not types & OBJECT or b.objects is None or has_objects(a.objects, b.objects, judge))
    )


cdef bint reaches(least_a, most_a, least_b, most_b) except -1:
    """Whether the bounds of ``a`` lie within those of ``b``."""
    return least_a >= least_b and (most_b is None or (most_a is not None and most_a <= most_b))


cdef bint has_named(tuple a, tuple b) except -1:
    cdef Named each
    if not b:
        return True
    texts = {(<Named>each).text for each in a}
    for each in b:
        if each.text not in texts:
            return False
    return True


cdef bint has_place(tuple a, tuple b, Judge judge) except -1:
    """Whether ``a`` holds every schema of ``b``."""
    cdef Located each
    if not b or is_false(a):
        return True
    for each in b:
        if not judge.holds(a, each.schema):
            return False
    return True


cdef bint has_all(tuple a, tuple b) except -1:
    """By identity."""
    return {id(each) for each in b} <= {id(each) for each in a}


cdef bint has_strings(Strings a, Strings b) except -1:
    if a is None:
        return False
    return (
        reaches(a.minimum, a.maximum, b.minimum, b.maximum)
        and has_named(a.patterns, b.patterns) and has_named(a.formats, b.formats)
        and has_named(a.without, b.without) and set(b.barred) <= set(a.barred)
    )


cdef bint has_numbers(Numbers a, Numbers b) except -1:
    if a is None:
        return False
    return (
        (b.low is None or (a.low is not None and (
            a.low > b.low or (a.low == b.low and (a.low_open or not b.low_open)))))
        and (b.high is None or (a.high is not None and (
            a.high < b.high or (a.high == b.high and (a.high_open or not b.high_open)))))
        and has_named(a.multiples, b.multiples) and has_named(a.foreign, b.foreign)
        and set(b.barred) <= set(a.barred) and b.is_plain <= a.is_plain
    )


cdef bint has_arrays(Arrays a, Arrays b, Judge judge) except -1:
    cdef Py_ssize_t n
    if a is None or not reaches(a.minimum, a.maximum, b.minimum, b.maximum):
        return False
    for n in range(max(len(a.prefix), len(b.prefix))):
        if not has_place(
            <tuple>a.prefix[n] if n < len(a.prefix) else a.rest,
            <tuple>b.prefix[n] if n < len(b.prefix) else b.rest,
            judge,
        ):
            return False
    return (
        has_place(a.rest, b.rest, judge) and has_all(a.counts, b.counts)
        and (b.unique is None or a.unique is not None))


cdef bint has_objects(Objects a, Objects b, Judge judge) except -1:
    cdef PyObject* own
    if a is None or (b.required and (a.wanted is None or not b.wanted <= a.wanted)):
        return False
    if not reaches(max(a.minimum, len(a.required)), a.maximum, b.minimum, b.maximum):
        return False
    spend(judge.budget, (weight_of(a) + weight_of(b)) // 2)
    for name, property in b.properties.items():
        own = PyDict_GetItemWithError(a.properties, name)
        if own != NULL and a.has_met == b.has_met and <object>own is property:
            continue
        if not has_place(a.place_of(name, judge), b.place_in(name, property), judge):
            return False
    for name, property in a.properties.items():
        if name not in b.properties and not has_place(a.place_in(name, property), b.place_of(name, judge), judge):
            return False
    return (
        has_place(a.rest, b.rest, judge) and has_all(a.keyed, b.keyed) and has_place(a.names, b.names, judge)
        and has_all(a.some, b.some))
