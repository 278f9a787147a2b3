"""Detours of a configuration."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..earley.rows cimport DEAD, Arena, RowC
from ..native.pool cimport vector
from ..vocabulary.detour_table cimport MAY_END, DetourC, DetourTable
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary

# Bytes that may come next in a row that is looked at. Digits, signs and the first letters of
# literals are 20; text of any kind has more than 90.
cdef int MAX_LIVE = 40

# Tokens of the table that are followed in a row.
cdef uint32_t MAX_FOLLOWED = 32

cdef extern from *:
    int __builtin_popcountll(unsigned long long) noexcept nogil
    int __builtin_ctzll(unsigned long long) noexcept nogil


cdef void list_detours(
    Arena arena, Vocabulary vocabulary, DetourTable table, uint32_t configuration, vector[uint32_t]* out
) noexcept nogil:
    """Append the detours of a configuration. Bits of their ids are set in its mask."""
    cdef RowC* row = &arena.rows[arena.configurations[configuration].row]
    cdef uint64_t[4] live = row.live
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t k = 0, rank, end, followed = 0, reached
    if not may_begin(row, table) or row.has_tokens or row.counts_tokens:
        return
    while k < table.detours.size() and followed < MAX_FOLLOWED:
        if not (live[table.detours[k].begin >> 6] >> (table.detours[k].begin & 63)) & 1:
            k += 1
            continue
        end = table.detours[k].node
        reached = follow(arena, vocabulary, configuration, &end)
        followed += 1
        if reached == DEAD:
            # no token below the node where the text ended is possible
            while k < table.detours.size() and table.detours[k].node < end:
                k += 1
            continue
        if is_detour(arena, table, &table.detours[k], reached):
            for rank in range(nodes[table.detours[k].node].first, nodes[table.detours[k].node + 1].first):
                out.push_back(vocabulary.order[rank])
        k += 1


cdef bint may_begin(RowC* row, DetourTable table) noexcept nogil:
    """Return whether a token of the table may begin in a row, and few other bytes."""
    cdef int k, live = 0
    cdef uint64_t common = 0
    for k in range(4):
        common |= row.live[k] & table.begins[k]
        live += __builtin_popcountll(row.live[k])
    return common != 0 and live <= MAX_LIVE


cdef uint32_t follow(Arena arena, Vocabulary vocabulary, uint32_t configuration, uint32_t* node) noexcept nogil:
    """Return the configuration after the bytes of a trie node.

    DEAD: the bytes are not allowed; ``node`` becomes the end of the subtree that this rules out.
    """
    cdef uint32_t top = node[0], k, n = vocabulary.nodes[top].depth
    cdef const uint8_t* text = vocabulary.data.data() + vocabulary.offsets[
        vocabulary.order[vocabulary.nodes[top].first]]
    for k in range(n):
        configuration = arena.step(configuration, text[k])
        if configuration == DEAD:
            while vocabulary.nodes[top].depth > k + 1:
                top = vocabulary.parents[top]
            node[0] = vocabulary.nodes[top].end
            return DEAD
    return configuration


cdef bint is_detour(Arena arena, DetourTable table, const DetourC* detour, uint32_t configuration) noexcept nogil:
    """Return whether every continuation of a configuration, which a token leads to, joins it."""
    cdef RowC row = arena.rows[arena.configurations[configuration].row]
    cdef uint32_t word, byte, after
    cdef uint64_t left
    cdef bint joins = False
    if row.accept or row.has_tokens or row.counts_tokens or row.live[2] | row.live[3]:
        return False
    if (row.live[0] & ~detour.bytes[0]) | (row.live[1] & ~detour.bytes[1]):
        return False
    for word in range(2):
        left = row.live[word]
        while left:
            byte = 64 * word + __builtin_ctzll(left)
            left &= left - 1
            after = arena.step(configuration, <uint8_t>byte)
            if after == DEAD:
                continue
            if not joins_before(&arena.rows[arena.configurations[after].row], table.extension(detour, byte).before):
                return False
            joins = True
    return joins


cdef bint joins_before(RowC* row, const uint64_t* before) noexcept nogil:
    """Return whether no text of a row begins with one of these bytes, MAY_END for its end."""
    cdef uint32_t k
    if row.counts_tokens:
        return False
    if (row.accept or row.has_tokens) and (before[MAY_END >> 6] >> (MAY_END & 63)) & 1:
        return False
    for k in range(4):
        if row.live[k] & before[k]:
            return False
    return True
