"""MaskBuilder: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport binary_search
from libcpp.memory cimport make_shared

from ..automata.dfa_state cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE
from ..automata.rule_automata cimport StateC
from ..native.hashing cimport MISSING, map_bytes, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..vocabulary.byte_classes cimport MULTIBYTE
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary
from .safe_classes cimport ANY_PHASE, SafeC, safe_loop, safe_states
from .token_mask cimport TokenMaskC, TokenMaskPtr, group_exits


# A walk by difference is given up past this many nodes: then the two states have little in common.
cdef uint32_t DIFFERING_NODES = 1 << 14
# In `safe_offs`: the rule has too many states.
cdef uint32_t TOO_LARGE = 0xFFFFFFFE
# Letters, and characters of several bytes.
cdef uint64_t MOSTLY = MULTIBYTE | 0x3C0
# Bits that tell most nodes that differ nowhere from those that do.
cdef uint32_t DIFFERING_WORDS = 64

cdef class MaskBuilder:
    """Makes the token masks of one generation's tabled rules."""

    cdef void prepare(self) noexcept nogil:
        """Room for walks; most grammars are compiled and seldom asked for a token mask of their own."""
        cdef uint32_t depths = self.vocabulary.max_token_bytes + 2
        cdef SlotC nothing
        if self.slots.size():
            return
        memset(&nothing, 0, sizeof(nothing))
        self.nodes_at.assign(depths, 0)
        self.tables_at.assign(depths, 0)
        self.counts.assign(depths, 0)
        self.noted.assign(depths, 0)
        self.is_exit.assign(depths, 0)
        self.hub_tables_at.assign(depths, 0)
        self.differing_bits.assign(DIFFERING_WORDS, 0)
        self.tables.assign(256, 0)
        self.slots.push_back(nothing)

    cdef size_t bytes_held(self) noexcept nogil:
        return (
            map_bytes(&self.slot_ids) + held_bytes(self.slots) + held_bytes(self.tables)
            + map_bytes(&self.safe_offs) + held_bytes(self.safe) + held_bytes(self.nodes_at)
            + held_bytes(self.tables_at) + held_bytes(self.counts) + held_bytes(self.noted)
            + held_bytes(self.is_exit) + held_bytes(self.needs) + map_bytes(&self.hubs)
            + held_bytes(self.differing_bits) + held_bytes(self.differing) + held_bytes(self.gone)
            + held_bytes(self.hub_tables_at))

    cdef TokenMaskPtr make(self, uint32_t state, uint32_t node, bint filtered) noexcept nogil:
        """The token mask of a state below a node; by need (see token masks) if ``filtered``."""
        cdef TokenMaskPtr made = make_shared[TokenMaskC]()
        self.prepare()
        if filtered:
            self.walk_by_need(state, node, made.get())
            self.pack_by_need(made.get())
            sort_exits(made.get(), self.vocabulary)
        else:
            self.walk(state, node, made.get())
            pack_bits(made.get(), self.vocabulary)
            sort_exits(made.get(), self.vocabulary)
            made.get().exit_counts.clear()
        return made

    cdef void enter(self, uint32_t node, uint32_t depth, SlotC* slot) noexcept nogil:
        """A walk goes on below a node."""
        self.nodes_at[depth] = node
        self.noted[depth] = 0
        self.is_exit[depth] = slot.ends

    cdef void leave(self, uint32_t node, uint32_t top_depth, TokenMaskC* out) noexcept nogil:
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

    cdef void walk(self, uint32_t state, uint32_t top, TokenMaskC* out) noexcept nogil:
        """Begins with all tokens and takes out those that the automaton can't follow."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef uint64_t* below = self.vocabulary.classes_below.data()
        cdef uint8_t* phases = self.vocabulary.phases.data()
        cdef uint32_t* tables_at = self.tables_at.data()
        cdef uint32_t* words
        cdef uint32_t node = top + 1, end = nodes[top].end, top_depth = nodes[top].depth, depth, number
        cdef SlotC* slot
        cdef SafeC* safe
        set_below(self.vocabulary, top, out)
        words = out.words.data()
        tables_at[top_depth] = self.table(self.slot(state))
        while node < end:
            self.visited += 1
            depth = nodes[node].depth
            number = self.tables[256 * tables_at[depth - 1] + nodes[node].byte]
            if number == 0:
                clear_ids(words, order + nodes[node].first, order + nodes[nodes[node].end].first)
                self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            slot = &self.slots[number]
            if slot.triggers:
                if nodes[node].end > node + 1:
                    clear_ids(words, order + nodes[node + 1].first, order + nodes[nodes[node].end].first)
                    out.triggers.push_back(node)
                    self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            safe = &slot.safe if slot.knows_safe else self.safety(number)
            if not below[node] & ~safe.classes and (safe.phase == phases[node] or safe.phase == ANY_PHASE):
                node = nodes[node].end
                continue
            self.enter(node, depth, slot)
            tables_at[depth] = slot.table or self.table(number)
            node += 1

    cdef void walk_by_need(self, uint32_t state, uint32_t top, TokenMaskC* out) noexcept nogil:
        """Takes the tokens that the automaton can follow, with their need."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef uint64_t* below = self.vocabulary.classes_below.data()
        cdef uint32_t node = top + 1, end = nodes[top].end, depth, number, k, need
        cdef uint32_t top_depth = nodes[top].depth
        cdef SlotC slot
        self.needs.clear()
        out.words.assign(self.vocabulary.words, 0)
        self.tables_at[top_depth] = self.table(self.slot(state))
        self.counts[top_depth] = 0
        while node < end:
            self.visited += 1
            depth = nodes[node].depth
            number = self.tables[256 * self.tables_at[depth - 1] + nodes[node].byte]
            if number == 0:
                self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            slot = self.slots[number]
            self.counts[depth] = self.counts[depth - 1] + slot.loops
            need = self.counts[depth] + slot.remaining
            for k in range(nodes[node].first, nodes[node + 1].first):
                out.ids.push_back(order[k])
                self.needs.push_back(need)
            if slot.triggers:
                if nodes[node].end > node + 1:
                    out.triggers.push_back(node)
                    self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            if nodes[node].end > node + 1:
                if not below[node] & ~self.stays(number):
                    self.take_below(node, need, slot.loops, out)
                    node = nodes[node].end
                    continue
                self.enter(node, depth, &slot)
                self.tables_at[depth] = slot.table or self.table(number)
            node += 1
        set_ids(out.words.data(), out.ids.data(), out.ids.data() + out.ids.size())

    cdef void take_below(self, uint32_t top, uint32_t need, uint32_t loops, TokenMaskC* out) noexcept nogil:
        """All tokens below a node; every byte takes another ``loops``."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef uint32_t* lengths = self.vocabulary.lengths.data()
        cdef uint32_t first = nodes[top + 1].first, end = nodes[nodes[top].end].first, k
        cdef uint32_t* needs
        out.ids.insert(out.ids.end(), order + first, order + end)
        self.needs.resize(out.ids.size(), need - loops * nodes[top].depth)
        if loops:
            needs = self.needs.data() + self.needs.size() - end
            for k in range(first, end):
                needs[k] += loops * lengths[k]

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

    cdef bint is_mostly_safe(self, uint32_t state) noexcept nogil:
        """Whether a whole walk from the state skips most of the trie."""
        return self.safety(self.slot(state)).classes & MOSTLY == MOSTLY

    cdef uint32_t width(self, uint32_t state) noexcept nogil:
        """How many bytes the state takes."""
        cdef StateC* s = &self.automata.states[state]
        cdef uint32_t e, total = 0
        for e in range(s.byte_off, s.byte_off + s.n_bytes):
            total += self.automata.byte_edges[e].high - self.automata.byte_edges[e].low + 1
        return total

    cdef TokenMaskPtr make_like(
        self, uint32_t state, uint32_t hub, uint32_t node, TokenMaskC* base
    ) noexcept nogil:
        """As ``make``, from the hub's token mask below the same node; empty if they have little in common."""
        cdef TokenMaskPtr made = make_shared[TokenMaskC]()
        made.get().words.assign(self.vocabulary.words, 0)
        if not self.walk_both(state, hub, node, made.get()):
            made.reset()
            return made
        self.keep_base(base, made.get())
        pack_bits(made.get(), self.vocabulary)
        sort_exits(made.get(), self.vocabulary)
        made.get().exit_counts.clear()
        return made

    cdef bint walk_both(
        self, uint32_t state, uint32_t hub, uint32_t top, TokenMaskC* out
    ) noexcept nogil:
        """What the state says where it differs from the hub; False past DIFFERING_NODES.

        An exit of a node that differs gets all of the node's children: what lies below them may
        not have been walked.
        """
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef uint32_t node = top + 1, end = nodes[top].end, depth, number, other, child, work = 0
        cdef SlotC slot
        self.differing.clear()
        self.gone.clear()
        for child in range(DIFFERING_WORDS):
            self.differing_bits[child] = 0
        self.tables_at[nodes[top].depth] = self.table(self.slot(state))
        self.hub_tables_at[nodes[top].depth] = self.table(self.slot(hub))
        while node < end:
            depth = nodes[node].depth
            number = self.tables[256 * self.tables_at[depth - 1] + nodes[node].byte]
            other = self.tables[256 * self.hub_tables_at[depth - 1] + nodes[node].byte]
            if number == other:
                node = nodes[node].end
                continue
            work += 1
            if work > DIFFERING_NODES:
                return False
            if number == 0:
                self.gone.push_back(node)
                node = nodes[node].end
                continue
            self.differing.push_back(node)
            self.differing_bits[node >> 6 & (DIFFERING_WORDS - 1)] |= <uint64_t>1 << (node & 63)
            set_ids(out.words.data(), order + nodes[node].first, order + nodes[node + 1].first)
            slot = self.slots[number]
            if slot.triggers:
                if nodes[node].end > node + 1:
                    out.triggers.push_back(node)
                self.gone.push_back(node)
                node = nodes[node].end
                continue
            if slot.ends:
                child = node + 1
                while child < nodes[node].end:
                    out.exits.push_back(node)
                    out.exits.push_back(child)
                    out.exit_counts.push_back(0)
                    child = nodes[child].end
            self.tables_at[depth] = self.table(number)
            self.hub_tables_at[depth] = 0 if self.slots[other].triggers else self.table(other)
            node += 1
        return True

    cdef void keep_base(self, TokenMaskC* base, TokenMaskC* out) noexcept nogil:
        """Adds what the hub's token mask says of all nodes that do not differ."""
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
    cdef uint32_t slot(self, uint32_t state) noexcept nogil:
        """The slot of a state."""
        cdef uint32_t found = map_get(&self.slot_ids, state)
        cdef StateC* s = &self.automata.states[state]
        cdef SlotC made
        self.prepare()
        if found != MISSING:
            return found
        made.state, made.table = state, 0
        made.loops = (s.flags & LOOP_STATE) != 0
        made.ends = (s.flags & FINAL_STATE) != 0
        made.remaining = self.automata.remaining(state)
        made.triggers = (s.flags & TRIGGER_STATE) != 0 or s.n_refs > 0
        made.stays, made.knows_stays, made.knows_safe = 0, False, False
        found = <uint32_t>self.slots.size()
        map_put(&self.slot_ids, state, found)
        self.slots.push_back(made)
        return found

    cdef uint32_t table(self, uint32_t slot) noexcept nogil:
        """The number of a slot's table, which is made the first time."""
        cdef StateC* s
        cdef uint32_t k, b, target, made = self.slots[slot].table
        if made or slot == 0:
            return made
        made = <uint32_t>self.tables.size() // 256
        self.slots[slot].table = made
        self.tables.resize(self.tables.size() + 256, 0)
        s = &self.automata.states[self.slots[slot].state]
        for k in range(s.byte_off, s.byte_off + s.n_bytes):
            target = self.slot(self.automata.byte_edges[k].target)
            for b in range(self.automata.byte_edges[k].low, self.automata.byte_edges[k].high + 1):
                self.tables[256 * made + b] = target
        return made

    cdef uint32_t follow(self, uint32_t slot, uint8_t byte) noexcept nogil:
        """The slot behind a byte, 0 if there is none."""
        cdef uint32_t table = self.table(slot)
        return self.tables[256 * table + byte]

    cdef SafeC* safety(self, uint32_t slot) noexcept nogil:
        """What the state of a slot always takes; found the first time."""
        if not self.slots[slot].knows_safe:
            self.slots[slot].safe = self.safe_of(self.slots[slot].state)
            self.slots[slot].knows_safe = True
        return &self.slots[slot].safe

    cdef SafeC safe_of(self, uint32_t state) noexcept nogil:
        """What a state always takes; that of its whole rule are found the first time."""
        cdef uint32_t rule = self.automata.states[state].rule, found = map_get(&self.safe_offs, rule + 1)
        cdef vector[SafeC] sets
        if found == MISSING:
            safe_states(self.automata, rule, &sets)
            found = <uint32_t>self.safe.size() if sets.size() else TOO_LARGE
            map_put(&self.safe_offs, rule + 1, found)
            self.safe.insert(self.safe.end(), sets.begin(), sets.end())
        if found == TOO_LARGE:
            return safe_loop(self.automata, state)
        return self.safe[found + state - self.automata.first[rule]]

    cdef uint64_t stays(self, uint32_t slot) noexcept nogil:
        """Found the first time."""
        if not self.slots[slot].knows_stays:
            self.slots[slot].stays = safe_loop(self.automata, self.slots[slot].state).classes
            self.slots[slot].knows_stays = True
        return self.slots[slot].stays

    cdef void pack_by_need(self, TokenMaskC* out) noexcept nogil:
        """Keeps the accepted ids in the order of need, and a bitset beside them where that is smaller."""
        cdef uint32_t k, n, most = 0
        cdef vector[uint32_t] sorted_ids, ends
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


cdef void set_below(Vocabulary vocabulary, uint32_t top, TokenMaskC* out) noexcept nogil:
    """All tokens below a node, as a bitset."""
    cdef uint32_t* order = vocabulary.order.data()
    if top == 0:
        out.words.assign(vocabulary.ordinary_words.begin(), vocabulary.ordinary_words.end())
        return
    out.words.assign(vocabulary.words, 0)
    set_ids(out.words.data(), order + vocabulary.nodes[top + 1].first,
            order + vocabulary.nodes[vocabulary.nodes[top].end].first)


cdef void set_ids(uint32_t* words, const uint32_t* ids, const uint32_t* end) noexcept nogil:
    while ids < end:
        words[ids[0] >> 5] |= <uint32_t>1 << (ids[0] & 31)
        ids += 1


cdef void clear_ids(uint32_t* words, const uint32_t* ids, const uint32_t* end) noexcept nogil:
    while ids < end:
        words[ids[0] >> 5] &= ~(<uint32_t>1 << (ids[0] & 31))
        ids += 1


cdef void sort_exits(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil:
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


cdef void pack_bits(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil:
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
