"""Schema types and their intersection.

These objects form no reference cycles, because a document has none, so they are excluded from garbage collection,
which would otherwise take most of the time for large schemas.
"""

cimport cython
from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject

from ...native.resources cimport WorkBudget, spend
from .evaluator cimport Evaluator

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


cdef bint applies(Keyed keyed, str name, Evaluator evaluator) except -1:
    cdef ConstraintText pattern
    if name in keyed.excluded:
        return False
    for pattern in keyed.patterns:
        if evaluator.matches(pattern, name):
            return keyed.is_match
    return not keyed.is_match


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


cdef tuple place_of(Objects objects, name, Evaluator evaluator):
    cdef PyObject* property = PyDict_GetItemWithError(objects.properties, name)
    cdef Keyed each
    cdef tuple place = objects.rest
    if property != NULL:
        return objects.place_in(name, <object>property)
    for each in objects.keyed:
        if applies(each, name, evaluator):
            place = both(place, each.place, evaluator)
    return place


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


# -- intersection ----------------------------------------------------------------------------------


cdef SchemaType intersect(SchemaType a, SchemaType b, Evaluator evaluator):
    """Return the intersection of two alternatives; None if it is seen to be empty."""
    cdef int types = a.types & b.types
    cdef SchemaType schema_type
    spend(evaluator.budget, 1)
    if a is ANYTHING:
        return b
    if b is ANYTHING:
        return a
    if not types:
        return None
    if a.values is not None or b.values is not None:
        schema_type = intersect_values(a, b, evaluator) if a.values is not None else intersect_values(b, a, evaluator)
    else:
        schema_type = intersect_constraints(a, b, types, evaluator)
    if schema_type is not None:
        schema_type.evaluated = intersect_evaluated(a.evaluated, b.evaluated)
    return schema_type


cdef SchemaType intersect_constraints(SchemaType a, SchemaType b, int types, Evaluator evaluator):
    """Intersect alternatives without listed values; types without any value left are dropped."""
    cdef Strings strings
    cdef Numbers numbers
    cdef Arrays arrays
    cdef Objects objects
    if types & OBJECT and disjoint_objects(a, b, evaluator):
        types &= ~OBJECT
        if not types:
            return None
    strings = intersect_strings(a.strings, b.strings, evaluator) if types & STRING else None
    numbers = intersect_numbers(a.numbers, b.numbers, evaluator.budget) if types & NUMBER else None
    arrays = intersect_arrays(a.arrays, b.arrays, evaluator) if types & ARRAY else None
    objects = intersect_objects(a.objects, b.objects, evaluator) if types & OBJECT else None
    if strings is not None and (
        crossed(strings.minimum, strings.maximum) or have_common(strings.patterns, strings.without)
    ):
        types, strings = types & ~STRING, None
    if numbers is not None and (
        is_crossed(numbers) or have_common(numbers.multiples, numbers.foreign)
    ):
        types, numbers = types & ~NUMBER, None
    if arrays is not None and crossed(arrays.minimum, arrays.maximum):
        types, arrays = types & ~ARRAY, None
    if objects is not None and crossed(max(objects.minimum, len(objects.required)), objects.maximum):
        types, objects = types & ~OBJECT, None
    if not types:
        return None
    return new_type(
        types, None, strings, numbers, arrays, objects,
        intersect_refusals(a.refused, b.refused, types) if a.refused or b.refused else ())


cdef bint disjoint_objects(SchemaType a, SchemaType b, Evaluator evaluator) except -1:
    """Whether it is seen at once that no object fits both."""
    return a.objects is not None and b.objects is not None and evaluator.facts.disjoint_members(a.objects, b.objects)


cdef bint crossed(minimum, maximum) except -1:
    return maximum is not None and maximum < minimum


cdef bint is_crossed(Numbers numbers) except -1:
    if numbers.low is None or numbers.high is None:
        return False
    return numbers.low > numbers.high or (
        numbers.low == numbers.high and (numbers.low_open or numbers.high_open))


