"""Unions: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..native.hashing cimport MISSING
from ..native.pool cimport vector
from ..native.word_table cimport WordTableC, table_number
from ..vocabulary.vocabulary cimport TrieNode
from .mask_builder cimport MaskBuilder, SlotC, clear_ids, pack_bits, set_below, sort_exits
from .safe_classes cimport ANY_PHASE, SafeC

# With more members, to find what each always takes costs more than the nodes that it skips.
cdef size_t SAFE_MEMBERS = 16

# The set of which every member is gone.
cdef uint32_t GONE = 0


cdef struct SetC:
    SlotC slot                # as one state: `safe` is that of the member that takes most
    uint32_t ends             # the number of the set of members that may end here


cdef struct WalkC:
    WordTableC numbers
    vector[SetC] sets
    vector[uint32_t] edges    # 256 for each set; MISSING: not made yet


cdef bint make_union(
    MaskBuilder maker, vector[uint32_t]* states, uint32_t node, UnionC* out
) noexcept nogil:
    """What the states say together below a node; False if there are too many sets."""
    cdef WalkC walk
    cdef vector[uint32_t] members
    cdef uint32_t k
    maker.prepare()
    members.assign(states.size(), 0)
    number_of(maker, &walk, &members, &out.ends)
    for k in range(<uint32_t>states.size()):
        members[k] = maker.slot(states[0][k])
    if not walk_trie(maker, &walk, number_of(maker, &walk, &members, &out.ends), node, out):
        return False
    pack_bits(&out.token_mask, maker.vocabulary)
    sort_exits(&out.token_mask, maker.vocabulary)
    return True


cdef bint walk_trie(
    MaskBuilder maker, WalkC* walk, uint32_t start, uint32_t top, UnionC* out
) noexcept nogil:
    """Begins with all tokens and takes out those that no member can follow."""
    cdef TrieNode* nodes = maker.vocabulary.nodes.data()
    cdef uint32_t* order = maker.vocabulary.order.data()
    cdef uint64_t* below = maker.vocabulary.classes_below.data()
    cdef uint8_t* phases = maker.vocabulary.phases.data()
    cdef uint32_t node = top + 1, end = nodes[top].end, top_depth = nodes[top].depth, depth, number
    cdef uint32_t* words
    cdef SetC* made
    cdef vector[uint32_t] sets_at
    sets_at.assign(maker.vocabulary.max_token_bytes + 2, 0)
    sets_at[top_depth] = start
    set_below(maker.vocabulary, top, &out.token_mask)
    words = out.token_mask.words.data()
    while node < end:
        maker.visited += 1
        depth = nodes[node].depth
        number = walk.edges[256 * sets_at[depth - 1] + nodes[node].byte]
        if number == MISSING:
            number = make_edge(maker, walk, sets_at[depth - 1], nodes[node].byte, &out.ends)
            if walk.sets.size() > UNION_SETS:
                return False
        made = &walk.sets[number]
        if number == GONE or made.slot.triggers:
            if number != GONE:
                out.token_mask.triggers.push_back(node)
            clear_ids(words, order + nodes[node + (number != GONE)].first, order + nodes[nodes[node].end].first)
            maker.leave(node, top_depth, &out.token_mask)
            node = nodes[node].end
        elif not below[node] & ~made.slot.safe.classes and (
                made.slot.safe.phase == phases[node] or made.slot.safe.phase == ANY_PHASE):
            node = nodes[node].end
        else:
            maker.enter(node, depth, &made.slot)
            maker.counts[depth] = made.ends
            sets_at[depth] = number
            node += 1
    return True


cdef uint32_t make_edge(
    MaskBuilder maker, WalkC* walk, uint32_t number, uint8_t byte, WordTableC* ends
) noexcept nogil:
    """Follows a byte from every member of a set; returns the number of the set behind it."""
    cdef vector[uint32_t] members
    cdef uint32_t k, found
    members.assign(
        walk.numbers.words.data() + walk.numbers.off[number],
        walk.numbers.words.data() + walk.numbers.off[number + 1])
    for k in range(<uint32_t>members.size()):
        if members[k]:
            members[k] = maker.follow(members[k], byte)
    found = number_of(maker, walk, &members, ends)
    walk.edges[256 * number + byte] = found
    return found


cdef uint32_t number_of(
    MaskBuilder maker, WalkC* walk, vector[uint32_t]* members, WordTableC* ends
) noexcept nogil:
    """The number of a set, a new one if need be; the first is that of which nothing is left."""
    cdef uint32_t number = table_number(&walk.numbers, members.data(), members.size()), k
    cdef vector[uint32_t] ending
    cdef SlotC* slot
    cdef SafeC* safe
    cdef SetC made
    if number < walk.sets.size():
        return number
    made.slot = maker.slots[0]
    for k in range(<uint32_t>members.size()):
        if members[0][k] == 0:
            continue
        slot = &maker.slots[members[0][k]]
        if slot.ends:
            ending.push_back(k)
        made.slot.triggers |= slot.triggers
        if members.size() <= SAFE_MEMBERS:
            safe = maker.safety(members[0][k])
            if __builtin_popcountll(safe.classes) > __builtin_popcountll(made.slot.safe.classes):
                made.slot.safe = safe[0]
    made.slot.ends = ending.size() > 0
    made.ends = table_number(ends, ending.data(), ending.size())
    walk.sets.push_back(made)
    walk.edges.resize(walk.edges.size() + 256, MISSING)
    return number


cdef extern from *:
    int __builtin_popcountll(unsigned long long) noexcept nogil
