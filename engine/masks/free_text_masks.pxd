"""Triples of free text, made from that of plain text.

Plain text is any UTF-8. Free text differs from it only below tokens in which a pattern completes,
and such a token holds the pattern's first byte. So the triple of plain text is made once per
vocabulary, and that of a set of patterns by looking only at the nodes of the token trie with such a
byte: its cost grows with how often those bytes occur in the vocabulary, not with its size (no token
of llama3 holds `<function=`, 300 nodes have a `<`).

Cost     plain text: one pass over the trie. A set of patterns: the way to each node with a first
         byte, and what lies below while a pattern is under way.
Not here the automaton (dispatch), other states of it (triplemaker, by difference).
"""

from libc.stdint cimport uint32_t

from ..automata.rule_automata cimport Automata
from .token_mask cimport TripleC, TriplePtr
from ..vocabulary.vocabulary cimport Vocabulary

cdef TriplePtr plain_text_triple(Vocabulary vocabulary) noexcept nogil
cdef TriplePtr free_text_triple(
    Automata automata, uint32_t state, Vocabulary vocabulary, TripleC* plain
) noexcept nogil
