"""Cuts: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport lower_bound

from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary
from .mask_builder cimport MaskBuilder

# Nodes that are looked at for one mask. llama3 has 274,520: 13,000 of the most frequent letter, some
# hundred of a bracket.
cdef uint32_t NARROW_NODES = 1 << 14


cdef bint is_narrow(Vocabulary vocabulary, const uint64_t* live) noexcept nogil:
    """Whether few nodes of the trie have one of these bytes."""
    cdef uint32_t b, total = 0
    for b in range(256):
        if (live[b >> 6] >> (b & 63)) & 1:
            total += vocabulary.byte_offs[b + 1] - vocabulary.byte_offs[b]
    return total <= NARROW_NODES


cdef void list_cuts(
    MaskBuilder maker, Vocabulary vocabulary, uint32_t state, uint32_t top, uint8_t byte,
    uint32_t least, uint32_t most, vector[uint32_t]* places
) noexcept nogil:
    """The places below ``top`` with this byte; the text has reached ``state`` at ``top``."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t end = vocabulary.byte_offs[byte + 1], k = vocabulary.byte_offs[byte]
    cdef uint32_t node
    cdef uint8_t* text
    k = <uint32_t>(lower_bound(
        vocabulary.byte_nodes.begin() + k, vocabulary.byte_nodes.begin() + end, top + 1)
        - vocabulary.byte_nodes.begin())
    while k < end and vocabulary.byte_nodes[k] < nodes[top].end:
        node = vocabulary.byte_nodes[k]
        # some token passes through every node: its bytes are the way to it
        text = vocabulary.data.data() + vocabulary.offsets[vocabulary.order[nodes[node].first]]
        if may_be_over(maker, state, text + nodes[top].depth, nodes[node].depth - 1 - nodes[top].depth, least, most):
            places.push_back(node)
        k += 1


cdef bint may_be_over(
    MaskBuilder maker, uint32_t state, const uint8_t* text, uint32_t n, uint32_t least, uint32_t most
) noexcept nogil:
    """Whether the text may be over behind these bytes; not where there are none."""
    cdef uint32_t k, count = 0, slot = maker.slot(state)
    for k in range(n):
        slot = maker.follow(slot, text[k])
        if slot == 0:
            return False
        count += maker.slots[slot].loops
        if count > most:
            return False
    return n > 0 and count >= least and maker.slots[slot].ends


cdef uint32_t missing_behind(
    MaskBuilder maker, Vocabulary vocabulary, uint32_t state, uint32_t depth, uint32_t token,
    uint32_t least, uint32_t most, vector[uint32_t]* lengths
) noexcept nogil:
    """The bytes that a character lacks behind a token, accepted from its byte ``depth`` on.

    ``lengths``: of the token's beginnings behind which it may be over too.
    """
    cdef uint8_t* text = vocabulary.data.data() + vocabulary.offsets[token]
    cdef uint32_t n = vocabulary.offsets[token + 1] - vocabulary.offsets[token], count = 0
    cdef uint32_t slot = maker.slot(state)
    lengths.clear()
    while depth < n:
        slot = maker.follow(slot, text[depth])
        count += maker.slots[slot].loops
        depth += 1
        if maker.slots[slot].ends and depth < n and least <= count <= most:
            lengths.push_back(depth)
    return maker.automata.states[maker.slots[slot].state].missing
