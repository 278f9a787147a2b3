"""Rests: see the header file."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared

from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary
from .token_mask cimport (
    ExitGroupC, SuffixNodeC, SuffixTrieC, SuffixTriePtr, TokenMaskC, TokenMaskCache,
    suffix_trie_bytes,
)

# Groups with fewer exits are followed one by one.
cdef uint32_t FEW_EXITS = 24
# A subtree of the token trie with more nodes is not copied.
cdef uint32_t LARGE_SUBTREE = 256


cdef struct SuffixC:
    const uint8_t* text       # of the suffixes
    uint32_t length, token, count


cdef bint entry_before(const SuffixC& a, const SuffixC& b) noexcept nogil:
    cdef uint32_t k
    for k in range(min(a.length, b.length)):
        if a.text[k] != b.text[k]:
            return a.text[k] < b.text[k]
    if a.length != b.length:
        return a.length < b.length
    return a.token < b.token


cdef SuffixTriePtr suffix_trie_of(
    TokenMaskC* token_mask, uint32_t group, Vocabulary vocabulary, TokenMaskCache table
) noexcept nogil:
    """The suffixes of a group of exits; empty where it is small, or asked for the first time."""
    cdef SuffixTriePtr found
    cdef ExitGroupC* g = &token_mask.groups[group]
    cdef uint32_t uses
    if g.end - g.start < FEW_EXITS:
        return found
    if table is not None:
        table.guard.lock()
    found = g.suffixes
    g.uses += 1
    uses = g.uses
    if table is not None:
        table.guard.unlock()
    if found.get() != NULL or uses < 2:
        return found
    found = make_suffix_trie(token_mask, g, vocabulary)
    if table is not None:
        table.guard.lock()
    if token_mask.is_kept and g.suffixes.get() == NULL:
        table.held += suffix_trie_bytes(found.get())
    g.suffixes = found
    if table is not None:
        table.guard.unlock()
    return found


cdef SuffixTriePtr make_suffix_trie(TokenMaskC* token_mask, ExitGroupC* group, Vocabulary vocabulary) noexcept nogil:
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef SuffixTriePtr made = make_shared[SuffixTrieC]()
    cdef vector[SuffixC] entries
    cdef SuffixC entry
    cdef uint32_t e, k, j, t
    for e in range(group.start, group.end):
        k = token_mask.exits[2 * e + 1]
        if nodes[k].end - k > LARGE_SUBTREE:
            made.get().large.push_back(e)
            continue
        entry.count = token_mask.exit_counts[e] if token_mask.exit_counts.size() else 0
        for j in range(nodes[k].first, nodes[nodes[k].end].first):
            t = vocabulary.order[j]
            entry.token = t
            entry.text = vocabulary.data.data() + vocabulary.offsets[t] + nodes[k].depth - 1
            entry.length = vocabulary.offsets[t + 1] - vocabulary.offsets[t] - (nodes[k].depth - 1)
            entries.push_back(entry)
    sort(entries.begin(), entries.end(), &entry_before)
    build_trie(&entries, group.byte, token_mask.exit_counts.size() > 0, made.get())
    return made


cdef void build_trie(
    vector[SuffixC]* entries, uint8_t byte, bint counted, SuffixTrieC* out
) noexcept nogil:
    """One pass over the sorted suffixes, as the token trie is built."""
    cdef vector[uint32_t] open_nodes
    cdef SuffixNodeC node
    cdef const uint8_t* last = NULL
    cdef uint32_t k, depth, common, before = 1
    node.end = node.first = 0
    node.depth, node.byte = 1, byte
    out.nodes.push_back(node)
    open_nodes.push_back(0)
    for k in range(<uint32_t>entries.size()):
        common = 1
        while last != NULL and common < entries[0][k].length and common < before and (
                entries[0][k].text[common] == last[common]):
            common += 1
        while open_nodes.size() > common:
            out.nodes[open_nodes.back()].end = <uint32_t>out.nodes.size()
            open_nodes.pop_back()
        for depth in range(common, entries[0][k].length):
            node.first = <uint32_t>out.tokens.size()
            node.depth, node.byte = <uint16_t>(depth + 1), entries[0][k].text[depth]
            open_nodes.push_back(<uint32_t>out.nodes.size())
            out.nodes.push_back(node)
        out.tokens.push_back(entries[0][k].token)
        if counted:
            out.counts.push_back(entries[0][k].count)
        last, before = entries[0][k].text, entries[0][k].length
    while open_nodes.size():
        out.nodes[open_nodes.back()].end = <uint32_t>out.nodes.size()
        open_nodes.pop_back()
    node.end, node.first = <uint32_t>out.nodes.size(), <uint32_t>out.tokens.size()
    out.nodes.push_back(node)
