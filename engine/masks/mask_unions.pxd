"""Unions: what several states of tabled rules say of the vocabulary together, in one walk.

Where keys match many patterns, or alternatives many, a row has an item for each, and each would walk
most of the trie for a token mask of its own. Here the trie is walked once over sets of states, which are
determinised on the way. A token is accepted if any member accepts it.

Representation   of a walk: a set is a word for each member, its state (a slot of the token mask maker) or
                 0 once it is gone. Of the result: a token mask (token masks) whose exits have, instead of a
                 count, the number of the set of members that may end there; the rows outside each
                 are another's.
Bounds           UNION_SETS in one walk: determinising may explode, and then each member gets its own
                 token mask.
Cost             one look-up for each node visited, and for each new edge between sets a step of
                 every member.
Threads          under the arena's mutex.
Not here         which items are taken together, the rows outside (row_masks).
"""

from libc.stdint cimport uint32_t

from ..native.pool cimport vector
from ..native.word_table cimport WordTableC
from .mask_builder cimport MaskBuilder
from .token_mask cimport TokenMaskC

cdef enum:
    # Six patterns for keys need 1,000 in a string's spellings; each takes a kilobyte while the walk lasts.
    UNION_SETS = 4096

cdef struct UnionC:
    TokenMaskC token_mask
    WordTableC ends           # sets of members, by their place among the states

cdef bint make_union(
    MaskBuilder maker, vector[uint32_t]* states, uint32_t node, UnionC* out
) noexcept nogil
