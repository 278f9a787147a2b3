"""The suffixes of uncertain tokens as a trie: see ``SuffixTrieC`` in token masks.

Cost     building sorts the group's tokens by what remains of them, about 0.3 us a token; so it is
         done for a group that is asked for again, and not for a small one.
Threads  the pointer to a group's suffixes is read and set under the table's mutex; suffixes are built
         outside it and never change.
"""

from libc.stdint cimport uint32_t

from ..vocabulary.vocabulary cimport Vocabulary
from .token_mask cimport SuffixTriePtr, TokenMaskC, TokenMaskCache

cdef SuffixTriePtr suffix_trie_of(
    TokenMaskC* token_mask, uint32_t group, Vocabulary vocabulary, TokenMaskCache table
) noexcept nogil
