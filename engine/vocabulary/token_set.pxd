"""A set of token ids, made once and shared by every grammar that names it.

Free text may hold hundreds of special tokens, the same ones in each request: grammars refer to the
set instead of holding its ids.

Invariants   I1 ids ascend, each once; immutable.
"""

from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

cdef class TokenSet:
    cdef vector[uint32_t] ids
