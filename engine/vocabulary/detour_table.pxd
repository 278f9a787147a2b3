"""Tokens that the tokenizer never writes before some texts, although they spell the same bytes.

A tokenizer writes ` true` as one token, so the token of a lone space never stands before `true`. A
text that begins with that token is possible, but no model has seen it. The tokenizer itself shows
what may follow a token: it splits texts of the token's bytes before many other tokens.

Representation   An entry is a trie node where tokens end, and the *extensions* of these tokens:
                 bytes that make another token of them. For each extension, `before` is the set of
                 second bytes before which the tokenizer writes the shorter token. In the set,
                 MAY_END stands for the end of the text. Entries are in the order of the trie.
Candidates       tokens of white space and opening brackets: after white space before printable
                 ASCII, after a bracket before marks of JSON. They are frequent where other text
                 follows (digits, a line break), so a model that means other text takes them.
                 Without `encode`, or if a byte of a token is no token itself, there are none.
Approximation    Of each pair of bytes some tokens are tried, those of the lowest ids, which merges
                 make first. A missing pair would only clear a token that the tokenizer writes; the
                 proof in masks/detours does not depend on it.
Invariants       I1 immutable once built; shared by all grammars and threads.
Cost             0.3 s for 200,000 tokens, once per vocabulary: 60,000 short texts, which the
                 tokenizer gets joined.
Not here         which tokens a grammar allows (masks/detours).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from .vocabulary cimport Vocabulary

cdef enum:
    # a byte that no text begins with stands for the end of the text
    MAY_END = 0xFF

cdef struct ExtensionC:
    uint64_t before[4]        # second bytes before which the shorter token is written

cdef struct DetourC:
    uint32_t node             # the trie node where the tokens end
    uint8_t begin             # their first byte
    uint64_t bytes[2]         # its extensions; ASCII only
    uint32_t first            # index into `extensions`: that of the lowest byte

cdef class DetourTable:
    cdef vector[DetourC] detours
    cdef vector[ExtensionC] extensions
    cdef uint64_t begins[4]           # first bytes of the tokens
    cdef ExtensionC* extension(self, const DetourC* detour, uint32_t byte) noexcept nogil


cdef DetourTable detours_of(Vocabulary vocabulary)
