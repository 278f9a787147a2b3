"""Shapes and their meeting: see the header file.

None of these objects can be part of a circle, since a document can't: so they are nothing to the
garbage collector, which would otherwise take most of the time that large schemas need.
"""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject

from ...errors import UnsupportedSchema


@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Located:
    cdef str pointer(self):
        if self.known is None:
            self.known = self.above.at(self.keyword)
            if self.key is not None:
                key = self.key.replace("~", "~0").replace("/", "~1") if isinstance(self.key, str) else str(self.key)
                self.known += "/" + key
        return self.known

    cdef str at(self, str keyword):
        """The pointer of one of the schema's keywords."""
        return self.pointer() + "/" + keyword

    def __str__(self):
        """As the name of a rule, which outlives the schema."""
        return self.pointer() or "/"

    cdef void release(self) noexcept:
        """Lets go of the schema and of those above it."""
        cdef Located at = self
        while at is not None and at.schema is not None:
            at.schema = None
            at = at.above


cdef Located root_place(schema, str pointer):
    cdef Located made = Located.__new__(Located)
    made.schema, made.known = schema, pointer
    return made


cdef Located located(schema, Located above, str keyword, key):
    cdef Located made = Located.__new__(Located)
    made.schema, made.above, made.keyword, made.key = schema, above, keyword, key
    return made


cdef tuple place_at(schema, Located above, str keyword, key):
    return () if schema is True else (located(schema, above, keyword, key),)


@cython.final
@cython.no_gc
cdef class Named:
    cdef str pointer(self):
        return self.where.at(self.keyword)


cdef Named named(str text, Located where, str keyword):
    cdef Named made = Named.__new__(Named)
    made.text, made.where, made.keyword = text, where, keyword
    return made


@cython.final
@cython.no_gc
cdef class Refusal:
    pass


cdef Refusal refusal(int types, Located where, str keyword, str message):
    """``message`` "" is the usual one."""
    cdef Refusal made = Refusal.__new__(Refusal)
    made.types, made.where, made.keyword, made.message = types, where, keyword, message
    return made


@cython.final
@cython.no_gc
cdef class Strings:
    pass


cdef Strings new_strings(minimum, maximum, tuple patterns, tuple formats):
    cdef Strings made = Strings.__new__(Strings)
    made.minimum, made.maximum, made.patterns, made.formats = minimum, maximum, patterns, formats
    return made


@cython.final
@cython.no_gc
cdef class Numbers:
    pass


cdef Numbers new_numbers(low, bint low_open, high, bint high_open):
    cdef Numbers made = Numbers.__new__(Numbers)
    made.low, made.low_open, made.high, made.high_open = low, low_open, high, high_open
    return made


@cython.final
@cython.no_gc
cdef class Arrays:
    pass


cdef Arrays new_arrays(tuple prefix, tuple rest, minimum, maximum):
    cdef Arrays made = Arrays.__new__(Arrays)
    made.prefix, made.rest, made.minimum, made.maximum = prefix, rest, minimum, maximum
    return made


@cython.final
@cython.freelist(16)
@cython.no_gc
cdef class Objects:
    cdef tuple place_of(self, name):
        cdef PyObject* property = PyDict_GetItemWithError(self.properties, name)
        return self.rest if property == NULL else self.place_in(name, <object>property)

    cdef tuple place_in(self, name, property):
        """The place of a listed name, from what is listed."""
        return <tuple>property if self.has_met else place_at(property, self.where, "properties", name)


cdef Objects new_objects(
    dict properties, bint has_met, tuple required, set wanted, tuple rest, minimum, maximum, Located where
):
    cdef Objects made = Objects.__new__(Objects)
    made.properties, made.has_met, made.required, made.wanted = properties, has_met, required, wanted
    made.rest = rest
    made.minimum, made.maximum, made.where = minimum, maximum, where
    return made


@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Shape:
    cdef int check(self, int types) except -1:
        """
        Raises:
            UnsupportedSchema: the first keyword that constrains one of these types and can't be
            enforced.
        """
        cdef Refusal each
        for each in self.refused:
            if each.types & self.types & types:
                raise UnsupportedSchema(each.where.at(each.keyword), each.keyword, each.message)
        return 0


cdef Shape new_shape(
    int types, tuple values, Strings strings, Numbers numbers, Arrays arrays, Objects objects, tuple refused
):
    cdef Shape made = Shape.__new__(Shape)
    made.types, made.values, made.strings, made.numbers = types, values, strings, numbers
    made.arrays, made.objects, made.refused = arrays, objects, refused
    return made


cdef Shape listed(tuple values):
    return new_shape(ALL, values, None, None, None, None, ())


