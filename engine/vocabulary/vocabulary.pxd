"""A set of token ids, made once and shared by every grammar that names it.

Free text may hold hundreds of special tokens, the same ones in each request: grammars refer to the
set instead of holding its ids.

Invariants   I1 ids ascend, each once; immutable.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

cdef class TokenSet:
    cdef vector[uint32_t] ids


# -- vocabulary ------------------------------------------------------------------------------------
# The vocabulary as the engine sees it: token bytes, and a flat depth-first trie over them.
#
# Representation   nodes[0] is the root; the subtree of node i is nodes[i .. nodes[i].end - 1],
#                  children in ascending byte order. One sentinel node closes the array.
#                  order[] lists the ordinary token ids sorted by their bytes. Those that end
#                  exactly at node i are order[nodes[i].first .. nodes[i + 1].first - 1]; those in
#                  its whole subtree are order[nodes[i].first .. nodes[nodes[i].end].first - 1].
#                  Token t's bytes are data[offsets[t] .. offsets[t + 1] - 1].
# Invariants       I1 special, stop and empty tokens are not in the trie (they match by id only, or
#                     never).
#                  I2 immutable once built; shared by every grammar and thread.
#                  I3 order[] ascends by bytes, equal tokens by id.
# Cost             0.09 s for 128,000 tokens, half of it sorting: once in a process.
# Not here         masks (row_masks), text (the gateway's tokenizer).

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
    cdef uint32_t used_words                  # of them, those before and with the last token that is not empty
    cdef readonly uint32_t max_token_bytes
    cdef uint32_t ordinary                    # tokens in the trie
    cdef vector[TrieNode] nodes
    cdef uint32_t first_nodes[256]            # child of the root by byte, 0: none
    cdef vector[uint32_t] parents             # by node
    cdef vector[uint64_t] classes_below       # by node: the classes of bytes below it (byteclasses)
    cdef vector[uint8_t] phases               # by node: where within a character a token from a boundary stands
    cdef vector[uint32_t] ordinary_words      # the mask of all tokens in the trie
    cdef uint32_t byte_offs[257]              # nodes by byte: byte_nodes[byte_offs[b] ..]
    cdef vector[uint32_t] byte_nodes
    cdef vector[uint32_t] order
    cdef vector[uint32_t] lengths             # bytes, by place in order[]
    cdef vector[uint8_t] data
    cdef vector[uint32_t] offsets
    cdef vector[uint32_t] stops               # stop_token_ids
    cdef vector[uint32_t] texts               # bitset: tokens that have a text, but stop tokens
    cdef vector[uint32_t] ragged              # ordinary tokens that may end within a character
    cdef vector[uint16_t] begun               # by ordinary token: how many characters it begins
    cdef vector[uint32_t] by_chars            # ordinary tokens in the order of the characters they begin
    cdef vector[uint32_t] char_offs           # by number of characters: how many tokens begin no more
    cdef vector[uint8_t] kind                 # by token id: ORDINARY, SPECIAL, STOP or EMPTY
    cdef uint32_t max_count[256]              # most occurrences of a byte in one ordinary token
    cdef bint build_trie(self) noexcept nogil
    cdef void clear_trie(self) noexcept nogil
    cdef void index_nodes(self) noexcept nogil
    cdef void index_characters(self) noexcept nogil
    cdef uint32_t of_chars(self, uint32_t most) noexcept nogil
    cdef uint32_t child(self, uint32_t node, uint8_t byte) noexcept nogil

cdef uint32_t lead_bytes(const uint8_t* text, uint32_t n) noexcept nogil
