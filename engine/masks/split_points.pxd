"""Where counted text may be over within a token, so that what follows goes on there.

A place is a node of the token trie whose byte is the first that is not the text's any more: the
text's automaton, begun at a state above, may be over just before it, with as many iterations as its
bounds allow. Text and what follows may share bytes, so that a token can be cut in several places.

Cost       of `list_cuts`: the nodes with one byte, of each the way down to it. `is_narrow` tells
           whether that is less than walking rows.
Not here   what follows (masks), token masks (mask_builder).
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .mask_builder cimport MaskBuilder

cdef bint is_narrow(Vocabulary vocabulary, const uint64_t* live) noexcept nogil
cdef void list_cuts(
    MaskBuilder maker, Vocabulary vocabulary, uint32_t state, uint32_t top, uint8_t byte,
    uint32_t least, uint32_t most, vector[uint32_t]* places
) noexcept nogil
cdef uint32_t missing_behind(
    MaskBuilder maker, Vocabulary vocabulary, uint32_t state, uint32_t depth, uint32_t token,
    uint32_t least, uint32_t most, vector[uint32_t]* lengths
) noexcept nogil
