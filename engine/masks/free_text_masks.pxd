"""Token masks of free text, made from that of plain text.

Plain text is any UTF-8. Free text differs from it only below tokens in which a pattern completes,
and such a token holds the pattern's first byte. So the token mask of plain text is made once per
vocabulary, and that of a set of patterns by looking only at the nodes of the token trie with such a
byte: its cost grows with how often those bytes occur in the vocabulary, not with its size (no token
of llama3 holds `<function=`, 300 nodes have a `<`).

Cost     plain text: one pass over the trie. A set of patterns: the way to each node with a first
         byte, and what lies below while a pattern is under way.
Not here the automaton (dispatch), other states of it (mask_builder, by difference).
"""

from libc.stdint cimport uint32_t

from ..automata.rule_automata cimport Automata
from ..vocabulary.vocabulary cimport Vocabulary
from .token_mask cimport TokenMaskC, TokenMaskPtr

cdef TokenMaskPtr plain_text_mask(Vocabulary vocabulary) noexcept nogil
cdef TokenMaskPtr free_text_mask(
    Automata automata, uint32_t state, Vocabulary vocabulary, TokenMaskC* plain
) noexcept nogil
