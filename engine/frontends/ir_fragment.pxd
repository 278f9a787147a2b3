"""A piece of a grammar that is kept, to be put into others: what a pattern, a format or a bounded
number becomes.

Representation   the nodes below one root, children first, as in ``ir``; children are numbers within
                 the fragment, operands lie in its own pool.
                 A fragment may hold nothing at all, which means what its maker says.
Invariants       I1 no references to rules, no captures, no dispatch, no token sets.
                 I2 immutable; shared between grammars and threads.
                 I3 a grammar pays the same steps of its budget for one, made or kept.
Cost             putting it into a grammar: linear in its nodes and edges.

``FragmentCache`` is a bounded table of them by what they were made from, the least recently used going
first.
"""

from libc.stdint cimport int64_t, uint32_t

from ..budget cimport WorkBudget
from ..grammar.ir cimport Grammar
from ..grammar.lowered cimport NodeC
from ..native.pool cimport vector


cdef class IrFragment:
    cdef vector[NodeC] nodes
    cdef vector[uint32_t] pool
    cdef Py_ssize_t key_words
    cdef int64_t steps      # of a budget that making it took

    cdef int take(self, Grammar grammar, uint32_t number, vector[uint32_t]* numbers) except -1
    cdef uint32_t put_into(self, Grammar grammar) except? 0xFFFFFFFF
    cdef bint is_nothing(self) noexcept
    cdef Py_ssize_t words(self)


cdef class FragmentBuilder:
    """What makes one fragment."""
    cdef WorkBudget budget  # of the request that asks for it

    cdef IrFragment make(self)
    cdef IrFragment run(self)     # the same, with its steps


cdef class FragmentCache:
    cdef object known       # OrderedDict
    cdef object guard
    cdef object flights     # of what is being made
    cdef Py_ssize_t held, most

    # what is here, None if nothing is
    cdef IrFragment recall(self, tuple key)
    # what is here, or is made; two threads do not make the same
    cdef IrFragment get(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder)
    cdef IrFragment make(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder)
    cdef int keep(self, tuple key, IrFragment fragment) except -1


cdef IrFragment fragment_of(Grammar grammar, uint32_t node)