ANYTHING = new_shape(ALL, None, None, None, None, None, ())
ANYTHING_ONLY = (ANYTHING,)


cdef class Judge:
    cdef bint fits_shape(self, Shape shape, value) except -1:
        raise NotImplementedError


# -- meeting -------------------------------------------------------------------------------------


cdef Shape meet(Shape a, Shape b, Judge judge):
    """The shape of what fits both; None where nothing does. ``judge`` judges single values."""
    cdef int types = a.types & b.types
    if a is ANYTHING:
        return b
    if b is ANYTHING:
        return a
    if not types:
        return None
    if a.values is not None or b.values is not None:
        return meet_values(a, b, judge) if a.values is not None else meet_values(b, a, judge)
    return new_shape(
        types,
        None,
        meet_strings(a.strings, b.strings) if types & STRING else None,
        meet_numbers(a.numbers, b.numbers) if types & NUMBER else None,
        meet_arrays(a.arrays, b.arrays) if types & ARRAY else None,
        meet_objects(a.objects, b.objects) if types & OBJECT else None,
        meet_refusals(a.refused, b.refused, types) if a.refused or b.refused else (),
    )


cdef Shape meet_values(Shape some, Shape other, Judge judge):
    """``some`` lists its values; of the other facets of both, none is asked for again."""
    cdef list values = []
    for value in some.values:
        if judge.fits_shape(other, value):
            values.append(value)
    if not values:
        return None
    return new_shape(
        some.types & other.types, tuple(values), some.strings, some.numbers, some.arrays, some.objects, some.refused)


cdef tuple meet_refusals(tuple a, tuple b, int types):
    cdef Refusal each
    cdef list found = []
    for each in a + b:
        if each.types & types:
            found.append(each)
    return tuple(found)


cdef least(a, b):
    """The smaller of two upper bounds; None is no bound."""
    return b if a is None else a if b is None else min(a, b)


cdef Strings meet_strings(Strings a, Strings b):
    if a is None or b is None:
        return b if a is None else a
    return new_strings(
        max(a.minimum, b.minimum),
        least(a.maximum, b.maximum),
        united(a.patterns, b.patterns),
        united(a.formats, b.formats),
    )


cdef tuple united(tuple a, tuple b):
    cdef Named each
    cdef set known = set()
    cdef list more = []
    if not b:
        return a
    for each in a:
        known.add(each.text)
    for each in b:
        if each.text not in known:
            more.append(each)
    return a + tuple(more)


cdef Numbers meet_numbers(Numbers a, Numbers b):
    cdef bint low_open, high_open
    if a is None or b is None:
        return b if a is None else a
    low_open, high_open = a.low_open, a.high_open
    low, high = a.low, a.high
    if b.low is not None and (low is None or b.low > low or (b.low == low and b.low_open and not low_open)):
        low, low_open = b.low, b.low_open
    if b.high is not None and (high is None or b.high < high or (b.high == high and b.high_open and not high_open)):
        high, high_open = b.high, b.high_open
    return new_numbers(low, low_open, high, high_open)


cdef tuple both(tuple a, tuple b):
    """The place at which all schemas of both hold."""
    cdef Located each, known
    cdef list more = []
    if not a or not b:
        return a or b
    for each in b:
        for known in a:
            if known.schema is each.schema:
                break
        else:
            more.append(each)
    return a + tuple(more)


cdef Arrays meet_arrays(Arrays a, Arrays b):
    cdef Py_ssize_t n, of_a, of_b
    cdef list prefix = []
    if a is None or b is None:
        return b if a is None else a
    of_a, of_b = len(a.prefix), len(b.prefix)
    for n in range(max(of_a, of_b)):
        prefix.append(both(
            <tuple>a.prefix[n] if n < of_a else a.rest,
            <tuple>b.prefix[n] if n < of_b else b.rest,
        ))
    return new_arrays(
        tuple(prefix), both(a.rest, b.rest), max(a.minimum, b.minimum), least(a.maximum, b.maximum))


cdef Objects meet_objects(Objects a, Objects b):
    """Keys keep the order of ``a``; those that only ``b`` lists follow."""
    cdef dict properties = {}
    if a is None or b is None:
        return b if a is None else a
    for name, property in a.properties.items():
        properties[name] = both(a.place_in(name, property), b.place_of(name))
    for name, property in b.properties.items():
        if name not in properties:
            properties[name] = both(a.rest, b.place_in(name, property))
    required = dict.fromkeys(a.required + b.required)
    return new_objects(
        properties,
        True,
        tuple(required),
        set(required) if required else None,
        both(a.rest, b.rest),
        max(a.minimum, b.minimum),
        least(a.maximum, b.maximum),
        a.where,
    )