cdef set texts_in(tuple constraints):
    cdef ConstraintText each
    return {each.text for each in constraints}


cdef bint have_common(tuple a, tuple b) except -1:
    """Whether a text is both required and excluded."""
    return a and b and not texts_in(a).isdisjoint(texts_in(b))


cdef SchemaType intersect_values(SchemaType some, SchemaType other, Evaluator evaluator):
    """Keep the values of ``some`` that fit ``other``."""
    cdef list values = [value for value in some.values if evaluator.fits_type(other, value)]
    if not values:
        return None
    return new_type(
        some.types & other.types, tuple(values), some.strings, some.numbers, some.arrays, some.objects, some.refused)


cdef tuple joined(tuple a, tuple b):
    """Return the members of both, each once: operands may stem from one schema."""
    if a is b or not b:
        return a
    if not a:
        return b
    known = {id(each) for each in a}
    return a + tuple([each for each in b if id(each) not in known])


cdef tuple intersect_refusals(tuple a, tuple b, int types):
    cdef Refusal each
    return tuple([each for each in joined(a, b) if each.types & types])


cdef Evaluated intersect_evaluated(Evaluated a, Evaluated b):
    if a is None or b is None:
        return b if a is None else a
    return new_evaluated(
        a.names | b.names,
        united_texts(a.patterns, b.patterns),
        max(a.items, b.items),
        joined(a.contained, b.contained),
        a.all_members or b.all_members,
        a.all_items or b.all_items,
    )


cdef smaller_bound(a, b):
    """Return the smaller of two upper bounds; None is no bound."""
    return b if a is None else a if b is None else min(a, b)


