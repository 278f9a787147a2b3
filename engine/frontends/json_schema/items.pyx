"""Items that are counted: see the header file."""

from libc.stdint cimport uint32_t

from .evaluate cimport identity
from .graphs cimport Graph, new_graph
from .places cimport Places
from .reader cimport Reader
from .shapes cimport BOOLEAN, NULL_TYPE, Arrays, Count, Located, Shape, both
from .values cimport add_values
from ...pool cimport vector

from ...errors import UnsupportedSchema

#: values that must differ; there is a state for each set of them
cdef Py_ssize_t MOST_VALUES = 10
#: levels of items in which two places are looked at for a difference
cdef int DISTANCE = 3


cdef uint32_t build_counted_array(Places places, Arrays arrays) except? 0xFFFFFFFF:
    cdef Items items = Items.__new__(Items)
    cdef uint32_t inside
    items.places, items.reader, items.arrays = places, places.reader, arrays
    items.known = {}
    items.must_differ = arrays.unique is not None and not differ_anyway(places.reader, arrays)
    inside = items.inside()
    return places.text.bracketed(b"[", inside, b"]")


cdef bint differ_anyway(Reader reader, Arrays arrays) except -1:
    """Whether there is at most one item, or items have places that have no value in common."""
    cdef Py_ssize_t i, j, n = len(arrays.prefix)
    most = arrays.maximum
    if most is not None and most <= 1:
        return True
    if (most is None or most > n) and reader.shapes_at(arrays.rest):
        return False
    for i in range(n):
        for j in range(i):
            if not reader.places_apart(<tuple>arrays.prefix[i], <tuple>arrays.prefix[j], DISTANCE):
                return False
    return True


cdef class Items:
    cdef Places places
    cdef Reader reader
    cdef Arrays arrays
    cdef bint must_differ
    cdef Py_ssize_t steady      # from this item on, all have the same place
    cdef dict known             # by item, up to the steady one: its choices

    cdef uint32_t inside(self) except? 0xFFFFFFFF:
        """What stands between the brackets, white space before the closing one included."""
        cdef Graph graph
        cdef Count each
        cdef tuple state, start
        cdef Py_ssize_t n, at = 0, cap
        cdef Arrays arrays = self.arrays
        self.steady = max([len(arrays.prefix)] + [(<Count>count).first for count in arrays.counts])
        cap = max(self.steady, arrays.minimum, arrays.maximum or 0, 1)
        start = (0, (0,) * len(arrays.counts), 0)
        graph = new_graph(self.places.text, start)
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
                    graph.add(state, self.places.text.space(), None)
                    graph.finals.add(None)
                else:
                    graph.finals.add(state)
            if arrays.maximum is None or n < arrays.maximum:
                self.add_items(graph, state, cap)
        return graph.node()

    cdef error(self):
        cdef str keyword = "uniqueItems" if self.must_differ else "contains"
        cdef Located where = self.arrays.unique if self.must_differ else (<Count>self.arrays.counts[0]).where
        return UnsupportedSchema(where.at(keyword), keyword, "too many numbers of items to be told apart")

    cdef bint is_enough(self, tuple state) except -1:
        cdef Py_ssize_t k
        for k in range(len(self.arrays.counts)):
            if state[1][k] < (<Count>self.arrays.counts[k]).minimum:
                return False
        return True

    cdef int add_items(self, Graph graph, tuple state, Py_ssize_t cap) except -1:
        """Edges of all choices for the next item."""
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
                # one that need not be counted any more stands among those that are not
                if after[k] > (each.minimum if each.maximum is None else each.maximum):
                    break
            else:
                if n:
                    node = self.places.text.after_comma(node)
                graph.add(state, node, (min(n + 1, cap), tuple(after), state[2] | used))
        return 0

    cdef list choices(self, Py_ssize_t n):
        """(node, the counts it adds to, the bit of its value) of what may stand as item n."""
        if n not in self.known:
            place = self.arrays.prefix[n] if n < len(self.arrays.prefix) else self.arrays.rest
            self.known[n] = self.values_at(n, place) if self.must_differ else self.kinds_at(n, place)
        return self.known[n]

    cdef list kinds_at(self, Py_ssize_t n, tuple place):
        """For each set of counts, the items that add to these."""
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
                    more.append((both(known, each.place), (*counted, k)))
                if each.maximum is not None:
                    known = both(known, self.reader.negated(each.place))
                more.append((known, counted))
            found = more
        return [(self.places.place(known), counted, 0) for known, counted in found]

    # -- items that must differ ------------------------------------------------------------------
    cdef list values_at(self, Py_ssize_t n, tuple place):
        """The values of a place, each with its bit."""
        cdef vector[uint32_t] nodes
        cdef list found = []
        cdef Py_ssize_t k
        cdef Count each
        for value in self.all_values():
            if not self.reader.fits(place, value):
                continue
            counted = []
            for k in range(len(self.arrays.counts)):
                each = self.arrays.counts[k]
                if n >= each.first and self.reader.fits(each.place, value):
                    counted.append(k)
            nodes.clear()
            add_values(self.places.text, [value], &nodes)
            found.append((nodes[0], tuple(counted), 1 << self.known["values"].index(identity(value))))
        return found

    cdef list all_values(self):
        """All values that some item may have.

        Raises:
            UnsupportedSchema: they are not finitely many, or too many.
        """
        cdef dict found = {}
        cdef tuple place
        for place in (*self.arrays.prefix, self.arrays.rest):
            for value in self.values_of(place):
                found[identity(value)] = value
        if len(found) > MOST_VALUES:
            raise self.no_list()
        self.known["values"] = list(found)
        return list(found.values())

    cdef list values_of(self, tuple place):
        cdef Shape shape
        cdef list found = []
        for shape in self.reader.shapes_at(place):
            if shape.values is not None:
                found += shape.values
            elif shape.types & ~(BOOLEAN | NULL_TYPE):
                raise self.no_list()
            else:
                found += ([True, False] if shape.types & BOOLEAN else []) + ([None] if shape.types & NULL_TYPE else [])
        return found

    cdef no_list(self):
        message = f"items that differ can only be enforced where at most {MOST_VALUES} values are listed"
        return UnsupportedSchema(self.arrays.unique.at("uniqueItems"), "uniqueItems", message)

