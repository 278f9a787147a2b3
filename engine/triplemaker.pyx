"""TripleMaker: see the header file."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport binary_search
from libcpp.memory cimport make_shared

from .automata cimport Automata, StateC
from .draft cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE
from .hashing cimport MISSING, map_get, map_put
from .pool cimport vector
from .triples cimport TripleC, TriplePtr, group_exits
from .vocabulary cimport TrieNode, Vocabulary


# A walk by difference is given up past this many nodes: then the two states have little in common.
cdef uint32_t DIFFERING_NODES = 1 << 14
# Bits that tell most nodes that differ nowhere from those that do.
cdef uint32_t DIFFERING_WORDS = 64

cdef class TripleMaker:
    """Makes the triples of one generation's tabled rules."""

    def __cinit__(self, Automata automata, Vocabulary vocabulary):
        cdef uint32_t depths = vocabulary.max_token_bytes + 2
        self.automata = automata
        self.vocabulary = vocabulary
        self.nodes_at.assign(depths, 0)
        self.tables_at.assign(depths, 0)
        self.counts.assign(depths, 0)
        self.noted.assign(depths, 0)
        self.is_exit.assign(depths, 0)
        self.hub_tables_at.assign(depths, 0)
        self.differing_bits.assign(DIFFERING_WORDS, 0)
        self.tables.assign(256, 0)

    cdef TriplePtr make(self, uint32_t state, uint32_t node, bint filtered) noexcept nogil:
        """The triple of a state below a node; by need (see triples) if ``filtered``."""
        cdef TriplePtr made = make_shared[TripleC]()
        self.begin(made.get(), filtered)
        self.walk(state, node, made.get())
        self.pack(made.get(), filtered)
        sort_exits(made.get(), self.vocabulary)
        if not filtered:
            made.get().exit_counts.clear()
        return made

    cdef void begin(self, TripleC* out, bint by_need) noexcept nogil:
        self.needs.clear()
        self.by_need = by_need
        out.words.assign(self.vocabulary.words, 0)

    cdef void take(self, uint32_t node, uint32_t need, TripleC* out) noexcept nogil:
        """The tokens that end at a node, with their need if that matters."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t k, token
        for k in range(nodes[node].first, nodes[node + 1].first):
            token = self.vocabulary.order[k]
            out.words[token >> 5] |= (<uint32_t>1) << (token & 31)
            if self.by_need:
                out.ids.push_back(token)
                self.needs.push_back(need)

    cdef void leave(self, uint32_t node, uint32_t top_depth, TripleC* out) noexcept nogil:
        """The automaton can't follow at ``node``: every place above it where the rule may end is an exit."""
        cdef uint32_t d, child, depth = self.vocabulary.nodes[node].depth
        self.nodes_at[depth] = node
        for d in range(top_depth + 1, depth):
            child = self.nodes_at[d + 1]
            if self.is_exit[d] and self.noted[d] != child:
                self.noted[d] = child
                out.exits.push_back(self.nodes_at[d])
                out.exits.push_back(child)
                out.exit_counts.push_back(self.counts[d])

    cdef void walk(self, uint32_t state, uint32_t top, TripleC* out) noexcept nogil:
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t node = top + 1, end = nodes[top].end, depth, target
        cdef uint32_t top_depth = nodes[top].depth
        cdef uint8_t flags
        self.tables_at[top_depth] = self.table(state)
        self.counts[top_depth] = 0
        while node < end:
            depth = nodes[node].depth
            target = self.tables[256 * self.tables_at[depth - 1] + nodes[node].byte]
            if target == 0:
                self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            flags = self.automata.states[target].flags
            if self.automata.states[target].n_refs:
                flags |= TRIGGER_STATE
            self.counts[depth] = self.counts[depth - 1] + ((flags & LOOP_STATE) != 0)
            self.take(node, self.counts[depth] + ((flags & LOOP_STATE) == 0), out)
            if flags & TRIGGER_STATE:
                if nodes[node].end > node + 1:
                    out.triggers.push_back(node)
                    self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            if nodes[node].end > node + 1:
                self.nodes_at[depth] = node
                self.noted[depth] = 0
                self.is_exit[depth] = (flags & (FINAL_STATE | LOOP_STATE)) != 0
                self.tables_at[depth] = self.table(target)
            node += 1

    # -- by difference -----------------------------------------------------------------------------
    cdef uint32_t hub(self, uint32_t rule) noexcept nogil:
        """The state of a tabled rule to which most bytes of its states lead, 0 if none stands out."""
        cdef uint32_t found = map_get(&self.hubs, rule + 1), first = self.automata.first[rule], s, e, best = 0
        cdef vector[uint32_t] taken
        cdef StateC* state
        if found != MISSING:
            return found
        found = 0
        s = first
        while s < self.automata.states.size() and self.automata.states[s].rule == rule:
            state = &self.automata.states[s]
            for e in range(state.byte_off, state.byte_off + state.n_bytes):
                if self.automata.byte_edges[e].target >= first:
                    if taken.size() <= self.automata.byte_edges[e].target - first:
                        taken.resize(self.automata.byte_edges[e].target - first + 1, 0)
                    taken[self.automata.byte_edges[e].target - first] += (
                        self.automata.byte_edges[e].high - self.automata.byte_edges[e].low + 1)
            s += 1
        for s in range(<uint32_t>taken.size()):
            if taken[s] > best and self.width(first + s) >= HUB_BYTES:
                best, found = taken[s], first + s
        map_put(&self.hubs, rule + 1, found)
        return found

    cdef uint32_t width(self, uint32_t state) noexcept nogil:
        """How many bytes the state takes."""
        cdef StateC* s = &self.automata.states[state]
        cdef uint32_t e, total = 0
        for e in range(s.byte_off, s.byte_off + s.n_bytes):
            total += self.automata.byte_edges[e].high - self.automata.byte_edges[e].low + 1
        return total

    cdef TriplePtr make_like(
        self, uint32_t state, uint32_t hub, uint32_t node, TripleC* base
    ) noexcept nogil:
        """As ``make``, from the hub's triple below the same node; empty if they have little in common."""
        cdef TriplePtr made = make_shared[TripleC]()
        self.begin(made.get(), False)
        if not self.walk_both(state, hub, node, made.get()):
            made.reset()
            return made
        self.keep_base(base, made.get())
        self.pack(made.get(), False)
        sort_exits(made.get(), self.vocabulary)
        made.get().exit_counts.clear()
        return made

    cdef bint walk_both(
        self, uint32_t state, uint32_t hub, uint32_t top, TripleC* out
    ) noexcept nogil:
        """What the state says where it differs from the hub; False past DIFFERING_NODES.

        An exit of a node that differs gets all of the node's children: what lies below them may
        not have been walked.
        """
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t node = top + 1, end = nodes[top].end, depth, target, other, child, work = 0
        cdef uint8_t flags
        self.differing.clear()
        self.gone.clear()
        for child in range(DIFFERING_WORDS):
            self.differing_bits[child] = 0
        self.tables_at[nodes[top].depth] = self.table(state)
        self.hub_tables_at[nodes[top].depth] = self.table(hub)
        while node < end:
            depth = nodes[node].depth
            target = self.tables[256 * self.tables_at[depth - 1] + nodes[node].byte]
            other = self.tables[256 * self.hub_tables_at[depth - 1] + nodes[node].byte]
            if target == other:
                node = nodes[node].end
                continue
            work += 1
            if work > DIFFERING_NODES:
                return False
            if target == 0:
                self.gone.push_back(node)
                node = nodes[node].end
                continue
            self.differing.push_back(node)
            self.differing_bits[node >> 6 & (DIFFERING_WORDS - 1)] |= <uint64_t>1 << (node & 63)
            self.take(node, 0, out)
            flags = self.automata.states[target].flags
            if flags & TRIGGER_STATE or self.automata.states[target].n_refs:
                if nodes[node].end > node + 1:
                    out.triggers.push_back(node)
                self.gone.push_back(node)
                node = nodes[node].end
                continue
            if flags & (FINAL_STATE | LOOP_STATE):
                child = node + 1
                while child < nodes[node].end:
                    out.exits.push_back(node)
                    out.exits.push_back(child)
                    out.exit_counts.push_back(0)
                    child = nodes[child].end
            # table 0 is that of no state: nothing leads on from there
            self.tables_at[depth] = self.table(target)
            self.hub_tables_at[depth] = self.table(other) if other and not (
                self.automata.states[other].flags & TRIGGER_STATE
                or self.automata.states[other].n_refs) else 0
            node += 1
        return True

    cdef void keep_base(self, TripleC* base, TripleC* out) noexcept nogil:
        """Adds what the hub's triple says of all nodes that do not differ."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef vector[uint32_t] own
        cdef uint32_t k, j, node
        own.swap(out.words)
        if base.words.size():
            out.words = base.words
        else:
            out.words.assign(self.vocabulary.words, 0)
        for k in base.ids:
            out.words[k >> 5] |= (<uint32_t>1) << (k & 31)
        for node in self.differing:
            for k in range(nodes[node].first, nodes[node + 1].first):
                j = self.vocabulary.order[k]
                out.words[j >> 5] &= ~((<uint32_t>1) << (j & 31))
        for node in self.gone:
            for k in range(nodes[node].first, nodes[nodes[node].end].first):
                j = self.vocabulary.order[k]
                out.words[j >> 5] &= ~((<uint32_t>1) << (j & 31))
        for k in range(self.vocabulary.words):
            out.words[k] |= own[k]
        for k in range(<uint32_t>base.exits.size() // 2):
            node = base.exits[2 * k]
            if self.is_differing(node) or self.is_gone(node):
                continue
            out.exits.push_back(node)
            out.exits.push_back(base.exits[2 * k + 1])
            out.exit_counts.push_back(0)
        for node in base.triggers:
            if not self.is_differing(node) and not self.is_gone(node):
                out.triggers.push_back(node)

    cdef bint is_differing(self, uint32_t node) noexcept nogil:
        if not (self.differing_bits[node >> 6 & (DIFFERING_WORDS - 1)] >> (node & 63)) & 1:
            return False
        return binary_search(self.differing.begin(), self.differing.end(), node)

    cdef bint is_gone(self, uint32_t node) noexcept nogil:
        """Whether a node lies in a subtree that only the hub's walk enters."""
        cdef uint32_t low = 0, high = <uint32_t>self.gone.size(), middle
        while low < high:
            middle = (low + high) // 2
            if self.gone[middle] <= node:
                low = middle + 1
            else:
                high = middle
        return low > 0 and node < self.vocabulary.nodes[self.gone[low - 1]].end

    # -- common ------------------------------------------------------------------------------------
    cdef uint32_t table(self, uint32_t state) noexcept nogil:
        """The number of a state's dense table."""
        cdef uint32_t found = map_get(&self.table_ids, state), k, b
        cdef StateC* s
        if found != MISSING:
            return found
        found = <uint32_t>self.tables.size() // 256
        map_put(&self.table_ids, state, found)
        self.tables.resize(self.tables.size() + 256, 0)
        s = &self.automata.states[state]
        for k in range(s.byte_off, s.byte_off + s.n_bytes):
            for b in range(self.automata.byte_edges[k].low, self.automata.byte_edges[k].high + 1):
                self.tables[256 * found + b] = self.automata.byte_edges[k].target
        return found

    cdef void pack(self, TripleC* out, bint by_need) noexcept nogil:
        """Keeps the accepted ids as a bitset or as a list, whichever is smaller.

        Those in the order of need are a list always, and a bitset beside it where that is smaller.
        """
        cdef uint32_t k, n, most = 0
        cdef vector[uint32_t] sorted_ids, ends
        if by_need:
            for n in self.needs:
                most = max(most, n)
            ends.assign(most + 2, 0)
            for n in self.needs:
                ends[n + 1] += 1
            for k in range(1, <uint32_t>ends.size()):
                ends[k] += ends[k - 1]
            out.need_ends.assign(ends.begin() + 1, ends.end())
            sorted_ids.resize(out.ids.size())
            for k in range(<uint32_t>out.ids.size()):
                sorted_ids[ends[self.needs[k]]] = out.ids[k]
                ends[self.needs[k]] += 1
            out.ids.swap(sorted_ids)
            if out.ids.size() < self.vocabulary.words:
                out.words.clear()
                out.words.shrink_to_fit()
        else:
            pack_bits(out, self.vocabulary)


