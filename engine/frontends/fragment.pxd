"""A piece of a grammar that is kept, to be put into others: what a pattern, a format or a bounded
number becomes.

Representation   the nodes below one root, in an order in which children come first, as ``ir`` tuples
                 whose children are numbers within the fragment.
Invariants       I1 no references to rules, no captures, no dispatch.
                 I2 immutable; shared between grammars and threads.
Cost             putting it into a grammar: linear in its nodes.

``Fragments`` is a bounded table of them by what they were made from, the least recently used going
first.
"""

from libc.stdint cimport uint32_t


cdef class Fragment:
    cdef readonly list nodes

    cdef uint32_t put_into(self, grammar) except? 0xFFFFFFFF


cdef class Fragments:
    cdef object known       # OrderedDict
    cdef object guard
    cdef Py_ssize_t held, most

    cdef Fragment get(self, key)
    cdef int keep(self, key, Fragment fragment) except -1
