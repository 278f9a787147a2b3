"""The bytes of fragments: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from ..flat cimport (
    ALT, BOUNDED, BYTES, CHARS, EMPTY, FAIL, GRAPH, JSON_CHARS, NO_MAXIMUM, REPEAT, SEQ, TEXT, NodeC,
)
from ..pool cimport vector
from ..varint cimport ReaderC, put, take
from .fragment cimport Fragment

from ..artifact_version import ARTIFACT_VERSION

cdef bytes HEAD = b"SYP1" + int(ARTIFACT_VERSION).to_bytes(4, "little")

cdef enum:
    MOST_DEPTH = 2_000          # nodes within nodes; a pattern's groups are within limits far below
    LAST_CHAR = 0x10FFFF
    FIRST_SURROGATE = 0xD800
    LAST_SURROGATE = 0xDFFF


# -- writing ---------------------------------------------------------------------------------------
cdef bytes bytes_of_fragment(Fragment fragment):
    cdef vector[uint8_t] out
    cdef uint32_t j
    put(&out, fragment.nodes.size())
    for j in range(<uint32_t>fragment.nodes.size()):
        put_node(&out, fragment, j)
    return HEAD + (<const char*>out.data())[:out.size()]


cdef void put_node(vector[uint8_t]* out, Fragment fragment, uint32_t j) noexcept nogil:
    cdef NodeC* node = &fragment.nodes[j]
    cdef const uint32_t* words = fragment.pool.data() + node.off
    cdef uint32_t k, last = 0
    put(out, node.kind)
    if node.kind == REPEAT or node.kind == BOUNDED:
        put(out, j - node.a)
        put(out, node.b)
        put(out, 0 if node.c == NO_MAXIMUM else <uint64_t>node.c + 1)
    elif node.kind == GRAPH:
        put(out, node.a)
        put(out, node.n // 3)
        for k in range(node.n):
            put(out, j - words[k] if k % 3 == 1 else words[k])
        put(out, node.c)
        for k in range(node.c):
            put(out, fragment.pool[node.b + k])
    elif node.kind == CHARS or node.kind == JSON_CHARS:
        put(out, node.n // 2)
        for k in range(node.n):
            put(out, words[k] - last)
            last = words[k]
    elif node.kind != EMPTY and node.kind != FAIL:
        put(out, node.n)
        for k in range(node.n):
            put(out, j - words[k] if node.kind == SEQ or node.kind == ALT else words[k])


# -- reading: False where anything is off ----------------------------------------------------------
cdef Fragment fragment_from(bytes data):
    cdef Fragment made = Fragment.__new__(Fragment)
    cdef ReaderC left
    cdef vector[uint32_t] depths
    cdef const uint8_t* start = data
    cdef uint64_t n
    cdef uint32_t _j
    if len(data) < len(HEAD) or memcmp(start, <const uint8_t*>HEAD, len(HEAD)):
        return None
    left.at, left.end = start + len(HEAD), start + len(data)
    if not take(&left, &n) or n == 0 or n > <uint64_t>(left.end - left.at):
        return None
    for _j in range(<uint32_t>n):
        if not take_node(&left, made) or not add_depth(made, &depths):
            return None
    return made if left.at == left.end else None


cdef bint add_depth(Fragment out, vector[uint32_t]* depths) noexcept nogil:
    """Of the last node."""
    cdef NodeC* node = &out.nodes.back()
    cdef uint32_t k, step = 3 if node.kind == GRAPH else 1, depth = 0
    if node.kind == REPEAT or node.kind == BOUNDED:
        depth = depths[0][node.a]
    elif node.kind == SEQ or node.kind == ALT or node.kind == GRAPH:
        k = step >> 1
        while k < node.n:
            depth = max(depth, depths[0][out.pool[node.off + k]])
            k += step
    depths.push_back(depth + 1)
    return depth < MOST_DEPTH


cdef bint take_node(ReaderC* left, Fragment out) noexcept nogil:
    cdef uint32_t kind
    cdef NodeC node
    if not take_number(left, 0xFF, &kind):
        return False
    node.kind, node.off = kind, <uint32_t>out.pool.size()
    node.a = node.b = node.c = node.n = 0
    if kind == SEQ or kind == ALT:
        if not take_children(left, out, &node):
            return False
    elif kind == BYTES or kind == TEXT:
        if not take_values(left, out, &node):
            return False
    elif kind == CHARS or kind == JSON_CHARS:
        if not take_ranges(left, out, &node):
            return False
    elif kind == REPEAT or kind == BOUNDED:
        if not take_counted(left, out, &node):
            return False
    elif kind == GRAPH:
        if not take_graph(left, out, &node):
            return False
    elif kind != EMPTY and kind != FAIL:
        return False
    out.nodes.push_back(node)
    return True


cdef bint take_number(ReaderC* left, uint32_t most, uint32_t* out) noexcept nogil:
    cdef uint64_t number
    if not take(left, &number) or number > most:
        return False
    out[0] = <uint32_t>number
    return True


cdef bint take_count(ReaderC* left, uint32_t least, uint32_t* out) noexcept nogil:
    """How many follow: no more than there are bytes."""
    return take_number(left, <uint32_t>(left.end - left.at), out) and out[0] >= least


cdef bint take_child(ReaderC* left, Fragment out, uint32_t* child) noexcept nogil:
    cdef uint32_t back
    if not take_number(left, <uint32_t>out.nodes.size(), &back) or back == 0:
        return False
    child[0] = <uint32_t>out.nodes.size() - back
    return True


cdef bint take_children(ReaderC* left, Fragment out, NodeC* node) noexcept nogil:
    cdef uint32_t _k, child, kind
    if not take_count(left, 2, &node.n):
        return False
    for _k in range(node.n):
        if not take_child(left, out, &child):
            return False
        kind = out.nodes[child].kind
        if kind == node.kind or kind == FAIL or (kind == EMPTY and node.kind == SEQ):
            return False
        out.pool.push_back(child)
    return True


cdef bint take_values(ReaderC* left, Fragment out, NodeC* node) noexcept nogil:
    cdef uint32_t _k, value
    if not take_count(left, 1, &node.n):
        return False
    for _k in range(node.n):
        if not take_number(left, 0xFF if node.kind == BYTES else LAST_CHAR, &value):
            return False
        if node.kind == TEXT and FIRST_SURROGATE <= value <= LAST_SURROGATE:
            return False
        out.pool.push_back(value)
    return True


cdef bint take_ranges(ReaderC* left, Fragment out, NodeC* node) noexcept nogil:
    """Sorted and disjoint, without surrogates."""
    cdef uint32_t k, step, low = 0, value = 0
    if not take_count(left, 1, &node.n):
        return False
    node.n *= 2
    for k in range(node.n):
        if not take_number(left, LAST_CHAR - value, &step) or (k and k % 2 == 0 and step == 0):
            return False
        value += step
        if k % 2 == 0:
            low = value
        elif low <= LAST_SURROGATE and value >= FIRST_SURROGATE:
            return False
        out.pool.push_back(value)
    return True


cdef bint take_counted(ReaderC* left, Fragment out, NodeC* node) noexcept nogil:
    cdef uint64_t most
    if not (take_child(left, out, &node.a) and take_number(left, NO_MAXIMUM - 1, &node.b) and take(left, &most)):
        return False
    if most > NO_MAXIMUM:
        return False
    node.c = <uint32_t>most - 1 if most else NO_MAXIMUM
    return node.b <= node.c and (node.kind == REPEAT or is_of_characters(out, &out.nodes[node.a]))


cdef bint is_of_characters(Fragment fragment, NodeC* graph) noexcept nogil:
    cdef uint32_t k, kind
    if graph.kind != GRAPH:
        return False
    for k in range(graph.n // 3):
        kind = fragment.nodes[fragment.pool[graph.off + 3 * k + 1]].kind
        if kind != CHARS and kind != JSON_CHARS and kind != TEXT and kind != BYTES:
            return False
    return True


cdef bint take_graph(ReaderC* left, Fragment out, NodeC* node) noexcept nogil:
    cdef uint32_t k, _k, edges, value
    # of each state something is said: an edge or that it is final
    if not take_count(left, 1, &node.a) or not take_count(left, 0, &edges):
        return False
    node.n = 3 * edges
    for k in range(node.n):
        if not (take_child(left, out, &value) if k % 3 == 1 else take_number(left, node.a - 1, &value)):
            return False
        out.pool.push_back(value)
    node.b = <uint32_t>out.pool.size()
    if not take_count(left, 0, &node.c):
        return False
    for _k in range(node.c):
        if not take_number(left, node.a - 1, &value):
            return False
        out.pool.push_back(value)
    return True


# -- for tests -------------------------------------------------------------------------------------
def reread(bytes data):
    """The bytes of what bytes say, None if they are refused."""
    cdef Fragment found = fragment_from(data)
    return None if found is None else bytes_of_fragment(found)
