"""JSON arrays of a schema as IR: a prefix of items with schemas of their own, then items of one schema.

Plain      a GRAPH whose state is the number of prefix items written; the remaining items are one counted
           repetition. White space stands after [, around commas and before ], or as the layout writes it.
Counted    ``contains`` needs a GRAPH whose state holds the number of items written and, for each ``contains``,
           the number of items counted. An item may be left uncounted where enough others follow; under
           ``maxContains`` an uncounted item must not match.
Distinct   CountedItems of ``uniqueItems`` that come from at most ``MOST_VALUES`` listed values are a set in the state;
           all others are compared by their text (runtime.unique_items). Arrays of at most one item, and those
           whose items can never be equal, need neither. If there might be too few values for all required
           items, ``uniqueItems`` is refused.
Cost       states multiply; json_text bounds them.
"""

from libc.stdint cimport uint32_t

from ....grammar.ir cimport ROLE_DIFFERS
from ....native.pool cimport vector
from ..builder cimport Builder
from .cardinality cimport UNLIMITED, Cardinality, RangeC, new_cardinality
from ..evaluator cimport identity, is_within
from ..json_text cimport GraphBuilder, JsonText, add_values, new_graph
from ..reader cimport SchemaReader
from ..schema_types cimport (
    ARRAY, BOOLEAN, INTEGER, NULL_TYPE, OBJECT, Arrays, Count, Location, Numbers, Objects, SchemaType, both,
)

from ....errors import UnsupportedSchema

#: listed values that must differ; there is a state for each set of them
cdef Py_ssize_t MOST_VALUES = 10
#: ``contains`` of one array: each doubles the alternatives of an item
cdef Py_ssize_t MOST_COUNTS = 8
#: levels of items that are compared to find two places disjoint
cdef int DISTANCE = 3


cdef uint32_t build_array(Builder builder, Arrays arrays) except? 0xFFFFFFFF:
    cdef JsonText text = builder.text
    cdef vector[uint32_t] prefix
    cdef uint32_t item
    cdef size_t n
    cdef tuple place
    cdef bint must_differ
    minimum, maximum = 0, None
    if arrays is None:
        item = builder.place(())
    else:
        minimum, maximum = arrays.minimum, arrays.maximum
        must_differ = arrays.unique is not None and not differ_anyway(builder.reader, arrays)
        if arrays.counts or (must_differ and has_short_list(builder.reader, arrays)):
            return build_counted_array(builder, arrays)
        for place in arrays.prefix[:maximum]:
            prefix.push_back(builder.place(place))
        item = builder.place(arrays.rest)
        if must_differ:
            if not has_values_enough(builder, arrays):
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
    cdef uint32_t n = <uint32_t>prefix.size(), end = n + 1, number, space = text.closing()
    cdef uint32_t[3] parts
    cdef uint32_t[2] finals = [0, end]
    if n == 0:
        if maximum == 0:
            return text.empty
        parts[0] = text.first(item)
        parts[1] = text.repeat(
            text.after_comma(item), max(minimum - 1, 0), None if maximum is None else maximum - 1)
        parts[2] = space
        parts[1] = text.seq(parts, 3)
        parts[0] = text.empty
        return parts[1] if minimum else text.alt(parts, 2)
    add_edge(&edges, 0, text.first(prefix[0][0]), 1)
    for number in range(1, n):
        add_edge(&edges, number, text.after_comma(prefix[0][number]), number + 1)
        if minimum <= number:
            add_edge(&edges, number, space, end)
    parts[0] = text.repeat(
        text.after_comma(item), max(minimum - n, 0), None if maximum is None else maximum - n)
    parts[1] = space
    add_edge(&edges, n, text.seq(parts, 2), end)
    return text.graph(
        n + 2, edges.data(), edges.size() // 3, &finals[1] if minimum else &finals[0], 1 if minimum else 2)


cdef inline void add_edge(vector[uint32_t]* edges, uint32_t s, uint32_t node, uint32_t t):
    edges.push_back(s)
    edges.push_back(node)
    edges.push_back(t)


# -- counted and distinct items -------------------------------------------------------------------------

cdef uint32_t build_counted_array(Builder builder, Arrays arrays) except? 0xFFFFFFFF:
    cdef CountedItems items = CountedItems.__new__(CountedItems)
    cdef uint32_t inside
    if len(arrays.counts) > MOST_COUNTS:
        message = f"{len(arrays.counts)} counts of items at one place can't be enforced; {MOST_COUNTS} can"
        raise UnsupportedSchema((<Count>arrays.counts[0]).where.at("contains"), "contains", message)
    items.builder, items.reader, items.arrays = builder, builder.reader, arrays
    items.known = {}
    items.must_differ = items.is_listed = False
    if arrays.unique is not None and not differ_anyway(builder.reader, arrays):
        items.must_differ, items.is_listed = True, has_short_list(builder.reader, arrays)
        if not items.is_listed and not has_values_enough(builder, arrays):
            return builder.text.fail
    inside = items.inside()
    return builder.text.bracketed(b"[", inside, b"]")


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
    cdef list found = []
    for schema_type in reader.alternatives_at(place):
        schema_type.check(schema_type.types)
        if schema_type.values is not None:
            found += schema_type.values
        elif schema_type.types & ~(BOOLEAN | NULL_TYPE | INTEGER):
            return None
        else:
            found += [True, False] if schema_type.types & BOOLEAN else []
            found += [None] if schema_type.types & NULL_TYPE else []
            numbers = few_integers(schema_type.numbers) if schema_type.types & INTEGER else []
            if numbers is None:
                return None
            found += numbers
    return found


cdef list few_integers(Numbers numbers):
    """Return the whole numbers within bounds; None: too many."""
    if numbers is None or numbers.low is None or numbers.high is None:
        return None
    if numbers.high - numbers.low > MOST_VALUES:
        return None
    return [value for value in range(int(numbers.low) - 1, int(numbers.high) + 2) if is_within(numbers, value)]


cdef bint has_short_list(SchemaReader reader, Arrays arrays) except -1:
    """Whether the values of all items are listed, and at most ``MOST_VALUES``."""
    cdef tuple place
    cdef set found = set()
    for place in (*arrays.prefix, arrays.rest):
        values = values_of(reader, place)
        if values is None:
            return False
        found.update([identity(value) for value in values])
    return len(found) <= MOST_VALUES


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
        place = arrays.prefix[n] if n < prefix else arrays.rest
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
                if not is_told_by_text(cardinality, objects.place_of(name, reader), levels + 1):
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
        graph = new_graph(self.builder.text, start)
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
                    graph.add(state, self.builder.text.closing(), None)
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
                node = self.builder.text.after_comma(node) if n else self.builder.text.first(node)
                graph.add(state, node, (min(n + 1, cap), tuple(after), state[2] | used))
        return 0

    cdef list choices(self, Py_ssize_t n):
        """Return the choices for item n: (node, indices of its counts, bit of its value)."""
        if n not in self.known:
            place = self.arrays.prefix[n] if n < len(self.arrays.prefix) else self.arrays.rest
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
        cdef vector[uint32_t] nodes
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
            nodes.clear()
            add_values(self.builder.text, [value], &nodes)
            found.append((nodes[0], tuple(counted), used))
        return found

    cdef dict all_values(self):
        """Return the listed values of all items, each with its bit."""
        cdef dict found = {}
        cdef tuple place
        for place in (*self.arrays.prefix, self.arrays.rest):
            for value in values_of(self.reader, place):
                found.setdefault(identity(value), (value, 1 << <int>len(found)))
        return found
