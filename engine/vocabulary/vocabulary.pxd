"""The vocabulary as the engine sees it: token bytes, and a flat depth-first trie over them.

Representation   nodes[0] is the root. The subtree of node i is nodes[i .. nodes[i].end - 1],
                 children in ascending order of their bytes. A sentinel closes the array. order[]
                 lists the ordinary token ids sorted by bytes. The tokens that end at node i are
                 order[nodes[i].first .. nodes[i + 1].first - 1]; those in its subtree are
                 order[nodes[i].first .. nodes[nodes[i].end].first - 1]. Token t's bytes are
                 data[offsets[t] .. offsets[t + 1] - 1]. A TokenSet is a set of token ids that
                 grammars share: free text may contain hundreds of special tokens, the same ones in
                 each request.
Classes          With the classes of bytes, a node says at once which bytes occur below it. There is
                 one for each ASCII punctuation mark, because patterns exclude single ones; letters
                 and digits share a few; MULTIBYTE stands for well-formed characters of several
                 bytes, INVALID for malformed bytes. A truncated last character counts as
                 well-formed.
Phase            The place of a text within a character: BOUNDARY, or the bytes that must follow.
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
    cdef object detours                       # a DetourTable, None until its first use (detour_table)
    cdef readonly str fingerprint
    cdef readonly uint32_t size
    cdef readonly uint32_t words              # int32 words of a mask row
    cdef uint32_t used_words                  # words up to the last token that is not empty
    cdef readonly uint32_t max_token_bytes
    cdef uint32_t ordinary                    # number of tokens in the trie
    cdef vector[TrieNode] nodes
    cdef uint32_t first_nodes[256]            # by byte: the root's child, 0: none
    cdef vector[uint32_t] parents             # by node
    cdef vector[uint64_t] classes_below       # by node: the classes of bytes below it
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
    cdef void index_nodes(self) noexcept nogil
    cdef void index_characters(self) noexcept nogil
    cdef uint32_t of_chars(self, uint32_t most) noexcept nogil
    cdef uint32_t child(self, uint32_t node, uint8_t byte) noexcept nogil

cdef uint32_t lead_bytes(const uint8_t* text, uint32_t n) noexcept nogil


# -- classes of bytes, and phases -------------------------------------------------------------------
cdef enum:
    BOUNDARY = 0
    NEED_1 = 1              # continuation bytes
    NEED_2 = 2
    NEED_3 = 3
    AFTER_E0 = 4            # A0..BF, then one more
    AFTER_ED = 5            # 80..9F, then one more
    AFTER_F0 = 6            # 90..BF, then two more
    AFTER_F4 = 7            # 80..8F, then two more
    BROKEN = 8

cdef extern from *:
    """
    static const uint64_t MULTIBYTE = uint64_t{1} << 43;
    static const uint64_t INVALID = uint64_t{1} << 44;
    """
    const uint64_t MULTIBYTE
    const uint64_t INVALID

cdef inline uint64_t class_bit(uint8_t byte) noexcept nogil:
    """Return the class of an ASCII byte as one bit of a set."""
    cdef int number
    if byte <= 0x20:
        number = 4 if byte == 0x20 else 1 if byte == 9 else 2 if byte == 10 else 3 if byte == 13 else 0
    elif 48 <= byte <= 57:
        number = 5
    elif 65 <= byte <= 90:
        number = 6 if byte <= 70 else 7
    elif 97 <= byte <= 122:
        number = 8 if byte <= 102 else 9
    elif byte == 0x7F:
        number = 10
    else:
        number = 11 + byte - (33 if byte < 48 else 43 if byte < 65 else 69 if byte < 97 else 95)
    return <uint64_t>1 << number

cdef inline uint8_t low_of(uint8_t phase) noexcept nogil:
    """Return the first byte that may follow within a character."""
    return 0xA0 if phase == AFTER_E0 else 0x90 if phase == AFTER_F0 else 0x80

cdef inline uint8_t high_of(uint8_t phase) noexcept nogil:
    """Return the last byte that may follow within a character."""
    return 0x9F if phase == AFTER_ED else 0x8F if phase == AFTER_F4 else 0xBF

cdef inline uint8_t phase_after(uint8_t phase, uint8_t byte) noexcept nogil:
    """Return the phase after one more byte."""
    if phase == BROKEN:
        return BROKEN
    if phase == BOUNDARY:
        if byte < 0x80:
            return BOUNDARY
        if byte < 0xC2 or byte > 0xF4:
            return BROKEN
        if byte < 0xE0:
            return NEED_1
        if byte < 0xF0:
            return AFTER_E0 if byte == 0xE0 else AFTER_ED if byte == 0xED else NEED_2
        return AFTER_F0 if byte == 0xF0 else AFTER_F4 if byte == 0xF4 else NEED_3
    if byte < low_of(phase) or byte > high_of(phase):
        return BROKEN
    if phase == NEED_1:
        return BOUNDARY
    return NEED_2 if phase == NEED_3 or phase >= AFTER_F0 else NEED_1