cdef void sort_exits(TripleC* out, Vocabulary vocabulary) noexcept nogil:
    """A stable counting sort by the byte of k, and the groups."""
    cdef uint32_t n = <uint32_t>out.exit_counts.size(), k, at
    cdef uint32_t starts[257]
    cdef vector[uint32_t] exits, counts
    for k in range(257):
        starts[k] = 0
    for k in range(n):
        starts[vocabulary.nodes[out.exits[2 * k + 1]].byte + 1] += 1
    for k in range(256):
        starts[k + 1] += starts[k]
    exits.resize(2 * n)
    counts.resize(n)
    for k in range(n):
        at = starts[vocabulary.nodes[out.exits[2 * k + 1]].byte]
        starts[vocabulary.nodes[out.exits[2 * k + 1]].byte] += 1
        exits[2 * at], exits[2 * at + 1] = out.exits[2 * k], out.exits[2 * k + 1]
        counts[at] = out.exit_counts[k]
    out.exits.swap(exits)
    out.exit_counts.swap(counts)
    group_exits(out, vocabulary)


cdef void pack_bits(TripleC* out, Vocabulary vocabulary) noexcept nogil:
    """Turns the bitset into a list of ids where that is smaller."""
    cdef uint32_t k, word, bits = 0
    for word in out.words:
        bits += __builtin_popcount(word)
    if bits >= vocabulary.words:
        return
    for k in range(<uint32_t>out.words.size()):
        word = out.words[k]
        while word:
            out.ids.push_back(32 * k + <uint32_t>__builtin_ctz(word))
            word &= word - 1
    out.words.clear()
    out.words.shrink_to_fit()


cdef extern from *:
    int __builtin_ctz(unsigned int) noexcept nogil
    int __builtin_popcount(unsigned int) noexcept nogil
