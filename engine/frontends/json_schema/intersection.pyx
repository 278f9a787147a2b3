"""Intersections of alternatives, and the constraints that apply under a key."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject

from ...native.resources cimport WorkBudget, spend
from .evaluator cimport Evaluator
from .schema_types cimport (
    ANYTHING, ARRAY, NUMBER, OBJECT, STRING, TEXTS_PER_STEP, Arrays, ConstraintText, Count, Evaluated, Keyed, Location,
    Numbers, Objects, Refusal, SchemaType, Strings, keyed_objects, new_arrays, new_evaluated, new_numbers, new_objects,
    new_strings, new_type, texts_in,
)


cdef bint applies(Keyed keyed, str name, Evaluator evaluator) except -1:
    cdef ConstraintText pattern
    if name in keyed.excluded:
        return False
    for pattern in keyed.patterns:
        if evaluator.matches(pattern, name):
            return keyed.is_match
    return not keyed.is_match


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
    made.lists_members, made.rules_others = a.lists_members or b.lists_members, a.rules_others or b.rules_others
    return keyed_objects(made, joined(a.keyed, b.keyed), both(a.names, b.names, evaluator), joined(a.some, b.some))
