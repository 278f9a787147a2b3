"""Partition refinement: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..native.pool cimport vector
from ..native.word_table cimport WordTableC, table_clear, table_number

cdef enum:
    NONE = 0xFFFFFFFF


cdef struct PartitionC:
    vector[uint32_t] sizes      # by block
    # by block, of this round: states that are looked at; the number of its largest group
    vector[uint32_t] looked_at, largest
    # by group of this round: its block, how many states it has, the block that it becomes
    vector[uint32_t] origins, counts, made
    vector[uint32_t] group_of   # by state


cdef uint32_t refine(
    const LetterEdgesC* graph, vector[uint32_t]* blocks, uint32_t count, uint64_t most, uint64_t* looks
) noexcept nogil:
    cdef uint32_t n = <uint32_t>blocks.size(), s, k, group
    cdef PartitionC parts
    cdef WordTableC signatures
    cdef vector[uint32_t] key, todo, changed, off, sources
    cdef vector[uint8_t] waits
    list_sources(graph, n, &off, &sources)
    parts.sizes.assign(count, 0)
    parts.looked_at.assign(count, 0)
    parts.largest.assign(count, NONE)
    parts.group_of.resize(n)
    waits.assign(n, 0)
    for s in range(n):
        parts.sizes[blocks[0][s]] += 1
        todo.push_back(s)
    while todo.size():
        table_clear(&signatures)
        parts.origins.clear()
        parts.counts.clear()
        for s in todo:
            looks[0] += graph.off[s + 1] - graph.off[s]
            if looks[0] > most:
                return 0
            list_signature(graph, blocks, s, &key)
            group = table_number(&signatures, key.data(), key.size())
            if group == parts.counts.size():
                parts.origins.push_back(blocks[0][s])
                parts.counts.push_back(0)
            parts.group_of[s] = group
            parts.counts[group] += 1
            parts.looked_at[blocks[0][s]] += 1
        split(&parts)
        changed.clear()
        for s in todo:
            k = parts.made[parts.group_of[s]]
            parts.looked_at[blocks[0][s]] = 0
            if k != blocks[0][s]:
                changed.push_back(s)
                parts.sizes[blocks[0][s]] -= 1
                parts.sizes[k] += 1
                blocks[0][s] = k
        todo.clear()
        for s in changed:
            for k in range(off[s], off[s + 1]):
                if not waits[sources[k]]:
                    waits[sources[k]] = 1
                    todo.push_back(sources[k])
        for s in todo:
            waits[s] = 0
    return renumber(blocks, <uint32_t>parts.sizes.size())


cdef void split(PartitionC* parts) noexcept nogil:
    """Numbers the groups of a round. Of a block that was looked at as a whole the largest group keeps the
    number; else the states do that were not, from which all of the others differ: they lead to new blocks.
    """
    cdef uint32_t g, block, best
    for g in range(<uint32_t>parts.counts.size()):
        block = parts.origins[g]
        if parts.looked_at[block] < parts.sizes[block]:
            continue
        best = parts.largest[block]
        if best == NONE or parts.counts[g] > parts.counts[best]:
            parts.largest[block] = g
    parts.made.clear()
    for g in range(<uint32_t>parts.counts.size()):
        block = parts.origins[g]
        if parts.largest[block] == g:
            parts.made.push_back(block)
            continue
        parts.made.push_back(<uint32_t>parts.sizes.size())
        parts.sizes.push_back(0)
        parts.looked_at.push_back(0)
        parts.largest.push_back(NONE)
    for block in parts.origins:
        parts.largest[block] = NONE


cdef void list_signature(
    const LetterEdgesC* graph, vector[uint32_t]* blocks, uint32_t s, vector[uint32_t]* out
) noexcept nogil:
    """What tells states apart: the block, and the edges up to blocks. Neighbouring ranges that lead to one
    block are one range.
    """
    cdef const LetterEdgeC* edge = graph.edges.data() + graph.off[s]
    cdef const LetterEdgeC* end = graph.edges.data() + graph.off[s + 1]
    cdef uint32_t* made
    cdef uint32_t block, last = NONE
    cdef size_t size = 1
    out.resize(1 + 3 * <size_t>(end - edge))
    made = out.data()
    made[0] = blocks[0][s]
    while edge < end:
        block = blocks[0][edge.target]
        if block == last and made[size - 1] + 1 == edge.low:
            made[size - 1] = edge.high
        else:
            made[size], made[size + 1], made[size + 2] = block, edge.low, edge.high
            size += 3
            last = block
        edge += 1
    out.resize(size)


cdef void list_sources(
    const LetterEdgesC* graph, uint32_t n, vector[uint32_t]* off, vector[uint32_t]* sources
) noexcept nogil:
    """By state s: sources[off[s]..off[s + 1] - 1] have an edge to it."""
    cdef uint32_t s, k
    off.assign(n + 2, 0)
    for k in range(<uint32_t>graph.edges.size()):
        off[0][graph.edges[k].target + 2] += 1
    for s in range(n):
        off[0][s + 2] += off[0][s + 1]
    sources.resize(graph.edges.size())
    for s in range(n):
        for k in range(graph.off[s], graph.off[s + 1]):
            # where the next state's begin is the end of this one's, at last
            sources[0][off[0][graph.edges[k].target + 1]] = s
            off[0][graph.edges[k].target + 1] += 1


cdef uint32_t renumber(vector[uint32_t]* blocks, uint32_t count) noexcept nogil:
    """By first members; how many there are."""
    cdef vector[uint32_t] names
    cdef uint32_t s, fresh = 0
    names.assign(count, NONE)
    for s in range(<uint32_t>blocks.size()):
        if names[blocks[0][s]] == NONE:
            names[blocks[0][s]] = fresh
            fresh += 1
        blocks[0][s] = names[blocks[0][s]]
    return fresh
