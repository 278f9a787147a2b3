"""Special tokens of a vocabulary in structural tags: spellings of texts, and what free text may contain.

A text that contains the text of a special token matches that token or its bytes. A text is cut into pieces from
left to right, always at the longest special token; pieces do not overlap. A pattern (grammar.ir) is one way to
write a text, so a text with k special tokens has 2**k patterns. Literals in the IR need no list of them; free
text does.

Representation   the texts of special tokens are a trie: nodes[0] is the root, children are linked lists.
                 ``firsts`` has a bit for every first letter below 128.
Cache            ``TagVocabulary.kept`` holds patterns and special tokens for given marks. A gateway excludes the
                 same hundreds of special tokens in every request: spelling them takes milliseconds, a lookup one
                 microsecond. At most ``KEPT`` results, each of at most ``KEPT_MARKS`` marks and
                 ``KEPT_CHARACTERS`` characters.
Cost             linear in the characters of the marks, which count as steps of the budget.
Threads          results are immutable; two threads may compute the same one.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector
from ...native.resources cimport WorkBudget
from ...vocabulary.vocabulary cimport TokenSet


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
    # ``budget`` pays for each piece
    cdef list pieces(self, str text, WorkBudget budget=*)
    # adds a text in all its spellings, or a token
    cpdef uint32_t add_mark(self, Grammar grammar, mark) except? 0xFFFFFFFF
    cdef bint is_pattern(self, mark, stops) except -1
    cdef list beginnings(self, str begin, Py_ssize_t size, str pointer)


cdef uint32_t add_pieces(Grammar grammar, list pieces) except? 0xFFFFFFFF
# adds the bytes of a text from a character on
cdef uint32_t add_literal(Grammar grammar, str text, Py_ssize_t start) except? 0xFFFFFFFF


cdef class TextPatterns:
    # of free text with given marks
    cdef TokenSet specials                # special tokens that the text may contain
    cdef tuple excluded                   # patterns that must not complete in it, ends included
    cdef tuple ends                       # patterns of the enclosing tag's end
    cdef tuple excluded_only              # ``excluded`` without ``ends``
    cdef bint ends_overlap                # an exclude may complete inside an end (``overlap``)
    # the same as operands of a DISPATCH
    cdef vector[uint32_t] excluded_operands, excluded_only_operands
    cdef int64_t steps                    # of a budget, to compute it


cdef class TagVocabulary:
    cdef readonly object special_tokens, special_ids, stops
    cdef readonly Spelling spelling
    cdef list free                        # (text, id) of special tokens that are no stop tokens, by id
    cdef object tokens                    # the bytes of every token, by id
    cdef object with_text                 # ids of tokens that are not empty, ascending
    cdef dict kept                        # cache of ``patterns_of``
    cpdef TextPatterns patterns_of(
        self, tuple excludes, tuple ends, tuple triggers, object arm_tokens, str pointer, str end_pointer,
        WorkBudget budget
    )


# whether a pattern of ``others`` may complete inside or together with an end, or an end inside another one. Both
# are distinct and not empty
cdef bint overlap(ends, others, WorkBudget budget) except -1
