"""What is left of a counted item, and what of its rule's token mask that leaves.

Counted rules   their token masks are in the order of need, and say how many iterations end before each
                exit.
Counted text    its iterations are characters, and how many a token begins does not depend on the
                text: its token masks are those of text without bounds, and the vocabulary knows the rest.
Cost            of `accepted_words`: a copy of V/8 bytes and the tokens that fit or those that don't,
                whichever are fewer; of `accepted_ids`: the token mask.
Not here        what follows the item (row_masks), where tokens are cut (split_points).
"""

from libc.stdint cimport uint32_t

from ..earley.rows cimport Arena, ItemC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .token_mask cimport TokenMaskC

cdef struct BoundsC:
    uint32_t least, most      # iterations still needed, and still possible; NO_MAXIMUM: more than a token has
    bint counted              # a token may reach one of them
    bint is_text              # iterations are characters
    uint32_t begun            # 1: a character is under way
    uint32_t tokens           # that the text may still have, at most CHARACTER_BYTES

cdef struct IdsC:
    const uint32_t* ids
    uint32_t n

cdef BoundsC no_bounds() noexcept nogil
cdef BoundsC bounds_of(Arena arena, uint32_t instance, ItemC* item) noexcept nogil
cdef bint fits(uint32_t count, BoundsC bounds) noexcept nogil
cdef void accepted_words(
    Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds, vector[uint32_t]* words
) noexcept nogil
cdef void accepted_ids(
    Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds, vector[uint32_t]* ids
) noexcept nogil
cdef IdsC too_long(Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds) noexcept nogil
cdef uint32_t characters(
    Vocabulary vocabulary, uint32_t token, uint32_t start, uint32_t end, BoundsC bounds
) noexcept nogil
cdef uint32_t before_exit(
    Vocabulary vocabulary, TokenMaskC* token_mask, uint32_t number, BoundsC bounds
) noexcept nogil
