"""Subset construction, trimming, minimisation: see the header file."""

from libc.stdint cimport UINT64_MAX, uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort

from ..native.hashing cimport MISSING, U64MapC, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..native.word_table cimport WordTableC, table_bytes, table_number, table_size
from .dfa_state cimport FINAL_STATE, LOOP_STATE, ByteEdgeC, DfaStateC, SymbolEdgeC
from .minimize cimport LetterEdgeC, LetterEdgesC, refine
from .nfa cimport BYTE_EDGE, EPSILON_EDGE, REF_EDGE, EdgeC, NfaC

cdef uint32_t START = 0
cdef uint32_t FINISH = 1
cdef uint32_t DEAD = 0xFFFFFFFF

# Members of all subsets together: so many for each edge of the nondeterministic automaton, and more where
# those are few. Tries and patterns stay below 1; a member takes up to a microsecond. Two multiples side by
# side would have millions, and a search for a text of 20,000 letters 18 GB.
cdef uint32_t MEMBERS = 2
cdef uint32_t MEMBERS_FREE = 1 << 18

# Symbols that leave a state and are compared one by one; beyond, they are looked up.
cdef uint32_t FEW = 16

# Refinement is quadratic at worst; larger automata are left as they are.
cdef uint32_t MINIMISED_STATES = 4096


cdef struct WorkC:
    # what is found out about one state after the other; its vectors are kept for the next
    ClosureC* scratch         # NULL: targets are left as they are, not closed
    # sets of targets before empty moves come again and again, and most are one state
    WordTableC targets
    vector[uint32_t] closed   # by their number: the set that they lead to
    vector[uint32_t] single   # by state: the set that it leads to alone, DEAD: not known yet
    vector[EdgeC] byte_edges, symbols
    vector[ByteEdgeC] made
    Set cuts, members


cdef void build_index(NfaC* nfa, IndexC* index) noexcept nogil:
    cdef uint32_t k
    index.off.assign(nfa.size + 2, 0)
    for k in range(<uint32_t>nfa.edges.size()):
        index.off[nfa.edges[k].source + 1] += 1
    for k in range(nfa.size):
        index.off[k + 1] += index.off[k]
    index.order.resize(nfa.edges.size())
    cdef vector[uint32_t] at = index.off
    for k in range(<uint32_t>nfa.edges.size()):
        index.order[at[nfa.edges[k].source]] = k
        at[nfa.edges[k].source] += 1


cdef void close(NfaC* nfa, IndexC* index, ClosureC* scratch, Set* members) noexcept nogil:
    """Adds what empty moves reach; keeps states with real edges and the final one, ascending."""
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
    """Sorts and drops repeated members."""
    cdef uint32_t k, n = 0
    if members.size() < 2:
        return
    sort(members.begin(), members.end())
    for k in range(<uint32_t>members.size()):
        if k == 0 or members[0][k] != members[0][n - 1]:
            members[0][n] = members[0][k]
            n += 1
    members.resize(n)


cdef bint determinise(NfaC* nfa, vector[DfaStateC]* out, uint32_t limit) noexcept nogil:
    """False if more than ``limit`` states would be needed, or subsets too large; ``out`` is then empty."""
    cdef IndexC index
    cdef ClosureC scratch
    cdef WorkC work
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
        if table_size(&sets) > limit or sets.words.size() > most:
            out.clear()
            return False
        out.resize(out.size() + 1)
        out.back().held = 0
        out.back().flags = 0
        out.back().is_plain_text = 0
        expand(nfa, &index, &work, &members, &sets, &out.back())
        at += 1
    return True


cdef size_t lazy_bytes(const LazyC* lazy) noexcept nogil:
    return (
        held_bytes(lazy.nfa.edges) + held_bytes(lazy.index.off) + held_bytes(lazy.index.order)
        + table_bytes(&lazy.sets) + held_bytes(lazy.states))


cdef void lazy_start(LazyC* lazy, ClosureC* scratch) noexcept nogil:
    """Makes the start's subset; what can't reach the end is dropped from the input first."""
    cdef Set members
    drop_dead_ends(&lazy.nfa)
    build_index(&lazy.nfa, &lazy.index)
    if scratch.stamp.size() < lazy.nfa.size:
        scratch.stamp.resize(lazy.nfa.size, 0)
    members.push_back(START)
    number_of(&lazy.sets, &members)


