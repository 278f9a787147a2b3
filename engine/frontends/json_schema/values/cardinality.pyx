"""CountedMembers of values, by type and place."""

from ....native.resources cimport WorkBudget, spend
from ..evaluator cimport identity
from ..intersection cimport place_key
from ..reader cimport SchemaReader
from ..schema_types cimport (
    ARRAY, BOOLEAN, FRACTION, INTEGER, NULL_TYPE, OBJECT, STRING, Arrays, Location, ConstraintText, Numbers,
    Objects, SchemaType, Strings,
)

from fractions import Fraction
from math import ceil, floor, gcd, lcm

from ....errors import LimitExceeded
from ...regex.char_automaton import Bound, intersection

#: levels of arrays and objects that are counted, far more than real schemas have; each takes four
#: frames of the stack
cdef int LEVELS = 32
#: items of one array whose numbers of values are multiplied
cdef int MOST_ITEMS = 1_000
cdef RangeC ANY_NUMBER_OF_VALUES = RangeC(UNLIMITED, UNLIMITED)


cdef Cardinality new_cardinality(SchemaReader reader, bint any_order):
    cdef Cardinality made = Cardinality.__new__(Cardinality)
    made.reader, made.any_order = reader, any_order
    if reader._ranges is None:
        reader._ranges, reader._distinct = {}, {}
    return made


cdef RangeC between(least, most):
    return RangeC(<long long>min(max(least, 0), UNLIMITED), <long long>min(max(most, 0), UNLIMITED))


