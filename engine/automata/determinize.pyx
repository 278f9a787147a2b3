"""From IR nodes to deterministic automata: edges, spellings, refinement, subset construction."""

from libc.stdint cimport UINT64_MAX, uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort

from ..grammar.ir cimport (
    ALT, BOUNDED, BYTES, CAPTURE, CHARS, DISPATCH, EMPTY, GRAPH, JSON_CHARS, NO_MAXIMUM, OBJECT,
    REF, REPEAT, SEQ, TEXT, TEXTS, TEXT_EXCEPT, TOKENS, TOKENS_EXCEPT, NodeC,
)
from ..grammar.lowered cimport NO_RULE, LoweredGrammar
from ..native.hashing cimport MISSING, U64MapC, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..native.reachability cimport group_by_state, reach
from ..native.word_table cimport WordTableC, table_bytes, table_clear, table_number, table_size


cdef void nfa_start(ByteNfaC* nfa, uint32_t limit) noexcept nogil:
    nfa.edges.clear()
    nfa.size = 0
    nfa.limit = limit
    nfa.counted_low = nfa.counted_high = 0
    nfa.overflow = False


cdef uint32_t nfa_state(ByteNfaC* nfa) noexcept nogil:
    nfa.size += 1
    return nfa.size - 1


cdef void nfa_edge(ByteNfaC* nfa, uint32_t s, uint32_t kind, uint32_t a, uint32_t b, uint32_t t) noexcept nogil:
    cdef EdgeC edge
    if nfa.edges.size() >= nfa.limit:
        nfa.overflow = True
        return
    edge.source, edge.kind, edge.a, edge.b, edge.target = s, kind, a, b, t
    nfa.edges.push_back(edge)


