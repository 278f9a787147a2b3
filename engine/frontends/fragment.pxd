"""A piece of a grammar that is kept, to be put into others: what a pattern, a format or a bounded
number becomes.

Representation   the nodes below one root, children first, as in ``ir``; children are numbers within
                 the fragment, operands lie in its own pool.
                 A fragment may hold nothing at all, which means what its maker says.
Invariants       I1 no references to rules, no captures, no dispatch, no token sets.
                 I2 immutable; shared between grammars and threads.
Cost             putting it into a grammar: linear in its nodes and edges.

``Fragments`` is a bounded table of them by what they were made from, the least recently used going
first.
"""

from libc.stdint cimport uint32_t

from ..flat cimport NodeC
from ..ir cimport Grammar
from ..pool cimport vector


cdef class Fragment:
    cdef vector[NodeC] nodes
    cdef vector[uint32_t] pool
    cdef Py_ssize_t key_words

    cdef int take(self, Grammar grammar, uint32_t number, vector[uint32_t]* numbers) except -1
    cdef uint32_t put_into(self, Grammar grammar) except? 0xFFFFFFFF
    cdef bint is_nothing(self) noexcept
    cdef Py_ssize_t words(self)


cdef class Fragments:
    cdef object known       # OrderedDict
    cdef object guard
    cdef Py_ssize_t held, most

    cdef Fragment get(self, key)
    # key_chars: of the texts in the key, which take room as well
    cdef int keep(self, key, Fragment fragment, Py_ssize_t key_chars) except -1


cdef Fragment fragment_of(Grammar grammar, uint32_t node)