cdef void lazy_state(LazyC* lazy, ClosureC* scratch, uint32_t number, DfaStateC* out) noexcept nogil:
    """The edges of one state; their targets may be new subsets."""
    cdef WorkC work
    cdef Set members
    work.scratch = NULL
    read_members(&lazy.sets, number, &members)
    out.flags = 0
    out.held = 0
    out.is_plain_text = 0
    close(&lazy.nfa, &lazy.index, scratch, &members)
    expand(&lazy.nfa, &lazy.index, &work, &members, &lazy.sets, out)


cdef void drop_dead_ends(NfaC* nfa) noexcept nogil:
    """Removes edges to states from which the end can't be reached."""
    cdef vector[uint8_t] live
    cdef vector[uint32_t] off, order, todo
    cdef uint32_t k, s, n = 0
    off.assign(nfa.size + 2, 0)
    for k in range(<uint32_t>nfa.edges.size()):
        off[nfa.edges[k].target + 1] += 1
    for k in range(nfa.size):
        off[k + 1] += off[k]
    order.resize(nfa.edges.size())
    todo = off
    for k in range(<uint32_t>nfa.edges.size()):
        order[todo[nfa.edges[k].target]] = nfa.edges[k].source
        todo[nfa.edges[k].target] += 1
    todo.clear()
    live.assign(nfa.size, 0)
    live[FINISH] = 1
    todo.push_back(FINISH)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        for k in range(off[s], off[s + 1]):
            if not live[order[k]]:
                live[order[k]] = 1
                todo.push_back(order[k])
    for k in range(<uint32_t>nfa.edges.size()):
        if live[nfa.edges[k].target]:
            nfa.edges[n] = nfa.edges[k]
            n += 1
    nfa.edges.resize(n)


cdef void expand(
    NfaC* nfa, IndexC* index, WorkC* work, Set* members, WordTableC* sets, DfaStateC* dfa_state
) noexcept nogil:
    """The edges of one deterministic state."""
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


cdef uint32_t target_of(NfaC* nfa, IndexC* index, WorkC* work, WordTableC* sets) noexcept nogil:
    """The number of the set that the targets in ``work.members`` lead to."""
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
    NfaC* nfa, IndexC* index, WorkC* work, WordTableC* sets, DfaStateC* dfa_state
) noexcept nogil:
    """Cuts 0..255 where an edge starts or ends; every piece leads to the union of its targets."""
    cdef uint32_t c, low, high
    cdef EdgeC edge
    cdef ByteEdgeC made
    work.cuts.clear()
    work.made.clear()
    for edge in work.byte_edges:
        work.cuts.push_back(edge.a)
        work.cuts.push_back(edge.b + 1)
    unique(&work.cuts)
    for c in range(1, <uint32_t>work.cuts.size()):
        low, high = work.cuts[c - 1], work.cuts[c] - 1
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
    NfaC* nfa, IndexC* index, WorkC* work, WordTableC* sets, DfaStateC* dfa_state
) noexcept nogil:
    """Symbols in the order in which they appear first; each leads to the union of its targets."""
    cdef vector[EdgeC]* edges = &work.symbols
    cdef uint32_t k, n, first
    cdef uint64_t key
    cdef SymbolEdgeC made
    cdef U64MapC groups
    cdef vector[uint32_t] last, after
    if edges.size() == 0:
        return
    groups.used = 0
    # the edges of one symbol are a chain: `after`, from the first one on; `last` by first edge
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


cdef void copy_nfa(NfaC* nfa, vector[DfaStateC]* out) noexcept nogil:
    """The nondeterministic automaton as it is, empty moves included."""
    cdef uint32_t k
    cdef EdgeC edge
    cdef ByteEdgeC byte_edge
    cdef SymbolEdgeC symbol
    out.clear()
    out.resize(nfa.size)
    for k in range(nfa.size):
        out[0][k].held = 0
        out[0][k].is_plain_text = 0
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


cdef bint merge_ways(vector[DfaStateC]* dfa, uint32_t limit) noexcept nogil:
    """Makes dfa with edges over bytes deterministic; only what the start leads to is left.

    False, with the dfa as they were, where states that count and others would be one, if more than
    ``limit`` states would be needed, or subsets too large.
    """
    cdef vector[DfaStateC] out
    cdef WorkC work
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
        if table_size(&sets) > limit or sets.words.size() > most:
            return False
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
        out.back().flags, out.back().held, out.back().is_plain_text = flags, 0, 0
        expand_bytes(NULL, NULL, &work, &sets, &out.back())
    dfa.swap(out)
    return True


