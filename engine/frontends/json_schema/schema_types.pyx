"""Schema types.

These objects form no reference cycles, because a document has none, so they are excluded from garbage collection,
which would otherwise take most of the time for large schemas.
"""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject

from ...errors import UnsupportedSchema
from ...json_pointer import escape


@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Location:
    cdef str pointer(self):
        if self.known is None:
            self.known = self.path()
        return self.known

    cdef str path(self):
        """Return the pointer without storing it."""
        cdef Location at = self
        cdef list parts = []
        while at.known is None:
            if at.key is not None:
                parts.append(escape(str(at.key)))
            parts.append(at.keyword)
            at = at.above
        parts.append(at.known)
        return "/".join(reversed(parts))

    cdef str at(self, str keyword):
        """Return the pointer of one of the schema's keywords."""
        return self.pointer() + "/" + keyword

    def __str__(self):
        """Return a name for a rule, which outlives the schema."""
        return self.path() or "/"

    cdef void release(self) noexcept:
        """Drop the references to the schema and to those above it."""
        cdef Location at = self
        while at is not None and at.schema is not None:
            at.schema = None
            at = at.above


cdef Location root_place(schema, str pointer):
    cdef Location location = Location.__new__(Location)
    location.schema, location.known = schema, pointer
    return location


cdef Location location_at(schema, Location above, str keyword, key):
    cdef Location location = Location.__new__(Location)
    location.schema, location.above, location.keyword, location.key = schema, above, keyword, key
    return location


cdef tuple place_at(schema, Location above, str keyword, key):
    return () if schema is True else (location_at(schema, above, keyword, key),)


@cython.final
@cython.no_gc
cdef class Derived:
    pass


@cython.final
@cython.no_gc
cdef class ConstraintText:
    cdef str pointer(self):
        return self.where.at(self.keyword)


cdef ConstraintText constraint_text(str text, Location where, str keyword):
    cdef ConstraintText constraint = ConstraintText.__new__(ConstraintText)
    constraint.text, constraint.where, constraint.keyword = text, where, keyword
    return constraint


cdef set texts_in(tuple constraints):
    cdef ConstraintText each
    return {each.text for each in constraints}


@cython.final
@cython.no_gc
cdef class Refusal:
    pass


cdef Refusal refusal(int types, Location where, str keyword, str message):
    """Return a refusal; ``message`` "" is the default one."""
    cdef Refusal made = Refusal.__new__(Refusal)
    made.types, made.where, made.keyword, made.message = types, where, keyword, message
    return made


@cython.final
@cython.no_gc
cdef class Strings:
    pass


cdef Strings new_strings(
    minimum, maximum, tuple patterns, tuple formats, tuple without, tuple barred
):
    cdef Strings strings = Strings.__new__(Strings)
    strings.minimum, strings.maximum, strings.patterns, strings.formats = minimum, maximum, patterns, formats
    strings.without, strings.barred = without, barred
    return strings


@cython.final
@cython.no_gc
cdef class Numbers:
    pass


cdef Numbers new_numbers(
    low, bint low_open, high, bint high_open, tuple multiples, tuple foreign, tuple barred
):
    cdef Numbers numbers = Numbers.__new__(Numbers)
    numbers.low, numbers.low_open, numbers.high, numbers.high_open = low, low_open, high, high_open
    numbers.multiples, numbers.foreign, numbers.barred, numbers.is_plain = multiples, foreign, barred, False
    return numbers


@cython.final
@cython.no_gc
cdef class Count:
    pass


cdef Count new_count(tuple place, Py_ssize_t first, minimum, maximum, Location where):
    cdef Count count = Count.__new__(Count)
    count.place, count.first, count.minimum, count.maximum = place, first, minimum, maximum
    count.where = where
    return count


@cython.final
@cython.no_gc
cdef class Arrays:
    cdef tuple item(self, Py_ssize_t n):
        """Return the place of an item."""
        return <tuple>self.prefix[n] if n < len(self.prefix) else self.rest


cdef Arrays new_arrays(
    tuple prefix, tuple rest, minimum, maximum, tuple counts, Location unique
):
    cdef Arrays arrays = Arrays.__new__(Arrays)
    arrays.prefix, arrays.rest, arrays.minimum, arrays.maximum = prefix, rest, minimum, maximum
    arrays.counts, arrays.unique = counts, unique
    return arrays


