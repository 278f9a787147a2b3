"""Whether a rule has any text at all: recursion without a way out has none.

Cost   a pass over what lies below the node, again for as long as that makes rules productive: twice
       for schemas, whose inner rules come after the outer ones. Passes count on the budget.
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar

cdef bint is_productive(Grammar grammar, uint32_t node)
