"""Whether a rule has any text at all: recursion without a way out has none."""

from libc.stdint cimport uint32_t

cdef bint is_productive(grammar, uint32_t node) except -1