cdef void nfa_emit(ByteNfaC* nfa, LoweredGrammar ir, uint32_t number, uint32_t s, uint32_t t) noexcept nogil:
    """Add edges for the language of a node between states s and t."""
    cdef NodeC* node = &ir.nodes[number]
    cdef uint32_t k
    if nfa.overflow or not ir.productive[number]:
        return
    if ir.rule_of_node[number] != NO_RULE and node.kind in (
            REPEAT, CAPTURE, DISPATCH, TEXTS, TEXT_EXCEPT, OBJECT, BOUNDED, GRAPH):
        nfa_edge(nfa, s, REF_EDGE, ir.rule_of_node[number], 0, t)
    elif node.kind == EMPTY:
        nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, t)
    elif node.kind == BYTES or node.kind == TEXT:
        emit_text(nfa, ir, node, s, t)
    elif node.kind == CHARS:
        for k in range(node.n // 2):
            emit_utf8(nfa, ir.pool[node.off + 2 * k], ir.pool[node.off + 2 * k + 1], s, t)
    elif node.kind == JSON_CHARS:
        emit_json_char(nfa, &ir.pool[node.off], node.n // 2, s, t)
    elif node.kind == SEQ:
        for k in range(node.n - 1):
            number = nfa_state(nfa)
            nfa_emit(nfa, ir, ir.pool[node.off + k], s, number)
            s = number
        nfa_emit(nfa, ir, ir.pool[node.off + node.n - 1], s, t)
    elif node.kind == ALT:
        for k in range(node.n):
            nfa_emit(nfa, ir, ir.pool[node.off + k], s, t)
    elif node.kind == REPEAT:
        emit_repeat(nfa, ir, node, s, t)
    elif node.kind == REF:
        nfa_edge(nfa, s, REF_EDGE, node.a, 0, t)
    elif node.kind == TOKENS or node.kind == TOKENS_EXCEPT:
        nfa_edge(nfa, s, TOKEN_EDGE, node.a, 0, t)
    elif node.kind == GRAPH:
        emit_graph(nfa, ir, node, s, t)
    elif node.kind == BOUNDED:
        emit_bounded(nfa, ir, node, s, t)


cdef void emit_text(ByteNfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """Add bytes, or text in any spelling: every character is a class of one."""
    cdef uint32_t k, to
    cdef uint32_t pair[2]
    for k in range(node.n):
        to = t if k + 1 == node.n else nfa_state(nfa)
        pair[0] = pair[1] = ir.pool[node.off + k]
        if node.kind == BYTES:
            nfa_edge(nfa, s, BYTE_EDGE, pair[0], pair[0], to)
        else:
            emit_json_char(nfa, pair, 1, s, to)
        s = to


cdef void emit_repeat(ByteNfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """Unroll a repetition: the required copies, then optional ones. Without a maximum the last required copy
    is a loop: with one more copy, nested repetitions would double at each level.
    """
    cdef uint32_t _k, to, end, required = node.b
    if node.c == NO_MAXIMUM and required:
        required -= 1
    for _k in range(required):
        if nfa.overflow:
            return
        to = nfa_state(nfa)
        nfa_emit(nfa, ir, node.a, s, to)
        s = to
    if node.c == NO_MAXIMUM:
        to = end = nfa_state(nfa)
        nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, to)
        if node.b:
            end = nfa_state(nfa)
            nfa_edge(nfa, end, EPSILON_EDGE, 0, 0, to)
        nfa_emit(nfa, ir, node.a, to, end)
        nfa_edge(nfa, end, EPSILON_EDGE, 0, 0, t)
        return
    for _k in range(node.c - node.b):
        if nfa.overflow:
            return
        nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, t)
        to = nfa_state(nfa)
        nfa_emit(nfa, ir, node.a, s, to)
        s = to
    nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, t)


cdef void emit_graph(ByteNfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """Copy the states of a graph. I1 holds because s and t only get empty moves."""
    cdef uint32_t k, base = nfa.size
    cdef uint32_t* edge
    nfa.size += node.a
    nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, base)
    for k in range(node.n // 3):
        edge = &ir.pool[node.off + 3 * k]
        nfa_emit(nfa, ir, edge[1], base + edge[0], base + edge[2])
    for k in range(node.c):
        nfa_edge(nfa, base + ir.pool[node.b + k], EPSILON_EDGE, 0, 0, t)


cdef void nfa_emit_counted(ByteNfaC* nfa, LoweredGrammar ir, uint32_t number) noexcept nogil:
    """Add a graph of characters between states 0 and 1; its states lie between characters."""
    nfa.counted_low = nfa.size
    nfa.counted_high = nfa.size + ir.nodes[number].a
    emit_graph(nfa, ir, &ir.nodes[number], 0, 1)


cdef void emit_bounded(ByteNfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """Unroll a bounded graph: a copy of its states for each count, one for all beyond."""
    cdef NodeC* graph = &ir.nodes[node.a]
    cdef uint32_t base = nfa.size, most = node.b if node.c == NO_MAXIMUM else node.c, n, k
    cdef uint32_t* edge
    if (most + <unsigned long long>1) * graph.a > nfa.limit:
        nfa.overflow = True
        return
    nfa.size += (most + 1) * graph.a
    nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, base)
    for n in range(most + 1):
        for k in range(graph.n // 3 if n < most or node.c == NO_MAXIMUM else 0):
            edge = &ir.pool[graph.off + 3 * k]
            nfa_emit(nfa, ir, edge[1], base + n * graph.a + edge[0], base + min(n + 1, most) * graph.a + edge[2])
        for k in range(graph.c if n >= node.b else 0):
            nfa_edge(nfa, base + n * graph.a + ir.pool[graph.b + k], EPSILON_EDGE, 0, 0, t)


# -- spelling --------------------------------------------------------------------------------------

cdef uint32_t NO_BYTE = 0xFFFFFFFF

# characters with a short escape, ascending, and the byte after its backslash
cdef const char* ESCAPED = b'\b\t\n\f\r"/\\'
cdef const char* ESCAPES = b'btnfr"/\\'

cdef enum:
    HEXADECIMAL = 0         # instead of a mark


cdef void emit_utf8(ByteNfaC* nfa, uint32_t low, uint32_t high, uint32_t s, uint32_t t) noexcept nogil:
    """Add one code point of low..high in UTF-8, split where the encoded length changes."""
    cdef uint32_t bounds[4]
    cdef uint32_t k, end
    bounds[0], bounds[1], bounds[2], bounds[3] = 0x7F, 0x7FF, 0xFFFF, 0x10FFFF
    for k in range(4):
        if low > high:
            return
        if low <= bounds[k]:
            end = min(high, bounds[k])
            if k == 0:
                nfa_edge(nfa, s, BYTE_EDGE, low, end, t)
            else:
                digits(nfa, low, end, k, 0xC0 if k == 1 else 0xE0 if k == 2 else 0xF0, s, t)
            low = end + 1


cdef void digits(
    ByteNfaC* nfa, uint32_t low, uint32_t high, uint32_t more, uint32_t mark, uint32_t s, uint32_t t
) noexcept nogil:
    """Add numbers low..high, written in 1 + more digits: hexadecimal ones, or of six bits each, the
    first with ``mark`` and the others with 0x80.
    """
    cdef uint32_t shift = (4 if mark == HEXADECIMAL else 6) * more, after = 0x80 if mark else HEXADECIMAL
    cdef uint32_t first = low >> shift, last = high >> shift, rest = (1 << shift) - 1, middle
    if more == 0:
        digit(nfa, low, high, mark, s, t)
        return
    if first == last:
        middle = nfa_state(nfa)
        digit(nfa, first, first, mark, s, middle)
        digits(nfa, low & rest, high & rest, more - 1, after, middle, t)
        return
    if low & rest:
        digits(nfa, low, low | rest, more, mark, s, t)
        first += 1
    if (high & rest) != rest:
        digits(nfa, high & ~rest, high, more, mark, s, t)
        last -= 1
    if first <= last and last != NO_BYTE:
        middle = nfa_state(nfa)
        digit(nfa, first, last, mark, s, middle)
        digits(nfa, 0, rest, more - 1, after, middle, t)


cdef void digit(ByteNfaC* nfa, uint32_t low, uint32_t high, uint32_t mark, uint32_t s, uint32_t t) noexcept nogil:
    """Add one digit low..high; a hexadecimal one in either case."""
    if mark != HEXADECIMAL:
        nfa_edge(nfa, s, BYTE_EDGE, mark + low, mark + high, t)
        return
    if low < 10:
        nfa_edge(nfa, s, BYTE_EDGE, 0x30 + low, 0x30 + min(high, <uint32_t>9), t)
    if high > 9:
        low = max(low, <uint32_t>10) - 10
        nfa_edge(nfa, s, BYTE_EDGE, 0x41 + low, 0x41 + high - 10, t)
        nfa_edge(nfa, s, BYTE_EDGE, 0x61 + low, 0x61 + high - 10, t)


cdef uint32_t literal(ByteNfaC* nfa, uint32_t s, uint32_t byte) noexcept nogil:
    cdef uint32_t t = nfa_state(nfa)
    nfa_edge(nfa, s, BYTE_EDGE, byte, byte, t)
    return t


cdef uint32_t short_escape(uint32_t c) noexcept nogil:
    """Return the byte after the backslash, or NO_BYTE."""
    cdef uint32_t k
    for k in range(8):
        if c == <uint32_t>ESCAPED[k]:
            return ESCAPES[k]
    return NO_BYTE


cdef void raw_range(ByteNfaC* nfa, uint32_t low, uint32_t high, uint32_t s, uint32_t t) noexcept nogil:
    """Add the characters of low..high that need no escape."""
    cdef uint32_t gaps[3][2]
    cdef uint32_t k
    gaps[0][0], gaps[0][1] = 0x00, 0x1F
    gaps[1][0], gaps[1][1] = 0x22, 0x22
    gaps[2][0], gaps[2][1] = 0x5C, 0x5C
    for k in range(3):
        if low > high:
            return
        if low < gaps[k][0]:
            emit_utf8(nfa, low, min(high, gaps[k][0] - 1), s, t)
        if low <= gaps[k][1]:
            low = gaps[k][1] + 1
    if low <= high:
        emit_utf8(nfa, low, high, s, t)


cdef void astral(ByteNfaC* nfa, uint32_t low, uint32_t high, uint32_t u, uint32_t t) noexcept nogil:
    """Add surrogate pairs for low..high, both above U+FFFF.

    ``u`` is the state after the first ``\\u``.
    """
    cdef uint32_t first = (low - 0x10000) >> 10, last = (high - 0x10000) >> 10
    cdef uint32_t from_low = (low - 0x10000) & 0x3FF, to_high = (high - 0x10000) & 0x3FF
    if first == last:
        pair(nfa, first, first, from_low, to_high, u, t)
        return
    if from_low:
        pair(nfa, first, first, from_low, 0x3FF, u, t)
        first += 1
    if to_high != 0x3FF:
        pair(nfa, last, last, 0, to_high, u, t)
        last -= 1
    if first <= last and last != NO_BYTE:
        pair(nfa, first, last, 0, 0x3FF, u, t)


cdef void pair(
    ByteNfaC* nfa, uint32_t first, uint32_t last, uint32_t low, uint32_t high, uint32_t u, uint32_t t
) noexcept nogil:
    cdef uint32_t middle = nfa_state(nfa)
    digits(nfa, 0xD800 + first, 0xD800 + last, 3, HEXADECIMAL, u, middle)
    middle = literal(nfa, middle, 0x5C)
    middle = literal(nfa, middle, 0x75)
    digits(nfa, 0xDC00 + low, 0xDC00 + high, 3, HEXADECIMAL, middle, t)


cdef void emit_json_char(ByteNfaC* nfa, uint32_t* ranges, uint32_t n, uint32_t s, uint32_t t) noexcept nogil:
    """Add one character of n (low, high) ranges, in every spelling that a JSON string may have."""
    cdef uint32_t k, j, low, high
    cdef uint32_t escape = literal(nfa, s, 0x5C)
    cdef uint32_t u = literal(nfa, escape, 0x75)
    for k in range(n):
        low, high = ranges[2 * k], ranges[2 * k + 1]
        raw_range(nfa, low, high, s, t)
        for j in range(8):
            if low <= <uint32_t>ESCAPED[j] <= high:
                nfa_edge(nfa, escape, BYTE_EDGE, ESCAPES[j], ESCAPES[j], t)
        if low <= 0xFFFF:
            digits(nfa, low, min(high, <uint32_t>0xFFFF), 3, HEXADECIMAL, u, t)
        if high > 0xFFFF:
            astral(nfa, max(low, <uint32_t>0x10000), high, u, t)


# -- refinement ------------------------------------------------------------------------------------

cdef enum:
    NONE = 0xFFFFFFFF


cdef struct PartitionC:
    vector[uint32_t] sizes      # by block
    # by block, in this round: visited states; the number of its largest group
    vector[uint32_t] looked_at, largest
    # by group of this round: its block, its number of states, the block that it becomes
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
    """Give each group of a round a block. If all states of a block were visited, its largest group
    keeps the number. Otherwise the states that were not visited keep it: the others lead to new
    blocks and differ from them.
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
    """List a state's block and its edges to blocks; adjacent ranges to one block are merged."""
    cdef const LetterEdgeC* edge = graph.edges.data() + graph.off[s]
    cdef const LetterEdgeC* end = graph.edges.data() + graph.off[s + 1]
    cdef uint32_t* words
    cdef uint32_t block, last = NONE
    cdef size_t size = 1
    out.resize(1 + 3 * <size_t>(end - edge))
    words = out.data()
    words[0] = blocks[0][s]
    while edge < end:
        block = blocks[0][edge.target]
        if block == last and words[size - 1] + 1 == edge.low:
            words[size - 1] = edge.high
        else:
            words[size], words[size + 1], words[size + 2] = block, edge.low, edge.high
            size += 3
            last = block
        edge += 1
    out.resize(size)


cdef void list_sources(
    const LetterEdgesC* graph, uint32_t n, vector[uint32_t]* off, vector[uint32_t]* sources
) noexcept nogil:
    """Group states by their successors: sources[off[s]..off[s + 1] - 1] have an edge to s."""
    cdef uint32_t s, k
    off.assign(n + 2, 0)
    for k in range(<uint32_t>graph.edges.size()):
        off[0][graph.edges[k].target + 2] += 1
    for s in range(n):
        off[0][s + 2] += off[0][s + 1]
    sources.resize(graph.edges.size())
    for s in range(n):
        for k in range(graph.off[s], graph.off[s + 1]):
            # at last this offset is the end of state s, and so the begin of the next one
            sources[0][off[0][graph.edges[k].target + 1]] = s
            off[0][graph.edges[k].target + 1] += 1


cdef uint32_t renumber(vector[uint32_t]* blocks, uint32_t count) noexcept nogil:
    """Number blocks by their first members. Return their number."""
    cdef vector[uint32_t] names
    cdef uint32_t s, fresh = 0
    names.assign(count, NONE)
    for s in range(<uint32_t>blocks.size()):
        if names[blocks[0][s]] == NONE:
            names[blocks[0][s]] = fresh
            fresh += 1
        blocks[0][s] = names[blocks[0][s]]
    return fresh


# -- DFA -------------------------------------------------------------------------------------------

cdef uint32_t START = 0
cdef uint32_t FINISH = 1
cdef uint32_t DEAD = 0xFFFFFFFF

# Limit on the members of all subsets: MEMBERS for each edge of the nondeterministic automaton, plus
# MEMBERS_FREE. Tries and patterns stay below one member an edge; a member takes up to a
# microsecond. Two adjacent multiples would have millions, and a search for a text of 20,000 letters
# takes 18 GB.
cdef uint32_t MEMBERS = 2
cdef uint32_t MEMBERS_FREE = 1 << 18

# More symbols that leave a state are looked up in a table.
cdef uint32_t FEW = 16

# Comparisons of an edge with a part of the bytes that take as long as a member of a subset.
cdef uint32_t PAIRS_PER_MEMBER = 16

# Refinement is quadratic at worst; larger automata are not minimised.
cdef uint32_t MINIMISED_STATES = 4096


cdef struct SubsetConstructionC:
    # scratch of the construction, reused for each state
    ClosureC* scratch         # NULL: subsets are not closed under empty moves
    # sets of targets before empty moves recur often; most have one member
    WordTableC targets
    vector[uint32_t] closed   # by number in ``targets``: the subset that they lead to
    vector[uint32_t] single   # by state: the subset that it leads to alone, DEAD if unknown
    vector[EdgeC] byte_edges, symbols
    vector[ByteEdgeC] made
    Set breakpoints, members


cdef void build_index(ByteNfaC* nfa, EdgeIndexC* index) noexcept nogil:
    cdef EdgeC edge
    cdef vector[uint32_t] sources
    sources.reserve(nfa.edges.size())
    for edge in nfa.edges:
        sources.push_back(edge.source)
    group_by_state(&sources, nfa.size, &index.off, &index.order)


cdef void close(ByteNfaC* nfa, EdgeIndexC* index, ClosureC* scratch, Set* members) noexcept nogil:
    """Follow empty moves; keep states with other edges and the final one, ascending."""
    cdef Set* kept = &scratch.kept
    cdef uint32_t k, s, e, at = 0
    cdef bint real
    scratch.now += 1
    kept.clear()
    for s in members[0]:
        scratch.stamp[s] = scratch.now
    while at < members.size():
        s = members[0][at]
        at += 1
        real = s == FINISH
        for k in range(index.off[s], index.off[s + 1]):
            e = index.order[k]
            if nfa.edges[e].kind != EPSILON_EDGE:
                real = True
            elif scratch.stamp[nfa.edges[e].target] != scratch.now:
                scratch.stamp[nfa.edges[e].target] = scratch.now
                members.push_back(nfa.edges[e].target)
        if real:
            kept.push_back(s)
    sort(kept.begin(), kept.end())
    members.swap(kept[0])


cdef uint32_t number_of(WordTableC* sets, Set* members) noexcept nogil:
    return table_number(sets, members.data(), members.size())


cdef void read_members(WordTableC* sets, uint32_t number, Set* out) noexcept nogil:
    out.assign(sets.words.data() + sets.off[number], sets.words.data() + sets.off[number + 1])


cdef void unique(Set* members) noexcept nogil:
    """Sort and remove duplicates."""
    cdef uint32_t k, n = 0
    if members.size() < 2:
        return
    sort(members.begin(), members.end())
    for k in range(<uint32_t>members.size()):
        if k == 0 or members[0][k] != members[0][n - 1]:
            members[0][n] = members[0][k]
            n += 1
    members.resize(n)


cdef bint determinise(ByteNfaC* nfa, vector[DfaStateC]* out, uint32_t limit, BuildWorkC* done) noexcept nogil:
    """Run the subset construction. False: more than ``limit`` states are needed, subsets are too large,
    or the work is cancelled; then ``out`` is empty.
    """
    cdef EdgeIndexC index
    cdef ClosureC scratch
    cdef SubsetConstructionC work
    cdef WordTableC sets
    cdef Set members
    cdef uint32_t at = 0
    cdef size_t most = MEMBERS * <size_t>nfa.edges.size() + MEMBERS_FREE
    work.scratch = &scratch
    work.single.assign(nfa.size, DEAD)
    build_index(nfa, &index)
    scratch.stamp.assign(nfa.size, 0)
    scratch.now = 0
    out.clear()
    members.push_back(START)
    close(nfa, &index, &scratch, &members)
    number_of(&sets, &members)
    while at < table_size(&sets):
        read_members(&sets, at, &members)
        if table_size(&sets) > limit or sets.words.size() > most or is_cancelled(done):
            out.clear()
            return False
        out.resize(out.size() + 1)
        out.back().flags = 0
        expand(nfa, &index, &work, &members, &sets, &out.back())
        done.done += members.size() + work.byte_edges.size() * work.breakpoints.size() // PAIRS_PER_MEMBER
        at += 1
    return True


cdef size_t lazy_dfa_bytes(const LazyDfaC* lazy) noexcept nogil:
    return (
        held_bytes(lazy.nfa.edges) + held_bytes(lazy.index.off) + held_bytes(lazy.index.order)
        + table_bytes(&lazy.sets) + held_bytes(lazy.states))


cdef void lazy_dfa_start(LazyDfaC* lazy, ClosureC* scratch) noexcept nogil:
    """Remove edges to dead ends, and add the subset of the start."""
    cdef Set members
    drop_dead_ends(&lazy.nfa)
    build_index(&lazy.nfa, &lazy.index)
    if scratch.stamp.size() < lazy.nfa.size:
        scratch.stamp.resize(lazy.nfa.size, 0)
    members.push_back(START)
    number_of(&lazy.sets, &members)


cdef void lazy_dfa_state(LazyDfaC* lazy, ClosureC* scratch, uint32_t number, DfaStateC* out) noexcept nogil:
    """Compute the edges of one state; their targets may be new subsets."""
    cdef SubsetConstructionC work
    cdef Set members
    work.scratch = NULL
    read_members(&lazy.sets, number, &members)
    out.flags = 0
    close(&lazy.nfa, &lazy.index, scratch, &members)
    expand(&lazy.nfa, &lazy.index, &work, &members, &lazy.sets, out)


cdef bint lazy_dfa_is_tail(LazyDfaC* lazy, ClosureC* scratch, uint32_t number) noexcept nogil:
    # stops at the first edge: the subset may have thousands of members, and be never visited
    cdef Set todo
    cdef EdgeC edge
    cdef uint32_t s, k
    cdef bint ends = False
    read_members(&lazy.sets, number, &todo)
    scratch.now += 1
    while todo.size():
        s = todo.back()
        todo.pop_back()
        if scratch.stamp[s] == scratch.now:
            continue
        scratch.stamp[s] = scratch.now
        ends = ends or s == FINISH
        for k in range(lazy.index.off[s], lazy.index.off[s + 1]):
            edge = lazy.nfa.edges[lazy.index.order[k]]
            if edge.kind != EPSILON_EDGE:
                return False
            todo.push_back(edge.target)
    return ends


cdef void drop_dead_ends(ByteNfaC* nfa) noexcept nogil:
    """Remove edges to states that cannot reach the end."""
    cdef vector[uint8_t] live
    cdef vector[uint32_t] sources, targets
    cdef EdgeC edge
    cdef uint32_t k, n = 0
    for edge in nfa.edges:
        sources.push_back(edge.source)
        targets.push_back(edge.target)
    live.assign(nfa.size, 0)
    live[FINISH] = 1
    reach(&targets, &sources, &live)
    for k in range(<uint32_t>nfa.edges.size()):
        if live[nfa.edges[k].target]:
            nfa.edges[n] = nfa.edges[k]
            n += 1
    nfa.edges.resize(n)


cdef void expand(
    ByteNfaC* nfa, EdgeIndexC* index, SubsetConstructionC* work, Set* members, WordTableC* sets, DfaStateC* dfa_state
) noexcept nogil:
    """Compute the edges of one deterministic state."""
    cdef EdgeC edge
    cdef uint32_t s, k
    work.byte_edges.clear()
    work.symbols.clear()
    for s in members[0]:
        if s == FINISH:
            dfa_state.flags |= FINAL_STATE | (LOOP_STATE if nfa.counted_high else 0)
        elif nfa.counted_low <= s < nfa.counted_high:
            dfa_state.flags |= LOOP_STATE
        for k in range(index.off[s], index.off[s + 1]):
            edge = nfa.edges[index.order[k]]
            if edge.kind == BYTE_EDGE:
                work.byte_edges.push_back(edge)
            elif edge.kind != EPSILON_EDGE:
                work.symbols.push_back(edge)
    expand_bytes(nfa, index, work, sets, dfa_state)
    expand_symbols(nfa, index, work, sets, dfa_state)


cdef uint32_t target_of(ByteNfaC* nfa, EdgeIndexC* index, SubsetConstructionC* work, WordTableC* sets) noexcept nogil:
    """Return the number of the subset that the targets in ``work.members`` lead to."""
    cdef uint32_t number
    unique(&work.members)
    if work.scratch == NULL:
        return number_of(sets, &work.members)
    if work.members.size() == 1:
        number = work.members[0]
        if work.single[number] == DEAD:
            close(nfa, index, work.scratch, &work.members)
            work.single[number] = number_of(sets, &work.members)
        return work.single[number]
    number = number_of(&work.targets, &work.members)
    if number == work.closed.size():
        close(nfa, index, work.scratch, &work.members)
        work.closed.push_back(number_of(sets, &work.members))
    return work.closed[number]


cdef void expand_bytes(
    ByteNfaC* nfa, EdgeIndexC* index, SubsetConstructionC* work, WordTableC* sets, DfaStateC* dfa_state
) noexcept nogil:
    """Split 0..255 where an edge begins or ends; each part leads to the union of its targets."""
    cdef uint32_t c, low, high
    cdef EdgeC edge
    cdef ByteEdgeC made
    work.breakpoints.clear()
    work.made.clear()
    for edge in work.byte_edges:
        work.breakpoints.push_back(edge.a)
        work.breakpoints.push_back(edge.b + 1)
    unique(&work.breakpoints)
    for c in range(1, <uint32_t>work.breakpoints.size()):
        low, high = work.breakpoints[c - 1], work.breakpoints[c] - 1
        work.members.clear()
        for edge in work.byte_edges:
            if edge.a <= low and high <= edge.b:
                work.members.push_back(edge.target)
        if work.members.size():
            made.low, made.high = <uint8_t>low, <uint8_t>high
            made.target = target_of(nfa, index, work, sets)
            if work.made.size() and work.made.back().target == made.target and work.made.back().high + 1 == low:
                work.made.back().high = made.high
            else:
                work.made.push_back(made)
    dfa_state.bytes.assign(work.made.begin(), work.made.end())


cdef void expand_symbols(
    ByteNfaC* nfa, EdgeIndexC* index, SubsetConstructionC* work, WordTableC* sets, DfaStateC* dfa_state
) noexcept nogil:
    """Group symbols in the order of their first appearance; each leads to the union of its targets.
    """
    cdef vector[EdgeC]* edges = &work.symbols
    cdef uint32_t k, n, first
    cdef uint64_t key
    cdef SymbolEdgeC made
    cdef U64MapC groups
    cdef vector[uint32_t] last, after
    if edges.size() == 0:
        return
    groups.used = 0
    # edges of one symbol form a chain: `after` from the first one on, `last` by first edge
    last.resize(edges.size())
    after.assign(edges.size(), DEAD)
    for k in range(<uint32_t>edges.size()):
        if edges.size() <= FEW:
            first = 0
            while edges[0][first].kind != edges[0][k].kind or edges[0][first].a != edges[0][k].a:
                first += 1
        else:
            key = <uint64_t>edges[0][k].kind << 32 | edges[0][k].a
            first = map_get(&groups, key)
            if first == MISSING:
                map_put(&groups, key, k)
                first = k
        if first == k:
            last[k] = k
        else:
            after[last[first]] = k
            last[first] = k
            last[k] = DEAD
    for k in range(<uint32_t>edges.size()):
        if last[k] == DEAD:
            continue
        work.members.clear()
        n = k
        while n != DEAD:
            work.members.push_back(edges[0][n].target)
            n = after[n]
        made.symbol = edges[0][k].a
        made.target = target_of(nfa, index, work, sets)
        if edges[0][k].kind == REF_EDGE:
            dfa_state.refs.push_back(made)
        else:
            dfa_state.tokens.push_back(made)


cdef void copy_nfa(ByteNfaC* nfa, vector[DfaStateC]* out) noexcept nogil:
    """Copy the nondeterministic automaton, including empty moves."""
    cdef uint32_t k
    cdef EdgeC edge
    cdef ByteEdgeC byte_edge
    cdef SymbolEdgeC symbol
    out.clear()
    out.resize(nfa.size)
    for k in range(nfa.size):
        out[0][k].flags = FINAL_STATE if k == FINISH else 0
    for k in range(<uint32_t>nfa.edges.size()):
        edge = nfa.edges[k]
        if edge.kind == BYTE_EDGE:
            byte_edge.low, byte_edge.high, byte_edge.target = <uint8_t>edge.a, <uint8_t>edge.b, edge.target
            out[0][edge.source].bytes.push_back(byte_edge)
        elif edge.kind == EPSILON_EDGE:
            out[0][edge.source].empty.push_back(edge.target)
        else:
            symbol.symbol, symbol.target = edge.a, edge.target
            if edge.kind == REF_EDGE:
                out[0][edge.source].refs.push_back(symbol)
            else:
                out[0][edge.source].tokens.push_back(symbol)


cdef void collect_targets(DfaStateC* dfa_state, vector[uint32_t]* out) noexcept nogil:
    cdef uint32_t k
    out.clear()
    for k in range(<uint32_t>dfa_state.bytes.size()):
        out.push_back(dfa_state.bytes[k].target)
    for k in range(<uint32_t>dfa_state.refs.size()):
        out.push_back(dfa_state.refs[k].target)
    for k in range(<uint32_t>dfa_state.tokens.size()):
        out.push_back(dfa_state.tokens[k].target)
    for k in range(<uint32_t>dfa_state.empty.size()):
        out.push_back(dfa_state.empty[k])


cdef bint merge_edges(vector[DfaStateC]* dfa, uint32_t limit, BuildWorkC* done) noexcept nogil:
    """Determinise an automaton over bytes; keep the states reachable from the start.

    False, without changes: a subset would mix counting and other states, more than ``limit`` states
    are needed, or subsets are too large.
    """
    cdef vector[DfaStateC] out
    cdef SubsetConstructionC work
    cdef WordTableC sets
    cdef Set members
    cdef EdgeC edge
    cdef ByteEdgeC byte_edge
    cdef uint32_t s, at = 0
    cdef uint8_t counting, flags
    cdef size_t most = MEMBERS * dfa.size() + MEMBERS_FREE
    work.scratch = NULL
    members.push_back(START)
    number_of(&sets, &members)
    while at < table_size(&sets):
        read_members(&sets, at, &members)
        if table_size(&sets) > limit or sets.words.size() > most or is_cancelled(done):
            return False
        done.done += members.size()
        at += 1
        out.resize(at)
        flags = 0
        counting = dfa[0][members[0]].flags & LOOP_STATE
        work.byte_edges.clear()
        for s in members:
            if dfa[0][s].flags & LOOP_STATE != counting:
                return False
            flags |= dfa[0][s].flags
            for byte_edge in dfa[0][s].bytes:
                edge.kind, edge.source, edge.target = BYTE_EDGE, s, byte_edge.target
                edge.a, edge.b = byte_edge.low, byte_edge.high
                work.byte_edges.push_back(edge)
        out.back().flags = flags
        expand_bytes(NULL, NULL, &work, &sets, &out.back())
    dfa.swap(out)
    return True


cdef void trim(vector[DfaStateC]* dfa) noexcept nogil:
    """Remove states that cannot reach a final one, and edges into them; keep the start."""
    cdef uint32_t n = <uint32_t>dfa.size(), s, kept
    cdef vector[uint32_t] of_one, targets, owners, names
    for s in range(n):
        collect_targets(&dfa[0][s], &of_one)
        targets.insert(targets.end(), of_one.begin(), of_one.end())
        owners.resize(targets.size(), s)
        names.push_back(0 if dfa[0][s].flags & FINAL_STATE else DEAD)
    kept = number_live(&targets, &owners, True, &names)
    if kept < n:
        rename(dfa, &names, kept)


cdef uint32_t number_live(
    vector[uint32_t]* targets, const vector[uint32_t]* owners, bint keeps_start, vector[uint32_t]* names
) noexcept nogil:
    cdef vector[uint8_t] live
    cdef uint32_t s, count = 0
    for s in range(<uint32_t>names.size()):
        live.push_back(names[0][s] != DEAD)
    reach(targets, owners, &live)
    if keeps_start:
        live[START] = 1
    for s in range(<uint32_t>names.size()):
        names[0][s] = count if live[s] else DEAD
        count += live[s]
    return count


cdef void rename(vector[DfaStateC]* dfa, vector[uint32_t]* names, uint32_t size) noexcept nogil:
    """Rename state s to names[s]; remove states and edges named DEAD.

    Of several states with one name the first one stays.
    """
    cdef vector[DfaStateC] out
    cdef vector[uint8_t] filled
    cdef uint32_t s
    out.resize(size)
    filled.assign(size, 0)
    for s in range(<uint32_t>dfa.size()):
        if names[0][s] == DEAD or filled[names[0][s]]:
            continue
        filled[names[0][s]] = 1
        rename_edges(&dfa[0][s], names, &out[names[0][s]])
    dfa.swap(out)


cdef void rename_edges(DfaStateC* dfa_state, vector[uint32_t]* names, DfaStateC* out) noexcept nogil:
    cdef uint32_t k
    cdef ByteEdgeC edge
    cdef SymbolEdgeC symbol
    out.flags = dfa_state.flags
    for k in range(<uint32_t>dfa_state.bytes.size()):
        edge = dfa_state.bytes[k]
        edge.target = names[0][edge.target]
        if edge.target == DEAD:
            continue
        if out.bytes.size() and out.bytes.back().target == edge.target and out.bytes.back().high + 1 == edge.low:
            out.bytes.back().high = edge.high
        else:
            out.bytes.push_back(edge)
    for k in range(<uint32_t>dfa_state.refs.size()):
        symbol = dfa_state.refs[k]
        symbol.target = names[0][symbol.target]
        if symbol.target != DEAD:
            out.refs.push_back(symbol)
    for k in range(<uint32_t>dfa_state.tokens.size()):
        symbol = dfa_state.tokens[k]
        symbol.target = names[0][symbol.target]
        if symbol.target != DEAD:
            out.tokens.push_back(symbol)
    for k in range(<uint32_t>dfa_state.empty.size()):
        if names[0][dfa_state.empty[k]] != DEAD:
            out.empty.push_back(names[0][dfa_state.empty[k]])


cdef void minimise(vector[DfaStateC]* dfa, BuildWorkC* work) noexcept nogil:
    """Merge states that accept the same texts; number them by their first members."""
    cdef uint32_t n = <uint32_t>dfa.size(), fresh
    cdef uint64_t looks = 0
    cdef LetterEdgesC graph
    cdef vector[uint32_t] blocks
    if n > MINIMISED_STATES:
        return
    list_letters(dfa, &graph)
    fresh = refine(&graph, &blocks, block_by_flags(dfa, &blocks), UINT64_MAX, &looks)
    work.done += looks
    if fresh < n:
        rename(dfa, &blocks, fresh)


cdef void list_letters(vector[DfaStateC]* dfa, LetterEdgesC* out) noexcept nogil:
    """List the edges of all states over letters: bytes, then alternately rules and token sets."""
    cdef LetterEdgeC letter_edge
    cdef ByteEdgeC edge
    cdef SymbolEdgeC symbol
    cdef uint32_t s
    for s in range(<uint32_t>dfa.size()):
        out.off.push_back(<uint32_t>out.edges.size())
        for edge in dfa[0][s].bytes:
            letter_edge.low, letter_edge.high, letter_edge.target = edge.low, edge.high, edge.target
            out.edges.push_back(letter_edge)
        for symbol in dfa[0][s].refs:
            letter_edge.low = letter_edge.high = 256 + 2 * symbol.symbol
            letter_edge.target = symbol.target
            out.edges.push_back(letter_edge)
        for symbol in dfa[0][s].tokens:
            letter_edge.low = letter_edge.high = 257 + 2 * symbol.symbol
            letter_edge.target = symbol.target
            out.edges.push_back(letter_edge)
    out.off.push_back(<uint32_t>out.edges.size())


cdef uint32_t block_by_flags(vector[DfaStateC]* dfa, vector[uint32_t]* blocks) noexcept nogil:
    """Assign states to blocks by their flags. Return the number of blocks."""
    cdef uint32_t s, count = 0
    cdef uint32_t[256] by_flags
    for s in range(256):
        by_flags[s] = DEAD
    for s in range(<uint32_t>dfa.size()):
        if by_flags[dfa[0][s].flags] == DEAD:
            by_flags[dfa[0][s].flags] = count
            count += 1
        blocks.push_back(by_flags[dfa[0][s].flags])
    return count