@cython.final
@cython.no_gc
cdef class Keyed:
    pass


cdef Keyed new_keyed(tuple patterns, bint is_match, frozenset excluded, tuple place):
    cdef Keyed keyed = Keyed.__new__(Keyed)
    keyed.patterns, keyed.is_match, keyed.excluded, keyed.place = patterns, is_match, excluded, place
    return keyed


@cython.final
@cython.freelist(16)
@cython.no_gc
cdef class Objects:
    cdef bint is_plain(self) noexcept:
        """Whether keys have no constraints other than being listed or not."""
        return not (self.keyed or self.names or self.some)

    cdef tuple place_in(self, name, property):
        """Return the place of a listed name."""
        cdef PyObject* known
        if self.is_intersection:
            return <tuple>property
        if self.places is None:
            self.places = {}
        known = PyDict_GetItemWithError(self.places, name)
        if known != NULL:
            return <tuple><object>known
        made = place_at(property, self.where, "properties", name)
        self.places[name] = made
        return made


cdef Objects new_objects(
    dict properties, bint is_intersection, tuple required, set wanted, tuple rest, minimum, maximum, Location where
):
    """Return objects without constraints of keys."""
    cdef Objects objects = Objects.__new__(Objects)
    objects.properties, objects.is_intersection, objects.where = properties, is_intersection, where
    objects.required, objects.wanted, objects.rest = required, wanted, rest
    objects.minimum, objects.maximum = minimum, maximum
    objects.keyed = objects.names = objects.some = ()
    return objects


cdef Objects keyed_objects(Objects objects, tuple keyed, tuple names, tuple some):
    """Add constraints of keys to an object that is not shared yet."""
    objects.keyed, objects.names, objects.some = keyed, names, some
    return objects


@cython.final
@cython.no_gc
cdef class Evaluated:
    cdef bint covers(self, Evaluated other) except -1:
        """Whether this includes everything that the other one includes."""
        if other is None:
            return True
        return (
            (self.all_members or (
                not other.all_members and other.names <= self.names
                and texts_in(other.patterns) <= texts_in(self.patterns)))
            and (self.all_items or (
                not other.all_items and other.items <= self.items and not other.contained))
        )


cdef Evaluated new_evaluated(
    frozenset names, tuple patterns, Py_ssize_t items, tuple contained, bint all_members, bint all_items
):
    cdef Evaluated evaluated = Evaluated.__new__(Evaluated)
    evaluated.names, evaluated.patterns, evaluated.items, evaluated.contained = names, patterns, items, contained
    evaluated.all_members, evaluated.all_items = all_members, all_items
    return evaluated


@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class SchemaType:
    cdef int check(self, int types) except -1:
        """Check that no refusal applies.

        Raises:
            UnsupportedSchema: the first unenforceable keyword that constrains one of these types.
        """
        cdef Refusal each
        for each in self.refused:
            if each.types & self.types & types:
                raise UnsupportedSchema(each.where.at(each.keyword), each.keyword, each.message)
        return 0


cdef SchemaType new_type(
    int types, tuple values, Strings strings, Numbers numbers, Arrays arrays, Objects objects, tuple refused
):
    cdef SchemaType schema_type = SchemaType.__new__(SchemaType)
    schema_type.types, schema_type.values, schema_type.strings, schema_type.numbers = types, values, strings, numbers
    schema_type.arrays, schema_type.objects, schema_type.refused = arrays, objects, refused
    return schema_type


cdef SchemaType with_evaluated(SchemaType schema_type, Evaluated evaluated):
    cdef SchemaType made = new_type(
        schema_type.types, schema_type.values, schema_type.strings, schema_type.numbers,
        schema_type.arrays, schema_type.objects, schema_type.refused)
    made.evaluated = evaluated
    return made


cdef tuple without_evaluated(tuple alternatives):
    cdef SchemaType schema_type
    for schema_type in alternatives:
        if schema_type.evaluated is not None:
            return tuple([with_evaluated(schema_type, None) for schema_type in alternatives])
    return alternatives


cdef SchemaType listed(tuple values):
    return new_type(ALL, values, None, None, None, None, ())


ANYTHING = new_type(ALL, None, None, None, None, None, ())
ANYTHING_ONLY = (ANYTHING,)
