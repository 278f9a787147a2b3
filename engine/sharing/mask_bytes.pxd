"""A token mask's bytes within an artifact.

    token mask   state | node | nanoseconds that making it took | body
    body     SAME and the number of a token mask before it of that body and node, or
             what it accepts: LISTED and the ids; ALL_BUT, for a bitset, and the ordinary tokens that
             it lacks; WORDS and the bitset, 4 bytes a word
             | how many needs there are; if any, each accepted id's, by id
             | exits | exit_counts | triggers
    list     length | each number's distance from the one before
             exits: half the length | for each pair x's distance from the x before, and k's from x
    number   as in varint; a distance is folded: d as 2d, -d as 2d - 1

A bitset's words lie as the processor has them, and end with the last that a token can be in, so that
vocabularies with and without padding share them.

Cost       3 to 4 ns a byte to read; a list takes 1 to 2 bytes a number.
Threads    none of these holds anything.
Not here   which token masks go together (artifact), what makes sense (token masks.is_sound).
"""

from libc.stdint cimport uint8_t, uint32_t

from ..masks.token_mask cimport EntryC, TokenMaskC
from ..native.pool cimport vector
from ..native.varint cimport ReaderC
from ..vocabulary.vocabulary cimport Vocabulary

cdef void put_head(vector[uint8_t]* out, EntryC* entry) noexcept nogil
cdef bint put_body(vector[uint8_t]* out, TokenMaskC* token_mask, Vocabulary vocabulary) noexcept nogil
cdef void put_same(vector[uint8_t]* out, uint32_t number) noexcept nogil
cdef bint take_entry(
    ReaderC* left, EntryC* out, vector[EntryC]* before, Vocabulary vocabulary
) noexcept nogil