cdef Strings intersect_strings(Strings a, Strings b, Evaluator evaluator):
    if a is None or b is None:
        return b if a is None else a
    spend(evaluator.budget, (texts_of(a) + texts_of(b)) // TEXTS_PER_STEP)
    made = new_strings(
        max(a.minimum, b.minimum),
        smaller_bound(a.maximum, b.maximum),
        united_texts(a.patterns, b.patterns),
        united_texts(a.formats, b.formats),
        united_texts(a.without, b.without),
        together(a.barred, b.barred),
    )
    made.where = a.where or b.where
    return made


cdef Py_ssize_t texts_of(Strings strings) except -1:
    return len(strings.patterns) + len(strings.formats) + len(strings.without) + len(strings.barred)


cdef Py_ssize_t divisors_of(Numbers numbers) except -1:
    return len(numbers.multiples) + len(numbers.foreign) + len(numbers.barred)


cdef tuple united_texts(tuple a, tuple b):
    cdef ConstraintText each
    cdef set known
    if not b:
        return a
    known = texts_in(a)
    return a + tuple([each for each in b if each.text not in known])


cdef tuple together(tuple a, tuple b):
    """Return the values of both, each once."""
    return tuple(dict.fromkeys(a + b)) if a and b else a or b


cdef Numbers intersect_numbers(Numbers a, Numbers b, WorkBudget budget):
    cdef bint low_open, high_open
    if a is None or b is None:
        return b if a is None else a
    spend(budget, (divisors_of(a) + divisors_of(b)) // TEXTS_PER_STEP)
    low_open, high_open = a.low_open, a.high_open
    low, high = a.low, a.high
    if b.low is not None and (low is None or b.low > low or (b.low == low and b.low_open and not low_open)):
        low, low_open = b.low, b.low_open
    if b.high is not None and (high is None or b.high < high or (b.high == high and b.high_open and not high_open)):
        high, high_open = b.high, b.high_open
    made = new_numbers(
        low,
        low_open,
        high,
        high_open,
        united_texts(a.multiples, b.multiples),
        united_texts(a.foreign, b.foreign),
        together(a.barred, b.barred),
    )
    made.is_plain, made.where = a.is_plain or b.is_plain, a.where or b.where
    return made


cdef tuple both(tuple a, tuple b, Evaluator evaluator):
    """Return the place where all schemas of both places apply."""
    cdef Location each
    cdef list more
    if not a or not b:
        return a or b
    spend(evaluator.budget, (<Py_ssize_t>len(a) + <Py_ssize_t>len(b)) // TEXTS_PER_STEP)
    narrower = evaluator.facts.narrower(a, b)
    if narrower is not None:
        return narrower
    more = [each for each in b if not evaluator.facts.holds(a, each.schema)]
    return a + tuple(more) if more else a


cdef Arrays intersect_arrays(Arrays a, Arrays b, Evaluator evaluator):
    """Intersect arrays. Counts that apply to all items become bounds on the length; others stay."""
    cdef Py_ssize_t n, of_a, of_b
    cdef Arrays arrays
    if a is None or b is None:
        return b if a is None else a
    of_a, of_b = len(a.prefix), len(b.prefix)
    spend(evaluator.budget, (of_a + of_b) // 2)
    arrays = new_arrays(
        tuple([both(a.item(n), b.item(n), evaluator) for n in range(max(of_a, of_b))]),
        both(a.rest, b.rest, evaluator),
        max(a.minimum, b.minimum),
        smaller_bound(a.maximum, b.maximum),
        joined(a.counts, b.counts),
        a.unique or b.unique,
    )
    return with_counts_of_all(arrays, evaluator) if arrays.counts else arrays


cdef Arrays with_counts_of_all(Arrays arrays, Evaluator evaluator):
    cdef Count each
    cdef list kept = []
    minimum, maximum = arrays.minimum, arrays.maximum
    spend(evaluator.budget, 2 * <Py_ssize_t>len(arrays.counts) * (1 + <Py_ssize_t>len(arrays.prefix)))
    for each in arrays.counts:
        places = set([*arrays.prefix[each.first :], arrays.rest])
        if all([evaluator.facts.are_disjoint(<tuple>place, each.place) for place in places]):
            # no item can match
            if each.minimum:
                maximum = -1
        elif all([evaluator.facts.is_implied(<tuple>place, each.place) for place in places]):
            if each.minimum:
                minimum = max(minimum, each.first + each.minimum)
            if each.maximum is not None:
                maximum = smaller_bound(maximum, each.first + each.maximum)
        else:
            kept.append(each)
    return new_arrays(arrays.prefix, arrays.rest, minimum, maximum, tuple(kept), arrays.unique)


cdef Py_ssize_t weight_of(Objects objects) except -1:
    """Return the approximate number of steps to visit all constraints of members."""
    return 1 + (
        <Py_ssize_t>len(objects.properties) + <Py_ssize_t>len(objects.required)
        + <Py_ssize_t>len(objects.keyed) + <Py_ssize_t>len(objects.some)) // 4


cdef Objects intersect_objects(Objects a, Objects b, Evaluator evaluator):
    """Intersect objects. Keys keep the order of ``a``, followed by those that only ``b`` lists."""
    cdef dict properties = {}
    if a is None or b is None:
        return b if a is None else a
    spend(evaluator.budget, weight_of(a) + weight_of(b))
    for name, property in a.properties.items():
        properties[name] = both(a.place_in(name, property), place_of(b, name, evaluator), evaluator)
    for name, property in b.properties.items():
        if name not in properties:
            properties[name] = both(place_of(a, name, evaluator), b.place_in(name, property), evaluator)
    required = dict.fromkeys(a.required + b.required)
    made = new_objects(
        properties,
        True,
        tuple(required),
        set(required) if required else None,
        both(a.rest, b.rest, evaluator),
        max(a.minimum, b.minimum),
        smaller_bound(a.maximum, b.maximum),
        a.where,
    )
    return keyed_objects(made, joined(a.keyed, b.keyed), both(a.names, b.names, evaluator), joined(a.some, b.some))
