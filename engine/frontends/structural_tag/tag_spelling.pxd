"""Literals that hold special tokens: such a text matches the token or its spelled bytes.

A text is cut into pieces from left to right, always at the longest special token's text; pieces do
not overlap. A pattern (see engine.ir) is one way to write a text, so a text with k special tokens
has 2**k patterns. Literals in the IR need no list of them, free text does.

Representation   the special tokens' texts as a trie: nodes[0] is the root, the children of a node
                 ascend by letter. `firsts` has a bit for every first letter below 128.
"""

from libc.stdint cimport uint32_t, uint64_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector

cdef struct LetterC:
    uint32_t letter
    uint32_t child, sibling   # 0: none
    uint32_t token            # whose text ends here, NO_TOKEN: none's

cdef class Piece:
    cdef readonly str text
    cdef readonly object token            # the special token of this text; None is ordinary text

cdef class Spelling:
    cdef vector[LetterC] nodes
    cdef uint64_t firsts[2]
    cdef int add(self, str text, uint32_t token) except -1
    cdef uint32_t child(self, uint32_t node, uint32_t letter) noexcept
    cdef Py_ssize_t find(self, str text, Py_ssize_t* start, uint32_t* token) noexcept
    cdef bint is_plain(self, str text) noexcept
    cdef list pieces(self, str text)
    cdef uint32_t add_mark(self, Grammar grammar, mark) except? 0xFFFFFFFF
    cdef list beginnings(self, str begin, Py_ssize_t size, str pointer)

cdef uint32_t add_pieces(Grammar grammar, list pieces) except? 0xFFFFFFFF
cdef uint32_t add_literal(Grammar grammar, str text, Py_ssize_t start) except? 0xFFFFFFFF
# lengths of the texts among marks, ascending, each once
cdef list sizes_of(tuple marks)