cdef class Cardinality:
    cdef tuple key_of(self, tuple place):
        cdef Location each
        return place_key(tuple([self.reader.target(each) for each in place]))

    cdef RangeC of_place(self, tuple place, int levels) except *:
        cdef RangeC found
        key = self.key_of(place)
        spend(self.reader.budget, 1)
        known = self.reader._ranges.get(key)
        if known is not None:
            return RangeC(known[0], known[1])
        if levels > LEVELS:
            return RangeC(0, UNLIMITED)
        # the result for the place inside itself; the entry keeps the schemas alive
        self.reader._ranges[key] = 0, UNLIMITED, place
        found = self.counted(place, levels)
        self.reader._ranges[key] = found.least, found.most, place
        return found

    cdef RangeC counted(self, tuple place, int levels) except *:
        """Count listed values and those of each type: types are disjoint, alternatives may overlap."""
        cdef SchemaType schema_type
        cdef RangeC each
        cdef int kind
        cdef set listed = set()
        cdef tuple alternatives
        alternatives = self.reader.alternatives_at(place)
        spend(self.reader.budget, len(alternatives))
        for schema_type in alternatives:
            if schema_type.values is not None:
                listed.update([identity(value) for value in schema_type.values])
        least, most = 0, len(listed)
        for kind in (NULL_TYPE, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT):
            best = 0
            for schema_type in alternatives:
                if schema_type.values is None and schema_type.types & kind:
                    each = self.of_type(schema_type, kind, levels)
                    best = max(best, each.least)
                    most += each.most
            least += best
        return between(max(least, <long long>len(listed)), most)

    cdef RangeC of_type(self, alternative, int kind, int levels) except *:
        cdef SchemaType schema_type = alternative
        if kind == NULL_TYPE:
            return RangeC(1, 1)
        if kind == BOOLEAN:
            return RangeC(2, 2)
        if kind == STRING:
            return self.of_strings(schema_type.strings)
        if kind == ARRAY:
            return self.of_array(schema_type.arrays, levels)
        if kind == OBJECT:
            return self.of_object(schema_type.objects, levels)
        return self.of_numbers(schema_type.numbers, kind == INTEGER)

    cdef RangeC of_strings(self, Strings strings) except *:
        if strings is None:
            return ANY_NUMBER_OF_VALUES
        if strings.patterns or strings.formats or strings.without:
            found = self.automaton_of(strings)
            if found is None:
                return RangeC(0, UNLIMITED)
            some = words_of(found, strings.minimum, strings.maximum, self.reader.budget)
        else:
            some = UNLIMITED if strings.maximum is None or strings.maximum > 0 else 1
        return between(some - len(strings.barred), some)

    cdef automaton_of(self, Strings strings):
        """Return the automaton of all patterns and formats; None: it has too many states."""
        cdef ConstraintText each
        cdef list accepting = [self.reader.pattern(each) for each in strings.patterns]
        accepting += [self.reader.format(each, strings.minimum > 0) for each in strings.formats]
        rejecting = [self.reader.pattern(each) for each in strings.without]
        bound = Bound(self.reader.limits.pattern_states, "", self.reader.budget)
        try:
            return intersection(accepting, rejecting, bound)
        except LimitExceeded as error:
            if error.limit != "pattern_states":
                raise
            return None

    cdef RangeC of_numbers(self, numbers_, bint whole) except *:
        """Count the whole numbers, or all others."""
        cdef Numbers numbers = numbers_
        if numbers is None:
            return ANY_NUMBER_OF_VALUES
        steps = [Fraction((<ConstraintText>each).text) for each in numbers.multiples]
        if numbers.foreign:
            return RangeC(0, UNLIMITED)
        if not steps and not whole:
            is_one = numbers.low is not None and numbers.high is not None and numbers.low >= numbers.high
            return RangeC(0, 1) if is_one else ANY_NUMBER_OF_VALUES
        if numbers.low is None or numbers.high is None:
            return ANY_NUMBER_OF_VALUES if whole else RangeC(0, UNLIMITED)
        own = multiples_between(numbers, period_of(steps)) if steps else 0
        units = multiples_between(numbers, period_of(steps + [Fraction(1)]))
        found = units if whole else own - units
        return between(found - len(numbers.barred), found)

    cdef RangeC of_array(self, Arrays arrays, int levels) except *:
        cdef RangeC each
        cdef Py_ssize_t n = 0
        if arrays is None:
            return ANY_NUMBER_OF_VALUES
        if arrays.counts:
            return RangeC(0, UNLIMITED)
        least = most = 0
        some = many = 1
        while n <= MOST_ITEMS:
            if n >= arrays.minimum:
                least, most = least + some, most + many
            if n == arrays.maximum or least >= UNLIMITED or many == 0:
                return between(least, most)
            each = self.of_place(arrays.prefix[n] if n < len(arrays.prefix) else arrays.rest, levels + 1)
            if n >= len(arrays.prefix) and arrays.maximum is None and (
                    arrays.unique is None or each.least == UNLIMITED):
                # the array may have any number of such items
                return between(UNLIMITED if each.least and some else least, UNLIMITED if each.most and many else most)
            left = each.least if arrays.unique is None or each.least == UNLIMITED else max(each.least - n, 0)
            some, many = min(some * left, UNLIMITED), min(many * each.most, UNLIMITED)
            n += 1
        return between(least, UNLIMITED)

    cdef RangeC of_object(self, Objects objects, int levels) except *:
        cdef RangeC each
        if objects is None:
            return ANY_NUMBER_OF_VALUES
        if objects.keyed or objects.names or objects.some or objects.maximum is not None:
            return RangeC(0, UNLIMITED)
        least = most = 1
        for name in dict.fromkeys([*objects.properties, *objects.required]):
            each = self.of_place(objects.place_of(name, self.reader), levels + 1)
            optional = 0 if objects.wanted is not None and name in objects.wanted else 1
            least, most = min(least * (each.least + optional), UNLIMITED), min(most * (each.most + optional), UNLIMITED)
        each = self.of_place(objects.rest, levels + 1)
        if each.most:
            return between(UNLIMITED if least and each.least else 0, UNLIMITED if most else 0)
        if objects.minimum > len(objects.required):
            return between(0, most)
        return between(least, most)


cdef period_of(list steps):
    """Return the distance between common multiples."""
    found = steps[0]
    for step in steps[1:]:
        found = Fraction(lcm(found.numerator, step.numerator), gcd(found.denominator, step.denominator))
    return found


cdef multiples_between(Numbers numbers, step):
    low, high = ceil(Fraction(numbers.low) / step), floor(Fraction(numbers.high) / step)
    low += low * step == numbers.low and numbers.low_open
    high -= high * step == numbers.high and numbers.high_open
    return max(high - low + 1, 0)


cdef words_of(automaton, minimum, maximum, WorkBudget budget):
    """Count the texts of given lengths that an automaton accepts, UNLIMITED at most.

    Without a bound there are UNLIMITED texts if one is longer than the number of states.
    """
    edges, finals = automaton.edges, automaton.finals
    cdef dict ways = {0: 1} if edges else {}, more
    found, length = 0, 0
    while ways and found < UNLIMITED and (maximum is None or length <= maximum):
        spend(budget, 1 + len(ways))
        if length >= minimum:
            found += sum([n for state, n in ways.items() if state in finals])
        if length > len(edges) and maximum is None:
            return UNLIMITED
        more = {}
        for state, n in ways.items():
            for ranges, target in edges[state]:
                some = n * sum([high - low + 1 for low, high in ranges])
                more[target] = min(more.get(target, 0) + some, UNLIMITED)
        ways = more
        length += 1
    return min(found, UNLIMITED)
