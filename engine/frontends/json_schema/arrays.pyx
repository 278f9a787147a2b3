"""Arrays: see the header file."""

from libc.stdint cimport uint32_t

from ...native.pool cimport vector
from .items cimport build_counted_array, differ_anyway, differing, has_short_list, has_values_enough
from .places cimport Places
from .schema_types cimport Arrays
from .text cimport Text


cdef uint32_t build_array(Places places, Arrays arrays) except? 0xFFFFFFFF:
    """``arrays`` None: any array."""
    cdef Text text = places.text
    cdef vector[uint32_t] prefix
    cdef uint32_t item
    cdef size_t n
    cdef tuple place
    cdef bint must_differ
    minimum, maximum = 0, None
    if arrays is None:
        item = places.place(())
    else:
        minimum, maximum = arrays.minimum, arrays.maximum
        must_differ = arrays.unique is not None and not differ_anyway(places.reader, arrays)
        if arrays.counts or (must_differ and has_short_list(places.reader, arrays)):
            return build_counted_array(places, arrays)
        for place in arrays.prefix[:maximum]:
            prefix.push_back(places.place(place))
        item = places.place(arrays.rest)
        if must_differ:
            if not has_values_enough(places, arrays):
                return text.fail
            for n in range(prefix.size()):
                prefix[n] = differing(places, <tuple>arrays.prefix[n])
            item = differing(places, arrays.rest)
    # a place that no value fits ends the array before it
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
    Text text, vector[uint32_t]* prefix, uint32_t item, minimum, maximum
) except? 0xFFFFFFFF:
    """What stands between the brackets, white space before the closing one included."""
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
