"""JSON arrays of a schema as IR, and the cardinality of places.

An array has a prefix of items with schemas of their own, then items of one schema.

Plain      a GRAPH whose state is the number of prefix items written; the remaining items are one counted
           repetition. White space stands after [, around commas and before ], or as the layout writes it.
Counted    ``contains`` needs a GRAPH whose state holds the number of items written and, for each ``contains``,
           the number of items counted. An item may be left uncounted where enough others follow; under
           ``maxContains`` an uncounted item must not match.
Distinct   Items of ``uniqueItems`` that come from at most ``MAX_VALUES`` listed values are a set in the state;
           all others are compared by their text (unique_items). Arrays of at most one item, and those
           whose items can never be equal, need neither. If there might be too few values for all required
           items, ``uniqueItems`` is refused.
Cost       states multiply; json_text bounds them.
"""

from libc.stdint cimport uint32_t

from ....grammar.ir cimport ROLE_DIFFERS
from ....native.pool cimport vector
from ....native.resources cimport WorkBudget, spend
from ..builder cimport Builder
from ..evaluator cimport identity, is_within
from ..type_algebra cimport place_key
from ..json_text cimport GraphBuilder, JsonText, new_graph
from ..reader cimport SchemaReader
from ..intersection cimport both, place_of
from ..schema_types cimport (
    ALL, ARRAY, BOOLEAN, FRACTION, INTEGER, NULL_TYPE, OBJECT, STRING, Arrays, ConstraintText, Count, Location,
    Numbers, Objects, SchemaType, Strings,
)
from .numbers cimport period_of

from fractions import Fraction
from math import ceil, floor

from ....errors import LimitExceeded, UnsupportedSchema
from ...regex.char_automaton import Bound, intersection

#: listed values that must differ; there is a state for each set of them
cdef Py_ssize_t MAX_VALUES = 10
#: ``contains`` of one array: each doubles the alternatives of an item
cdef Py_ssize_t MAX_COUNTS = 8
#: levels of items that are compared to find two places disjoint
cdef int DISTANCE = 3
#: levels of arrays and objects that are counted, far more than real schemas have; each takes four
#: frames of the stack
cdef int LEVELS = 32
#: items of one array whose numbers of values are multiplied
cdef int MAX_ITEMS = 1_000
cdef RangeC ANY_NUMBER_OF_VALUES = RangeC(UNLIMITED, UNLIMITED)


cdef uint32_t build_array(Builder builder, Arrays arrays) except? 0xFFFFFFFF:
    cdef JsonText text = builder.array_text()
    cdef vector[uint32_t] prefix
    cdef uint32_t item
    cdef size_t n
    cdef tuple place
    cdef bint must_differ
    minimum, maximum = 0, builder.reader.most_of(arrays)
    if arrays is None:
        item = builder.place(())
    else:
        minimum = arrays.minimum
        must_differ = arrays.unique is not None and not differ_anyway(builder.reader, arrays)
        if arrays.counts or (must_differ and has_short_list(builder.reader, arrays)):
            return build_counted_array(builder, arrays)
        for place in arrays.prefix[:maximum]:
            prefix.push_back(builder.place(place))
        item = builder.place(arrays.rest)
        if must_differ:
            if not has_distinct_enough(builder, arrays):
                return text.fail
            for n in range(prefix.size()):
                prefix[n] = differing(builder, <tuple>arrays.prefix[n])
            item = differing(builder, arrays.rest)
    # the array ends before an item that cannot have a value
    for n in range(prefix.size()):
        if prefix[n] == text.fail:
            prefix.resize(n)
            item = text.fail
            break
    if item == text.fail:
        maximum = prefix.size() if maximum is None else min(maximum, <Py_ssize_t>prefix.size())
    if maximum is not None and maximum < minimum:
        return text.fail
    return text.bracketed(b"[", elements(text, &prefix, item, minimum, maximum), b"]")


