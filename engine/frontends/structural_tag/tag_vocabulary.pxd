"""What structural tags need to know of a vocabulary: made once for each, shared by all compiles.

Kept      what depends on marks and the vocabulary alone: their spellings, and which special tokens
          free text may hold beside them. A gateway excludes the same hundreds of special tokens in
          every request; to spell them anew takes milliseconds, to look them up a microsecond.
Bounds    ``KEPT`` results, none for more than ``KEPT_MARKS`` marks of ``KEPT_CHARACTERS`` in all.
Threads   results are immutable, and made at most twice if two threads ask at once.
Not here  what is done with them (structural_tag, tag_free_text).
"""

from libc.stdint cimport uint32_t

from ...native.pool cimport vector
from ...vocabulary.token_set cimport TokenSet
from .tag_spelling cimport Spelling

cdef class Surroundings:
    # free text beside its marks
    cdef TokenSet specials                # the special tokens that it may hold
    cdef tuple excluded                   # what must not be completed in it, the ends among them
    cdef tuple ends
    cdef tuple beside                     # `excluded` without the ends
    cdef bint is_tangled                  # whether an exclude can complete within an end, see tag_free_text
    # the same as operands of a DISPATCH
    cdef vector[uint32_t] excluded_operands, beside_operands

cdef class TagVocabulary:
    cdef readonly object special_tokens, special_ids, stops
    cdef readonly Spelling spelling
    cdef list free
    cdef object tokens                    # the bytes of every token, by id
    cdef dict kept
    cdef Surroundings around(
        self, tuple excludes, tuple ends, tuple triggers, object arm_tokens, str pointer, str end_pointer
    )

cdef bint are_tangled(ends, others) except -1
