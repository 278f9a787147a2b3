"""The rests of uncertain tokens as a trie: see ``RestC`` in triples.

Cost     building sorts the group's tokens by what remains of them, about 0.3 us a token; so it is
         done for a group that is asked for again, and not for a small one.
Threads  the pointer to a group's rests is read and set under the table's mutex; rests are built
         outside it and never change.
"""

from libc.stdint cimport uint32_t

from .token_mask cimport RestPtr, TripleC, TripleTable
from ..vocabulary.vocabulary cimport Vocabulary

cdef RestPtr rest_of(
    TripleC* triple, uint32_t group, Vocabulary vocabulary, TripleTable table
) noexcept nogil
