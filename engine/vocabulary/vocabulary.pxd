"""The vocabulary as the engine sees it: token bytes, and a flat depth-first trie over them.

Representation   nodes[0] is the root. The subtree of node i is nodes[i .. nodes[i].end - 1],
                 children in ascending order of their bytes. A sentinel closes the array. order[]
                 lists the ordinary token ids sorted by bytes. The tokens that end at node i are
                 order[nodes[i].first .. nodes[i + 1].first - 1]; those in its subtree are
                 order[nodes[i].first .. nodes[nodes[i].end].first - 1]. Token t's bytes are
                 data[offsets[t] .. offsets[t + 1] - 1]. A TokenSet is a set of token ids that
                 grammars share: free text may contain hundreds of special tokens, the same ones in
                 each request.
Invariants       I1 special, stop and empty tokens are not in the trie: they match by id, or never.
                 I2 immutable once built; shared by all grammars and threads.
                 I3 order[] ascends by bytes, equal tokens by id; the ids of a TokenSet ascend, each
                    once.
Cost             0.09 s for 128,000 tokens, half of it for sorting, once per process.
Not here         masks (row_masks), tokenizing text (the gateway).
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

cdef class TokenSet:
    cdef vector[uint32_t] ids


cdef enum:
    # kinds of tokens; only ordinary ones match bytes
    ORDINARY = 0
    SPECIAL = 1
    STOP = 2
    EMPTY = 3

cdef struct TrieNode:
    uint32_t end          # index past the subtree
    uint32_t first        # index into order[]
    uint16_t depth        # bytes from the root
    uint8_t byte

cdef class Vocabulary:
    cdef readonly list tokens
    cdef readonly tuple stop_token_ids
    cdef readonly tuple special_token_ids
    cdef readonly object encode
    cdef readonly str fingerprint
    cdef readonly uint32_t size
    cdef readonly uint32_t words              # int32 words of a mask row
    cdef uint32_t used_words                  # words up to the last token that is not empty
    cdef readonly uint32_t max_token_bytes
    cdef uint32_t ordinary                    # number of tokens in the trie
    cdef vector[TrieNode] nodes
    cdef uint32_t first_nodes[256]            # by byte: the root's child, 0: none
    cdef vector[uint32_t] parents             # by node
    cdef vector[uint64_t] classes_below       # by node: the classes of bytes below it (byte_classes)
    cdef vector[uint8_t] phases               # by node: the place within a character, from a boundary on
    cdef vector[uint32_t] ordinary_words      # the mask of all tokens in the trie
    cdef uint32_t byte_offs[257]              # nodes by byte: byte_nodes[byte_offs[b] ..]
    cdef vector[uint32_t] byte_nodes
    cdef vector[uint32_t] order
    cdef vector[uint32_t] lengths             # bytes, by place in order[]
    cdef vector[uint8_t] data
    cdef vector[uint32_t] offsets
    cdef vector[uint32_t] stops               # stop_token_ids
    cdef vector[uint32_t] texts               # bitset of tokens with a text, except stop tokens
    cdef vector[uint32_t] ragged              # ordinary tokens that may end within a character
    cdef vector[uint16_t] begun               # by ordinary token: the characters it begins
    cdef vector[uint32_t] by_chars            # ordinary tokens, ordered by the characters they begin
    cdef vector[uint32_t] char_offs           # by number of characters: the tokens that begin no more
    cdef vector[uint8_t] kind                 # by token id: ORDINARY, SPECIAL, STOP or EMPTY
    cdef uint32_t max_count[256]              # by byte: its most occurrences in one ordinary token
    cdef bint build_trie(self) noexcept nogil
    cdef void clear_trie(self) noexcept nogil
    cdef void index_nodes(self) noexcept nogil
    cdef void index_characters(self) noexcept nogil
    cdef uint32_t of_chars(self, uint32_t most) noexcept nogil
    cdef uint32_t child(self, uint32_t node, uint8_t byte) noexcept nogil

cdef uint32_t lead_bytes(const uint8_t* text, uint32_t n) noexcept nogil