cdef void trim(vector[DfaStateC]* dfa) noexcept nogil:
    """Drops states that can't reach a final one, and edges into them; the start stays."""
    cdef uint32_t n = <uint32_t>dfa.size(), k, s
    cdef vector[uint32_t] off, sources, todo, names
    list_sources(dfa, &off, &sources)
    names.assign(n, DEAD)
    for s in range(n):
        if dfa[0][s].flags & FINAL_STATE:
            names[s] = 0
            todo.push_back(s)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        for k in range(off[s], off[s + 1]):
            if names[sources[k]] == DEAD:
                names[sources[k]] = 0
                todo.push_back(sources[k])
    names[START] = 0
    k = 0
    for s in range(n):
        if names[s] != DEAD:
            names[s] = k
            k += 1
    if k < n:
        rename(dfa, &names, k)


cdef void rename(vector[DfaStateC]* dfa, vector[uint32_t]* names, uint32_t size) noexcept nogil:
    """State s becomes names[s]; states and edges named DEAD go.

    The first of several equal names stays.
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
    out.held, out.flags, out.is_plain_text = dfa_state.held, dfa_state.flags, dfa_state.is_plain_text
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


cdef void minimise(vector[DfaStateC]* dfa) noexcept nogil:
    """Makes one state of those that accept the same; they are numbered by the first ones."""
    cdef uint32_t n = <uint32_t>dfa.size(), fresh
    cdef uint64_t looks = 0
    cdef LetterEdgesC graph
    cdef vector[uint32_t] blocks
    if n > MINIMISED_STATES:
        return
    list_letters(dfa, &graph)
    fresh = refine(&graph, &blocks, block_by_flags(dfa, &blocks), UINT64_MAX, &looks)
    if fresh < n:
        rename(dfa, &blocks, fresh)


cdef void list_letters(vector[DfaStateC]* dfa, LetterEdgesC* out) noexcept nogil:
    """The edges of all states: bytes are letters, and behind them rules and token sets in turn."""
    cdef LetterEdgeC made
    cdef ByteEdgeC edge
    cdef SymbolEdgeC symbol
    cdef uint32_t s
    for s in range(<uint32_t>dfa.size()):
        out.off.push_back(<uint32_t>out.edges.size())
        for edge in dfa[0][s].bytes:
            made.low, made.high, made.target = edge.low, edge.high, edge.target
            out.edges.push_back(made)
        for symbol in dfa[0][s].refs:
            made.low = made.high = 256 + 2 * symbol.symbol
            made.target = symbol.target
            out.edges.push_back(made)
        for symbol in dfa[0][s].tokens:
            made.low = made.high = 257 + 2 * symbol.symbol
            made.target = symbol.target
            out.edges.push_back(made)
    out.off.push_back(<uint32_t>out.edges.size())


cdef uint32_t block_by_flags(vector[DfaStateC]* dfa, vector[uint32_t]* blocks) noexcept nogil:
    """The number of blocks."""
    cdef uint32_t s, count = 0, by_flags[256]
    for s in range(256):
        by_flags[s] = DEAD
    for s in range(<uint32_t>dfa.size()):
        if by_flags[dfa[0][s].flags] == DEAD:
            by_flags[dfa[0][s].flags] = count
            count += 1
        blocks.push_back(by_flags[dfa[0][s].flags])
    return count


cdef void list_sources(vector[DfaStateC]* dfa, vector[uint32_t]* off, vector[uint32_t]* sources) noexcept nogil:
    """By state s: sources[off[s] .. off[s + 1] - 1] have an edge to it."""
    cdef uint32_t n = <uint32_t>dfa.size(), s, k
    cdef vector[uint32_t] targets, at
    off.assign(n + 1, 0)
    for s in range(n):
        collect_targets(&dfa[0][s], &targets)
        for k in targets:
            off[0][k + 1] += 1
    for s in range(n):
        off[0][s + 1] += off[0][s]
    at = off[0]
    sources.resize(off[0][n])
    for s in range(n):
        collect_targets(&dfa[0][s], &targets)
        for k in targets:
            sources[0][at[k]] = s
            at[k] += 1