cdef uint32_t elements(
    JsonText text, vector[uint32_t]* prefix, uint32_t item, minimum, maximum
) except? 0xFFFFFFFF:
    """Add the inside of an array, with the white space before the closing bracket."""
    cdef vector[uint32_t] edges
    cdef uint32_t n = <uint32_t>prefix.size(), end = n + 1, number, space = text.closing(), more
    cdef uint32_t[2] finals = [0, end]
    if n == 0:
        if maximum == 0:
            return text.empty
        first = text.first(item)
        more = text.grammar.repeat(
            text.after_comma(item), max(minimum - 1, 0), None if maximum is None else maximum - 1)
        inside = text.seq(first, more, space)
        return inside if minimum else text.alt(text.empty, inside)
    add_edge(&edges, 0, text.first(prefix[0][0]), 1)
    for number in range(1, n):
        add_edge(&edges, number, text.after_comma(prefix[0][number]), number + 1)
        if minimum <= number:
            add_edge(&edges, number, space, end)
    more = text.grammar.repeat(
        text.after_comma(item), max(minimum - n, 0), None if maximum is None else maximum - n)
    add_edge(&edges, n, text.seq(more, space), end)
    return text.grammar.add_graph(
        n + 2, edges.data(), edges.size() // 3, &finals[1] if minimum else &finals[0], 1 if minimum else 2)


cdef inline void add_edge(vector[uint32_t]* edges, uint32_t s, uint32_t node, uint32_t t):
    edges.push_back(s)
    edges.push_back(node)
    edges.push_back(t)


# -- counted and distinct items -------------------------------------------------------------------------

cdef uint32_t build_counted_array(Builder builder, Arrays arrays) except? 0xFFFFFFFF:
    cdef CountedItems items = CountedItems.__new__(CountedItems)
    cdef uint32_t inside
    if len(arrays.counts) > MAX_COUNTS:
        message = f"{len(arrays.counts)} counts of items at one place can't be enforced; {MAX_COUNTS} can"
        raise UnsupportedSchema((<Count>arrays.counts[0]).where.at("contains"), "contains", message)
    items.builder, items.reader, items.arrays = builder, builder.reader, arrays
    items.known = {}
    items.must_differ = items.is_listed = False
    if arrays.unique is not None and not differ_anyway(builder.reader, arrays):
        items.must_differ, items.is_listed = True, has_short_list(builder.reader, arrays)
        if not items.is_listed and not has_distinct_enough(builder, arrays):
            return builder.text.fail
    items.text = builder.array_text()
    inside = items.inside()
    return items.text.bracketed(b"[", inside, b"]")


cdef bint has_distinct_enough(Builder builder, Arrays arrays) except -1:
    """Check ``has_values_enough``, and that the style's text of items can be compared.

    Raises:
        UnsupportedSchema: it can't, or the number of values cannot be decided.
    """
    cdef SchemaType each
    cdef int comparable = builder.array_text().comparable
    for place in (*arrays.prefix, arrays.rest) if comparable != ALL else ():
        for each in builder.reader.alternatives_at(place):
            if each.types & ~comparable:
                raise too_few(arrays, "items can't be compared in this style")
    return has_values_enough(builder, arrays)


cdef bint differ_anyway(SchemaReader reader, Arrays arrays) except -1:
    """Whether there is at most one item, or the places of all items are disjoint."""
    cdef Py_ssize_t i, j, n = len(arrays.prefix)
    most = arrays.maximum
    if most is not None and most <= 1:
        return True
    if (most is None or most > n) and reader.alternatives_at(arrays.rest):
        return False
    for i in range(n):
        for j in range(i):
            if not reader.disjoint_places(<tuple>arrays.prefix[i], <tuple>arrays.prefix[j], DISTANCE):
                return False
    return True


cdef list values_of(SchemaReader reader, tuple place):
    """Return the values of a place; None: they are not listed."""
    cdef SchemaType schema_type
    cdef list values = []
    for schema_type in reader.alternatives_at(place):
        schema_type.check(schema_type.types)
        if schema_type.values is not None:
            values += schema_type.values
        elif schema_type.types & ~(BOOLEAN | NULL_TYPE | INTEGER):
            return None
        else:
            values += [True, False] if schema_type.types & BOOLEAN else []
            values += [None] if schema_type.types & NULL_TYPE else []
            numbers = few_integers(schema_type.numbers) if schema_type.types & INTEGER else []
            if numbers is None:
                return None
            values += numbers
    return values


cdef list few_integers(Numbers numbers):
    """Return the whole numbers within bounds; None: too many."""
    if numbers is None or numbers.low is None or numbers.high is None:
        return None
    if numbers.high - numbers.low > MAX_VALUES:
        return None
    return [value for value in range(int(numbers.low) - 1, int(numbers.high) + 2) if is_within(numbers, value)]


cdef bint has_short_list(SchemaReader reader, Arrays arrays) except -1:
    """Whether the values of all items are listed, and at most ``MAX_VALUES``."""
    cdef tuple place
    cdef set distinct = set()
    for place in (*arrays.prefix, arrays.rest):
        values = values_of(reader, place)
        if values is None:
            return False
        distinct.update([identity(value) for value in values])
    return len(distinct) <= MAX_VALUES


cdef bint has_values_enough(Builder builder, Arrays arrays) except -1:
    """Whether each required item has a value that differs from all before it.

    Raises:
        UnsupportedSchema: this cannot be decided.
    """
    cdef Cardinality cardinality = new_cardinality(builder.reader, builder.any_order)
    cdef RangeC found
    cdef Py_ssize_t n, prefix = len(arrays.prefix), last
    cdef Count each
    for n in range(prefix + 1):
        place = arrays.item(n)
        if not is_told_by_text(cardinality, place, 0):
            raise too_few(arrays, "items of few values with several spellings or orders can't be compared")
        last = n if n < prefix else arrays.minimum - 1
        if n >= arrays.minimum or last < 1:
            continue
        found = cardinality.of_place(place, 0)
        if found.most <= last and prefix == 0:
            return False
        if found.least <= last:
            raise too_few(arrays, f"{arrays.minimum} items that differ can't be guaranteed")
    for each in arrays.counts:
        if not has_counted_enough(cardinality, arrays, each):
            return False
    return True


cdef bint is_told_by_text(Cardinality cardinality, tuple place, int levels) except -1:
    """Whether distinct values have distinct texts: no objects of few values in any order, and no arrays of few
    values that must differ, except listed ones.
    """
    cdef dict known = cardinality.reader._distinct
    key = cardinality.key_of(place), levels
    if key not in known:
        known[key] = place, is_written_once(cardinality, place, levels)
    return known[key][1]


cdef bint is_written_once(Cardinality cardinality, tuple place, int levels) except -1:
    """Compute ``is_told_by_text`` without its cache."""
    cdef SchemaReader reader = cardinality.reader
    cdef SchemaType schema_type
    cdef Arrays arrays
    cdef Objects objects
    cdef RangeC found
    for schema_type in reader.alternatives_at(place) if levels <= DISTANCE else ():
        arrays, objects = schema_type.arrays, schema_type.objects
        if schema_type.values is not None:
            continue
        if schema_type.types & ARRAY and arrays is not None:
            is_free = arrays.unique is None or differ_anyway(reader, arrays) or has_short_list(reader, arrays)
            for inner in (*arrays.prefix, arrays.rest):
                found = cardinality.of_place(inner, levels + 1)
                if found.most and not is_free and found.least < UNLIMITED:
                    return False
                if not is_told_by_text(cardinality, inner, levels + 1):
                    return False
        if schema_type.types & OBJECT and objects is not None:
            if cardinality.any_order and len(objects.properties) > 1 and (
                    cardinality.of_object(objects, levels).least < UNLIMITED):
                return False
            for name in objects.properties:
                if not is_told_by_text(cardinality, place_of(objects, name, reader), levels + 1):
                    return False
    return True


cdef bint has_counted_enough(Cardinality cardinality, Arrays arrays, Count count) except -1:
    """Check ``has_values_enough`` for the items counted by one ``contains``."""
    cdef RangeC found
    cdef Py_ssize_t before = max(len(arrays.prefix), count.first)
    cdef tuple place
    if count.maximum is not None and arrays.minimum > 1:
        found = cardinality.of_place(both(arrays.rest, cardinality.reader.negated(count.place), cardinality.reader), 0)
        if found.least < arrays.minimum:
            raise too_few(arrays, f"{arrays.minimum} items that differ can't be guaranteed beside maxContains")
    if not count.minimum:
        return True
    for place in (*arrays.prefix, arrays.rest):
        found = cardinality.of_place(both(place, count.place, cardinality.reader), 0)
        if found.most < count.minimum and not before:
            return False
        # several ``contains`` may count the same item
        if found.most and found.least < (count.minimum + before if len(arrays.counts) == 1 else UNLIMITED):
            raise too_few(arrays, f"{count.minimum} items that differ can't be guaranteed for contains")
    return True


cdef too_few(Arrays arrays, str message):
    return UnsupportedSchema(arrays.unique.at("uniqueItems"), "uniqueItems", message)


cdef uint32_t differing(Builder builder, tuple place) except? 0xFFFFFFFF:
    """Add an item that must differ from all others of its array.

    Its numbers are plain decimals, so that any digits written so far can be continued to a new number.
    """
    cdef uint32_t node = builder.place(both(place, builder.reader.plain_numbers(), builder.reader))
    if node == builder.text.fail:
        return node
    return builder.text.grammar.add_capture("", ROLE_DIFFERS, node)


cdef class CountedItems:
    cdef Builder builder
    cdef SchemaReader reader
    cdef JsonText text
    cdef Arrays arrays
    cdef bint must_differ, is_listed
    cdef Py_ssize_t steady      # all items from this one on have the same place
    cdef dict known             # the choices of an item, up to ``steady``
    cdef dict values            # listed values: identity -> (value, its bit)

    cdef uint32_t inside(self) except? 0xFFFFFFFF:
        """Add the inside of the array, with the white space before the closing bracket."""
        cdef GraphBuilder graph
        cdef tuple state, start
        cdef Py_ssize_t n, at = 0, cap
        cdef Arrays arrays = self.arrays
        self.steady = max([len(arrays.prefix)] + [(<Count>count).first for count in arrays.counts])
        cap = max(self.steady, arrays.minimum, arrays.maximum or 0, 1)
        start = (0, (0,) * len(arrays.counts), 0)
        graph = new_graph(self.text, start)
        while at < len(graph.states):
            state = graph.states[at]
            at += 1
            if graph.is_full():
                raise self.error()
            if state is None:
                continue
            n = state[0]
            if n >= arrays.minimum and self.is_enough(state):
                if n:
                    graph.add(state, self.text.closing(), None)
                    graph.finals.add(None)
                else:
                    graph.finals.add(state)
            if arrays.maximum is None or n < arrays.maximum:
                self.add_items(graph, state, cap)
        return graph.node()

    cdef error(self):
        cdef str keyword = "uniqueItems" if self.must_differ else "contains"
        cdef Location where = self.arrays.unique if self.must_differ else (<Count>self.arrays.counts[0]).where
        return UnsupportedSchema(where.at(keyword), keyword, "counting the items takes too many states")

    cdef bint is_enough(self, tuple state) except -1:
        cdef Py_ssize_t k
        for k in range(len(self.arrays.counts)):
            if state[1][k] < (<Count>self.arrays.counts[k]).minimum:
                return False
        return True

    cdef int add_items(self, GraphBuilder graph, tuple state, Py_ssize_t cap) except -1:
        """Add edges for all choices of the next item."""
        cdef Py_ssize_t n = state[0], k
        cdef tuple counts = state[1]
        cdef Count each
        cdef uint32_t node
        for node, counted, used in self.choices(min(n, self.steady)):
            if state[2] & used:
                continue
            after = list(counts)
            for k in counted:
                each = self.arrays.counts[k]
                after[k] += 1
                if after[k] > (each.minimum if each.maximum is None else each.maximum):
                    if each.maximum is not None or not self.is_listed:
                        # the uncounted choice covers this item
                        break
                    after[k] = each.minimum
            else:
                node = self.text.after_comma(node) if n else self.text.first(node)
                graph.add(state, node, (min(n + 1, cap), tuple(after), state[2] | used))
        return 0

    cdef list choices(self, Py_ssize_t n):
        """Return the choices for item n: (node, indices of its counts, bit of its value)."""
        if n not in self.known:
            place = self.arrays.item(n)
            self.known[n] = self.values_at(n, place) if self.is_listed else self.kinds_at(n, place)
        return self.known[n]

    cdef list kinds_at(self, Py_ssize_t n, tuple place):
        """Return one choice for each set of counts."""
        cdef list found = [(place, ())]
        cdef Py_ssize_t k
        cdef Count each
        for k in range(len(self.arrays.counts)):
            each = self.arrays.counts[k]
            if n < each.first:
                continue
            more = []
            for known, counted in found:
                if each.minimum or each.maximum:
                    more.append((both(known, each.place, self.reader), (*counted, k)))
                if each.maximum is not None:
                    known = both(known, self.reader.negated(each.place), self.reader)
                more.append((known, counted))
            found = more
        return [(self.item(known), counted, 0) for known, counted in found]

    cdef uint32_t item(self, tuple place) except? 0xFFFFFFFF:
        return differing(self.builder, place) if self.must_differ else self.builder.place(place)

    # -- items that must differ ------------------------------------------------------------------
    cdef list values_at(self, Py_ssize_t n, tuple place):
        """Return one choice for each listed value of a place."""
        cdef list found = []
        cdef Py_ssize_t k
        cdef Count each
        if self.values is None:
            self.values = self.all_values()
        for value, used in self.values.values():
            if not self.reader.fits(place, value):
                continue
            counted = []
            for k in range(len(self.arrays.counts)):
                each = self.arrays.counts[k]
                if n >= each.first and self.reader.fits(each.place, value):
                    counted.append(k)
            found.append((self.builder.constant(value), tuple(counted), used))
        return found

    cdef dict all_values(self):
        """Return the listed values of all items, each with its bit."""
        cdef dict values = {}
        cdef tuple place
        for place in (*self.arrays.prefix, self.arrays.rest):
            for value in values_of(self.reader, place):
                values.setdefault(identity(value), (value, 1 << <int>len(values)))
        return values


# -- cardinality -----------------------------------------------------------------------------------
cdef Cardinality new_cardinality(SchemaReader reader, bint any_order):
    cdef Cardinality cardinality = Cardinality.__new__(Cardinality)
    cardinality.reader, cardinality.any_order = reader, any_order
    return cardinality


cdef RangeC between(least, most):
    return RangeC(<long long>min(max(least, 0), UNLIMITED), <long long>min(max(most, 0), UNLIMITED))


cdef class Cardinality:
    cdef bytes key_of(self, tuple place):
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

    cdef RangeC of_type(self, SchemaType schema_type, int kind, int levels) except *:
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
        cdef list accepting, rejecting
        bound = Bound(self.reader.limits.pattern_states, "", self.reader.budget)
        try:
            accepting = [self.reader.pattern(each) for each in strings.patterns]
            accepting += [self.reader.format(each, strings.minimum > 0) for each in strings.formats]
            rejecting = [self.reader.pattern(each) for each in strings.without]
            return intersection(accepting, rejecting, bound)
        except LimitExceeded as error:
            if error.limit != "pattern_states":
                raise
            return None

    cdef RangeC of_numbers(self, Numbers numbers, bint whole) except *:
        """Count the whole numbers, or all others."""
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
        maximum = self.reader.most_of(arrays)
        while n <= MAX_ITEMS:
            if n >= arrays.minimum:
                least, most = least + some, most + many
            if n == maximum or least >= UNLIMITED or many == 0:
                return between(least, most)
            each = self.of_place(arrays.item(n), levels + 1)
            if n >= len(arrays.prefix) and maximum is None and (
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
        objects = self.reader.written(objects)
        if objects.keyed or objects.names or objects.some or objects.maximum is not None:
            return RangeC(0, UNLIMITED)
        least = most = 1
        for name in dict.fromkeys([*objects.properties, *objects.required]):
            each = self.of_place(place_of(objects, name, self.reader), levels + 1)
            optional = 0 if objects.wanted is not None and name in objects.wanted else 1
            least, most = min(least * (each.least + optional), UNLIMITED), min(most * (each.most + optional), UNLIMITED)
        each = self.of_place(objects.rest, levels + 1)
        if each.most:
            return between(UNLIMITED if least and each.least else 0, UNLIMITED if most else 0)
        if objects.minimum > len(objects.required):
            return between(0, most)
        return between(least, most)


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
