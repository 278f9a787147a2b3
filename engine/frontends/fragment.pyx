"""Fragments: see the header file."""

from libc.stdint cimport uint32_t

from .. import ir

from collections import OrderedDict
from threading import Lock


cdef class Fragment:
    def __init__(self, grammar, node):
        """What lies below a node."""
        cdef dict numbers = {}
        cdef list todo = [node], found
        nodes = grammar.nodes
        below = {node}
        while todo:
            for child in ir.children(nodes[todo.pop()]):
                if child not in below:
                    below.add(child)
                    todo.append(child)
        self.nodes = found = []
        for number in sorted(below):
            numbers[number] = len(found)
            found.append(renumbered(nodes[number], numbers))

    cdef uint32_t put_into(self, grammar) except? 0xFFFFFFFF:
        cdef list made = []
        for node in self.nodes:
            made.append(put(grammar, node, made))
        return made[-1]


cdef tuple renumbered(tuple node, dict numbers):
    cdef int kind = node[0]
    if kind in (ir.SEQ, ir.ALT):
        return kind, tuple([numbers[each] for each in node[1]])
    if kind == ir.REPEAT:
        return kind, numbers[node[1]], node[2], node[3]
    if kind == ir.GRAPH:
        return kind, node[1], [(s, numbers[each], t) for s, each, t in node[2]], node[3]
    assert kind not in (ir.REF, ir.DISPATCH, ir.CAPTURE)
    return node


cdef put(grammar, tuple node, list made):
    cdef int kind = node[0]
    if kind == ir.SEQ:
        return grammar.seq(*[made[each] for each in node[1]])
    if kind == ir.ALT:
        return grammar.alt(*[made[each] for each in node[1]])
    if kind == ir.REPEAT:
        return grammar.repeat(made[node[1]], node[2], None if node[3] < 0 else node[3])
    if kind == ir.GRAPH:
        return grammar.graph(node[1], [(s, made[each], t) for s, each, t in node[2]], node[3])
    if kind == ir.CHARS:
        return grammar.chars(node[1])
    if kind == ir.JSON_CHARS:
        return grammar.json_chars(node[1])
    if kind == ir.TEXT:
        return grammar.text(node[1])
    if kind == ir.BYTES:
        return grammar.bytes(node[1])
    return grammar.fail() if kind == ir.FAIL else grammar.empty()


cdef class Fragments:
    def __init__(self, Py_ssize_t most):
        """``most`` nodes are kept."""
        self.known, self.guard, self.held, self.most = OrderedDict(), Lock(), 0, most

    cdef Fragment get(self, key):
        with self.guard:
            found = self.known.get(key)
            if found is not None:
                self.known.move_to_end(key)
            return found

    cdef int keep(self, key, Fragment fragment) except -1:
        """One that is too large by itself is not kept."""
        if len(fragment.nodes) * 8 > self.most:
            return 0
        with self.guard:
            if key not in self.known:
                self.known[key] = fragment
                self.held += len(fragment.nodes)
            while self.held > self.most:
                self.held -= len((<Fragment>self.known.popitem(last=False)[1]).nodes)
        return 0
