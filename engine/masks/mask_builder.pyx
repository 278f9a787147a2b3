"""Safe classes, walks of the token trie, split points, and token masks of free text."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memset
from libcpp.algorithm cimport binary_search, lower_bound, sort, upper_bound
from libcpp.memory cimport make_shared

from ..automata.determinize cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE, ByteEdgeC
from ..automata.rule_automata cimport Automata, StateC
from ..grammar.lowered cimport DISPATCH_RULE
from ..native.bitset cimport clear_bit, has_many_bits, list_bits, or_words, set_bits
from ..native.hashing cimport MISSING, map_bytes, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..vocabulary.vocabulary cimport (
    BOUNDARY, BROKEN, MULTIBYTE, TrieNode, Vocabulary, class_bit, high_of, low_of, phase_after,
)
from .token_mask cimport TokenMaskC, TokenMaskPtr, group_exits


# Rules with more states have no safe classes: finding them would take too long.
cdef uint32_t SAFE_STATES = 256
cdef uint64_t ASCII = (<uint64_t>1 << 43) - 1
# digits, letters, spaces, characters of several bytes
cdef uint64_t MANY = MULTIBYTE | 0x3F0


cdef void safe_states(Automata automata, uint32_t rule, vector[SafeClassesC]* out) noexcept nogil:
    """Compute the safe classes of all states of a rule that was built whole.

    These are the greatest sets such that every byte or character of a state's set leads to a state
    whose set contains it. The text may pass through ends of the rule, but not through a state with
    references. ``out`` stays empty for a rule with more than SAFE_STATES.
    """
    cdef uint32_t first = automata.first[rule], s, n = 0
    cdef uint64_t before
    cdef bint changed = True
    cdef SafeClassesC nothing
    nothing.classes, nothing.phase = 0, ANY_PHASE
    while first + n < automata.states.size() and automata.states[first + n].rule == rule:
        n += 1
        if n > SAFE_STATES:
            return
    out.assign(n, nothing)
    find_phases(automata, first, out)
    for s in range(n):
        if out[0][s].phase == BOUNDARY:
            out[0][s].classes = entered(automata, first + s) | MULTIBYTE
    while changed:
        changed = False
        s = n
        while s:
            s -= 1
            before = out[0][s].classes
            if before:
                out[0][s].classes = held(automata, first + s, before, out)
                changed = changed or out[0][s].classes != before
    for s in range(n):
        if BOUNDARY < out[0][s].phase < BROKEN:
            out[0][s].classes = held_after(automata, first + s, out[0][s].phase, out)


cdef SafeClassesC safe_loop(Automata automata, uint32_t state) noexcept nogil:
    """Return the ASCII classes whose bytes all lead from a state to itself."""
    cdef SafeClassesC safe
    safe.classes, safe.phase = held(automata, state, entered(automata, state), NULL), ANY_PHASE
    return safe


cdef void find_phases(Automata automata, uint32_t first, vector[SafeClassesC]* out) noexcept nogil:
    """Find the place of each state within a character; BROKEN if it is not always the same."""
    cdef vector[uint32_t] todo
    cdef StateC* state
    cdef uint32_t e, b, s, target
    cdef uint8_t phase
    out[0][0].phase = BOUNDARY
    todo.push_back(0)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        state = &automata.states[first + s]
        for e in range(state.byte_off, state.byte_off + state.n_bytes):
            target = automata.byte_edges[e].target - first
            for b in range(automata.byte_edges[e].low, <uint32_t>automata.byte_edges[e].high + 1):
                phase = phase_after(out[0][s].phase, <uint8_t>b)
                if out[0][target].phase == phase or out[0][target].phase == BROKEN:
                    continue
                out[0][target].phase = phase if out[0][target].phase == ANY_PHASE else BROKEN
                todo.push_back(target)


cdef bint is_plain(StateC* state) noexcept nogil:
    return not state.flags & TRIGGER_STATE and state.n_refs == 0


cdef uint64_t entered(Automata automata, uint32_t state) noexcept nogil:
    """Return the ASCII classes whose bytes all lead to states without references."""
    cdef StateC* s = &automata.states[state]
    cdef ByteEdgeC* edge
    cdef uint32_t e, b, at = 0
    cdef uint64_t missing = 0
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        edge = &automata.byte_edges[e]
        for b in range(at, min(<uint32_t>edge.low, <uint32_t>128)):
            missing |= class_bit(<uint8_t>b)
        at = <uint32_t>edge.high + 1
        if not is_plain(&automata.states[edge.target]):
            for b in range(edge.low, min(at, <uint32_t>128)):
                missing |= class_bit(<uint8_t>b)
    for b in range(at, 128):
        missing |= class_bit(<uint8_t>b)
    return ASCII & ~missing


cdef uint64_t held(Automata automata, uint32_t state, uint64_t classes, vector[SafeClassesC]* sets) noexcept nogil:
    """Remove classes until the others lead only to states that hold them all.

    Where an edge leads to a smaller set, either the classes missing there or those of the edge are
    removed, whichever costs less. Without ``sets`` only the state itself holds classes.
    """
    cdef StateC* s = &automata.states[state]
    cdef ByteEdgeC* edge
    cdef uint32_t e, b
    cdef uint64_t taken, there
    if classes & MULTIBYTE:
        classes = without(classes, MULTIBYTE, held_after(automata, state, BOUNDARY, sets))
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        edge = &automata.byte_edges[e]
        if edge.target == state:
            continue
        there = 0 if sets == NULL else sets[0][edge.target - automata.first[s.rule]].classes
        if not classes & ~there:
            continue
        taken = 0
        for b in range(edge.low, min(<uint32_t>edge.high + 1, <uint32_t>128)):
            taken |= class_bit(<uint8_t>b)
        if classes & taken:
            classes = without(classes, taken, there)
    return classes


cdef uint64_t without(uint64_t classes, uint64_t taken, uint64_t there) noexcept nogil:
    """Return the classes without those of an edge, or without those missing after the edge."""
    if weight(classes & ~there) <= weight(classes & taken):
        return classes & there
    return classes & ~taken


cdef uint32_t weight(uint64_t classes) noexcept nogil:
    """Estimate the part of a vocabulary with the classes: mostly letters, digits, not ASCII."""
    return <uint32_t>__builtin_popcountll(classes) + 16 * <uint32_t>__builtin_popcountll(classes & MANY)


cdef uint64_t held_after(Automata automata, uint32_t state, uint8_t phase, vector[SafeClassesC]* sets) noexcept nogil:
    """Return the classes held wherever a character's rest leads; 0 if some rests are rejected."""
    cdef StateC* s = &automata.states[state]
    cdef ByteEdgeC* edge
    cdef uint8_t after
    cdef uint32_t low = 0xC2 if phase == BOUNDARY else low_of(phase), e, b
    cdef uint32_t high = 0xF4 if phase == BOUNDARY else high_of(phase), last = BROKEN
    cdef uint64_t classes = ASCII | MULTIBYTE
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        edge = &automata.byte_edges[e]
        if edge.high < low:
            continue
        if edge.low > low or low > high:
            break
        if not is_plain(&automata.states[edge.target]):
            return 0
        last = BROKEN
        for b in range(low, min(<uint32_t>edge.high, high) + 1):
            after = phase_after(phase, <uint8_t>b)
            if after == last:
                continue
            last = after
            if after == BOUNDARY:
                classes &= sets[0][edge.target - automata.first[s.rule]].classes
            else:
                classes &= held_after(automata, edge.target, after, sets)
        low = <uint32_t>edge.high + 1
    return classes if low > high else 0


cdef extern from *:
    int __builtin_popcountll(unsigned long long) noexcept nogil


# A walk by difference stops after this many nodes: the two states have little in common.
cdef uint32_t DIFFERING_NODES = 1 << 14
# Fewer ids are sorted as they are.
cdef uint32_t FEW_IDS = 256
# In `safe_offs`: the rule has too many states.
cdef uint32_t TOO_LARGE = 0xFFFFFFFE
# letters, and characters of several bytes
cdef uint64_t MOSTLY = MULTIBYTE | 0x3C0
# words of the filter of differing nodes
cdef uint32_t DIFFERING_WORDS = 64

cdef class MaskBuilder:
    """Builds the token masks of one generation's tabled rules."""

    cdef void prepare(self) noexcept nogil:
        """Allocate room for walks. Most grammars never need a token mask of their own."""
        cdef uint32_t depths = self.vocabulary.max_token_bytes + 2
        cdef WalkStateC nothing
        if self.walk_states.size():
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
        self.walk_states.push_back(nothing)

    cdef size_t bytes_held(self) noexcept nogil:
        return (
            map_bytes(&self.walk_state_ids) + held_bytes(self.walk_states) + held_bytes(self.tables)
            + map_bytes(&self.safe_offs) + held_bytes(self.safe) + held_bytes(self.nodes_at)
            + held_bytes(self.tables_at) + held_bytes(self.counts) + held_bytes(self.noted)
            + held_bytes(self.is_exit) + held_bytes(self.needs) + map_bytes(&self.hubs)
            + held_bytes(self.differing_bits) + held_bytes(self.differing) + held_bytes(self.gone)
            + held_bytes(self.hub_tables_at))

    cdef TokenMaskPtr make(self, uint32_t state, uint32_t node, bint filtered) noexcept nogil:
        """Build the token mask of a state below a node; by need if ``filtered``."""
        cdef TokenMaskPtr token_mask = make_shared[TokenMaskC]()
        self.prepare()
        if filtered:
            self.walk_by_need(state, node, token_mask.get())
            self.pack_by_need(token_mask.get())
            sort_exits(token_mask.get(), self.vocabulary)
        else:
            self.walk(state, node, token_mask.get())
            close(token_mask.get(), self.vocabulary)
        return token_mask

    cdef void enter(self, uint32_t node, uint32_t depth, WalkStateC* walk_state) noexcept nogil:
        """Note that the walk continues below a node."""
        self.nodes_at[depth] = node
        self.noted[depth] = 0
        self.is_exit[depth] = walk_state.ends

    cdef void leave(self, uint32_t node, uint32_t top_depth, TokenMaskC* out) noexcept nogil:
        """Note that ``node`` is rejected: each node above it where the rule may end is an exit."""
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
        """Take all tokens and remove those that the automaton rejects. Below a node, list the others."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef uint64_t* below = self.vocabulary.classes_below.data()
        cdef uint8_t* phases = self.vocabulary.phases.data()
        cdef uint32_t* tables_at = self.tables_at.data()
        cdef uint32_t node = top + 1, end = nodes[top].end, top_depth = nodes[top].depth, depth, number
        # the first token that is not yet taken or rejected, by its place in `order`
        cdef uint32_t place = nodes[top + 1].first
        cdef WalkStateC* walk_state
        cdef SafeClassesC* safe
        if top == 0:
            set_below(self.vocabulary, top, out)
        tables_at[top_depth] = self.table(self.walk_state(state))
        while node < end:
            self.visited += 1
            depth = nodes[node].depth
            number = self.tables[256 * tables_at[depth - 1] + nodes[node].byte]
            if number == 0:
                reject(out, order, &place, nodes[node].first, nodes[nodes[node].end].first)
                self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            if nodes[node].end == node + 1:
                node += 1
                continue
            walk_state = &self.walk_states[number]
            if walk_state.triggers:
                reject(out, order, &place, nodes[node + 1].first, nodes[nodes[node].end].first)
                out.triggers.push_back(node)
                self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            safe = &walk_state.safe if walk_state.knows_safe else self.safety(number)
            if not below[node] & ~safe.classes and (safe.phase == phases[node] or safe.phase == ANY_PHASE):
                node = nodes[node].end
                continue
            self.enter(node, depth, walk_state)
            tables_at[depth] = walk_state.table or self.table(number)
            node += 1
        if top:
            out.ids.insert(out.ids.end(), order + place, order + nodes[end].first)
            sort_ids(out, self.vocabulary)

    cdef void walk_by_need(self, uint32_t state, uint32_t top, TokenMaskC* out) noexcept nogil:
        """Add the tokens that the automaton follows, with their needs."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef uint64_t* below = self.vocabulary.classes_below.data()
        cdef uint32_t node = top + 1, end = nodes[top].end, depth, number, k, need
        cdef uint32_t top_depth = nodes[top].depth
        cdef WalkStateC* walk_state
        self.needs.clear()
        self.tables_at[top_depth] = self.table(self.walk_state(state))
        self.counts[top_depth] = 0
        while node < end:
            self.visited += 1
            depth = nodes[node].depth
            number = self.tables[256 * self.tables_at[depth - 1] + nodes[node].byte]
            if number == 0:
                self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            walk_state = &self.walk_states[number]
            self.counts[depth] = self.counts[depth - 1] + walk_state.loops
            need = self.counts[depth] + walk_state.remaining
            for k in range(nodes[node].first, nodes[node + 1].first):
                out.ids.push_back(order[k])
                self.needs.push_back(need)
            if walk_state.triggers:
                if nodes[node].end > node + 1:
                    out.triggers.push_back(node)
                    self.leave(node, top_depth, out)
                node = nodes[node].end
                continue
            if nodes[node].end > node + 1:
                if not below[node] & ~(walk_state.stays if walk_state.knows_stays else self.stays(number)):
                    self.take_below(node, need, walk_state.loops, out)
                    node = nodes[node].end
                    continue
                self.enter(node, depth, walk_state)
                self.tables_at[depth] = walk_state.table or self.table(number)
            node += 1

    cdef void take_below(self, uint32_t top, uint32_t need, uint32_t loops, TokenMaskC* out) noexcept nogil:
        """Add all tokens below a node; every byte needs ``loops`` more iterations."""
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
        """Return the wide state that most bytes of a tabled rule's states lead to, 0: none."""
        cdef uint32_t found = map_get(&self.hubs, rule + 1), first = self.automata.first[rule], s, e, best = 0
        cdef vector[uint32_t] taken
        cdef StateC* state
        if found != MISSING:
            return found
        found = 0
        if self.automata.is_char_graph(rule):
            found = self.automata.hub_of_graph(rule)
            found = found if self.width(found) >= HUB_BYTES else 0
            map_put(&self.hubs, rule + 1, found)
            return found
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
        """Return whether a whole walk from the state skips most of the trie."""
        return self.safety(self.walk_state(state)).classes & MOSTLY == MOSTLY

    cdef uint32_t width(self, uint32_t state) noexcept nogil:
        """Return how many bytes the state takes."""
        cdef StateC* s = &self.automata.states[state]
        cdef uint32_t e, total = 0
        for e in range(s.byte_off, s.byte_off + s.n_bytes):
            total += self.automata.byte_edges[e].high - self.automata.byte_edges[e].low + 1
        return total

    cdef TokenMaskPtr make_like(self, uint32_t state, uint32_t hub, uint32_t node, TokenMaskC* base) noexcept nogil:
        """Like ``make``, from the hub's token mask there; null: they have little in common."""
        cdef TokenMaskPtr token_mask = make_shared[TokenMaskC]()
        token_mask.get().words.assign(self.vocabulary.words, 0)
        if not self.walk_both(state, hub, node, token_mask.get()):
            token_mask.reset()
            return token_mask
        self.keep_base(base, token_mask.get())
        close(token_mask.get(), self.vocabulary)
        return token_mask

    cdef bint walk_both(self, uint32_t state, uint32_t hub, uint32_t top, TokenMaskC* out) noexcept nogil:
        """Collect the differences between a state and the hub. False: more than DIFFERING_NODES.

        A differing node where the rule may end gets an exit for each child, because the walk may
        skip what is below them.
        """
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef uint32_t node = top + 1, end = nodes[top].end, depth, number, other, child, work = 0
        cdef WalkStateC walk_state
        self.differing.clear()
        self.gone.clear()
        for child in range(DIFFERING_WORDS):
            self.differing_bits[child] = 0
        self.tables_at[nodes[top].depth] = self.table(self.walk_state(state))
        self.hub_tables_at[nodes[top].depth] = self.table(self.walk_state(hub))
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
            set_bits(out.words.data(), order + nodes[node].first, nodes[node + 1].first - nodes[node].first)
            walk_state = self.walk_states[number]
            if walk_state.triggers:
                if nodes[node].end > node + 1:
                    out.triggers.push_back(node)
                self.gone.push_back(node)
                node = nodes[node].end
                continue
            if walk_state.ends:
                child = node + 1
                while child < nodes[node].end:
                    out.exits.push_back(node)
                    out.exits.push_back(child)
                    out.exit_counts.push_back(0)
                    child = nodes[child].end
            self.tables_at[depth] = self.table(number)
            self.hub_tables_at[depth] = 0 if self.walk_states[other].triggers else self.table(other)
            node += 1
        return True

    cdef void keep_base(self, TokenMaskC* base, TokenMaskC* out) noexcept nogil:
        """Add the hub's results for all nodes that do not differ."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* order = self.vocabulary.order.data()
        cdef vector[uint32_t] own
        cdef uint32_t k, node
        own.swap(out.words)
        if base.words.size():
            out.words = base.words
        else:
            out.words.assign(self.vocabulary.words, 0)
        set_bits(out.words.data(), base.ids.data(), base.ids.size())
        for node in self.differing:
            clear_ids(out.words.data(), order + nodes[node].first, order + nodes[node + 1].first)
        for node in self.gone:
            clear_ids(out.words.data(), order + nodes[node].first, order + nodes[nodes[node].end].first)
        or_words(out.words.data(), own.data(), self.vocabulary.words)
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
        """Return whether a node is in a subtree that only the hub enters."""
        cdef size_t after = upper_bound(self.gone.begin(), self.gone.end(), node) - self.gone.begin()
        return after > 0 and node < self.vocabulary.nodes[self.gone[after - 1]].end

    # -- common ------------------------------------------------------------------------------------
    cdef uint32_t walk_state(self, uint32_t state) noexcept nogil:
        """Return the number of a state's walk state."""
        cdef uint32_t number = map_get(&self.walk_state_ids, state)
        cdef StateC* s = &self.automata.states[state]
        cdef WalkStateC fresh
        self.prepare()
        if number != MISSING:
            return number
        fresh.state, fresh.table = state, 0
        fresh.loops = (s.flags & LOOP_STATE) != 0
        fresh.ends = (s.flags & FINAL_STATE) != 0
        fresh.remaining = self.automata.remaining(state)
        fresh.triggers = (s.flags & TRIGGER_STATE) != 0 or s.n_refs > 0
        fresh.stays, fresh.knows_stays, fresh.knows_safe = 0, False, False
        number = <uint32_t>self.walk_states.size()
        map_put(&self.walk_state_ids, state, number)
        self.walk_states.push_back(fresh)
        return number

    cdef uint32_t table(self, uint32_t walk_state) noexcept nogil:
        """Return the number of a walk state's table of successors, built on first use."""
        cdef StateC* s
        cdef uint32_t k, b, target, made = self.walk_states[walk_state].table
        if made or walk_state == 0:
            return made
        self.automata.visit(self.walk_states[walk_state].state)
        made = <uint32_t>self.tables.size() // 256
        self.walk_states[walk_state].table = made
        self.tables.resize(self.tables.size() + 256, 0)
        s = &self.automata.states[self.walk_states[walk_state].state]
        for k in range(s.byte_off, s.byte_off + s.n_bytes):
            target = self.walk_state(self.automata.byte_edges[k].target)
            for b in range(self.automata.byte_edges[k].low, self.automata.byte_edges[k].high + 1):
                self.tables[256 * made + b] = target
        return made

    cdef uint32_t follow(self, uint32_t walk_state, uint8_t byte) noexcept nogil:
        """Return the walk state after a byte, 0 if there is none."""
        cdef uint32_t table = self.table(walk_state)
        return self.tables[256 * table + byte]

    cdef SafeClassesC* safety(self, uint32_t walk_state) noexcept nogil:
        """Return the safe classes of a walk state, computed on first use."""
        if not self.walk_states[walk_state].knows_safe:
            self.walk_states[walk_state].safe = self.safe_of(self.walk_states[walk_state].state)
            self.walk_states[walk_state].knows_safe = True
        return &self.walk_states[walk_state].safe

    cdef SafeClassesC safe_of(self, uint32_t state) noexcept nogil:
        """Return the safe classes of a state; those of its whole rule are computed on first use.

        Only a state's own loop counts in free text with triggers: its masks come from that of plain
        text or from the hub's, and the classes of a whole rule took a millisecond for each new set of
        triggers.
        """
        cdef uint32_t rule = self.automata.states[state].rule, off = map_get(&self.safe_offs, rule + 1)
        cdef vector[SafeClassesC] sets
        if self.automata.ir.rules[rule].kind == DISPATCH_RULE:
            return safe_loop(self.automata, state)
        if self.automata.is_char_graph(rule):
            self.automata.visit(state)
            return safe_loop(self.automata, state)
        if off == MISSING:
            safe_states(self.automata, rule, &sets)
            off = <uint32_t>self.safe.size() if sets.size() else TOO_LARGE
            map_put(&self.safe_offs, rule + 1, off)
            self.safe.insert(self.safe.end(), sets.begin(), sets.end())
        if off == TOO_LARGE:
            return safe_loop(self.automata, state)
        return self.safe[off + state - self.automata.first[rule]]

    cdef uint64_t stays(self, uint32_t walk_state) noexcept nogil:
        """Return the classes that lead back to the state, computed on first use."""
        if not self.walk_states[walk_state].knows_stays:
            self.automata.visit(self.walk_states[walk_state].state)
            self.walk_states[walk_state].stays = safe_loop(self.automata, self.walk_states[walk_state].state).classes
            self.walk_states[walk_state].knows_stays = True
        return self.walk_states[walk_state].stays

    cdef void pack_by_need(self, TokenMaskC* out) noexcept nogil:
        """Order the accepted ids by need; keep the bitset as well if it is smaller."""
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
        if out.ids.size() >= self.vocabulary.words:
            out.words.assign(self.vocabulary.words, 0)
            set_bits(out.words.data(), out.ids.data(), out.ids.size())


cdef inline void reject(
    TokenMaskC* out, const uint32_t* order, uint32_t* place, uint32_t first, uint32_t end
) noexcept nogil:
    """Reject the tokens with places from ``first`` on. Of the root they are bits; else those before are listed."""
    if out.words.size():
        clear_ids(out.words.data(), order + first, order + end)
    else:
        out.ids.insert(out.ids.end(), order + place[0], order + first)
        place[0] = end


cdef void sort_ids(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil:
    """Sort the listed ids; many become a bitset on the way."""
    if out.ids.size() < FEW_IDS:
        sort(out.ids.begin(), out.ids.end())
        return
    out.words.assign(vocabulary.words, 0)
    set_bits(out.words.data(), out.ids.data(), out.ids.size())
    out.ids.clear()


cdef void set_below(Vocabulary vocabulary, uint32_t top, TokenMaskC* out) noexcept nogil:
    """Set the bits of all tokens below a node."""
    cdef uint32_t first = vocabulary.nodes[top + 1].first, end
    if top == 0:
        out.words.assign(vocabulary.ordinary_words.begin(), vocabulary.ordinary_words.end())
        return
    out.words.assign(vocabulary.words, 0)
    end = vocabulary.nodes[vocabulary.nodes[top].end].first
    set_bits(out.words.data(), vocabulary.order.data() + first, end - first)


cdef void clear_ids(uint32_t* words, const uint32_t* ids, const uint32_t* end) noexcept nogil:
    while ids < end:
        clear_bit(words, ids[0])
        ids += 1


cdef void sort_exits(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil:
    """Sort exits by the byte of k (a stable counting sort), and group them."""
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
    """Replace the bitset by a list of ids if that is smaller."""
    if has_many_bits(&out.words, vocabulary.words):
        return
    list_bits(&out.words, &out.ids)
    out.words.clear()
    out.words.shrink_to_fit()


# -- split points ----------------------------------------------------------------------------------

# Trie nodes that are visited for one mask. llama3 has 274,520: 13,000 of the most frequent letter,
# some hundred of a bracket.
cdef uint32_t NARROW_NODES = 1 << 14


cdef bint is_narrow(Vocabulary vocabulary, const uint64_t* live) noexcept nogil:
    """Return whether few trie nodes have one of these bytes."""
    cdef uint32_t b, total = 0
    for b in range(256):
        if (live[b >> 6] >> (b & 63)) & 1:
            total += vocabulary.byte_offs[b + 1] - vocabulary.byte_offs[b]
    return total <= NARROW_NODES


cdef void list_split_points(
    MaskBuilder builder, Vocabulary vocabulary, uint32_t state, uint32_t top, uint8_t byte,
    uint32_t least, uint32_t most, vector[uint32_t]* places
) noexcept nogil:
    """Append the split points with this byte below ``top``, which the text reaches in ``state``."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t end = vocabulary.byte_offs[byte + 1], k = vocabulary.byte_offs[byte]
    cdef uint32_t node
    cdef uint8_t* text
    k = <uint32_t>(lower_bound(
        vocabulary.byte_nodes.begin() + k, vocabulary.byte_nodes.begin() + end, top + 1)
        - vocabulary.byte_nodes.begin())
    while k < end and vocabulary.byte_nodes[k] < nodes[top].end:
        node = vocabulary.byte_nodes[k]
        # each node is on some token's path, so that token's bytes lead to it
        text = vocabulary.data.data() + vocabulary.offsets[vocabulary.order[nodes[node].first]]
        if may_be_over(builder, state, text + nodes[top].depth, nodes[node].depth - 1 - nodes[top].depth, least, most):
            places.push_back(node)
        k += 1


cdef bint may_be_over(
    MaskBuilder builder, uint32_t state, const uint8_t* text, uint32_t n, uint32_t least, uint32_t most
) noexcept nogil:
    """Return whether the text may end after these bytes; not after none."""
    cdef uint32_t k, count = 0, walk_state = builder.walk_state(state)
    for k in range(n):
        walk_state = builder.follow(walk_state, text[k])
        if walk_state == 0:
            return False
        count += builder.walk_states[walk_state].loops
        if count > most:
            return False
    return n > 0 and count >= least and builder.walk_states[walk_state].ends


cdef uint32_t missing_after(
    MaskBuilder builder, Vocabulary vocabulary, uint32_t state, uint32_t depth, uint32_t token,
    uint32_t least, uint32_t most, vector[uint32_t]* lengths
) noexcept nogil:
    """Return the bytes that a character lacks after a token, which is accepted from byte ``depth``
    on.

    ``lengths``: the shorter prefixes of the token after which the text may end.
    """
    cdef uint8_t* text = vocabulary.data.data() + vocabulary.offsets[token]
    cdef uint32_t n = vocabulary.offsets[token + 1] - vocabulary.offsets[token], count = 0
    cdef uint32_t walk_state = builder.walk_state(state)
    lengths.clear()
    while depth < n:
        walk_state = builder.follow(walk_state, text[depth])
        count += builder.walk_states[walk_state].loops
        depth += 1
        if builder.walk_states[walk_state].ends and depth < n and least <= count <= most:
            lengths.push_back(depth)
    return builder.automata.states[builder.walk_states[walk_state].state].missing


# -- free text masks -------------------------------------------------------------------------------

cdef void add_exit(TokenMaskC* out, uint32_t x, uint32_t k) noexcept nogil:
    cdef size_t n = out.exits.size()
    if n >= 2 and out.exits[n - 2] == x and out.exits[n - 1] == k:
        return
    out.exits.push_back(x)
    out.exits.push_back(k)
    out.exit_counts.push_back(0)


cdef void close(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil:
    """Bring a token mask into its final form."""
    pack_bits(out, vocabulary)
    sort_exits(out, vocabulary)
    out.exit_counts.clear()


cdef TokenMaskPtr plain_text_mask(Vocabulary vocabulary) noexcept nogil:
    """Build the token mask of UTF-8 text from a boundary on; it may end at every boundary."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t* order = vocabulary.order.data()
    cdef TokenMaskPtr token_mask = make_shared[TokenMaskC]()
    cdef uint8_t* phases = vocabulary.phases.data()
    cdef vector[uint32_t] path
    cdef uint32_t node = 1, depth, d
    path.assign(vocabulary.max_token_bytes + 2, 0)
    token_mask.get().words.assign(vocabulary.words, 0)
    while node < nodes[0].end:
        depth = nodes[node].depth
        path[depth] = node
        if phases[node] == BROKEN:
            for d in range(1, depth):
                if phases[path[d]] == BOUNDARY:
                    add_exit(token_mask.get(), path[d], path[d + 1])
            node = nodes[node].end
            continue
        set_bits(
            token_mask.get().words.data(), order + nodes[node].first, nodes[node + 1].first - nodes[node].first)
        node += 1
    close(token_mask.get(), vocabulary)
    return token_mask


cdef TokenMaskPtr free_text_mask(
    Automata automata, uint32_t state, Vocabulary vocabulary, TokenMaskC* plain
) noexcept nogil:
    """Build the token mask of the start state of free text from that of plain text."""
    cdef TokenMaskPtr token_mask = make_shared[TokenMaskC]()
    cdef vector[uint32_t] states, path
    cdef uint32_t b, k, first
    token_mask.get().words = plain.words
    if plain.words.size() == 0:
        token_mask.get().words.assign(vocabulary.words, 0)
    set_bits(token_mask.get().words.data(), plain.ids.data(), plain.ids.size())
    if automata.states[state].flags & (FINAL_STATE | LOOP_STATE):
        token_mask.get().exits = plain.exits
        token_mask.get().exit_counts.assign(plain.exits.size() // 2, 0)
    states.assign(vocabulary.max_token_bytes + 2, 0)
    path.assign(vocabulary.max_token_bytes + 2, 0)
    states[0] = state
    for b in range(256):
        first = automata.target(state, <uint8_t>b)
        if phase_after(BOUNDARY, <uint8_t>b) == BROKEN or (first and automata.states[first].is_plain_text):
            continue
        for k in range(vocabulary.byte_offs[b], vocabulary.byte_offs[b + 1]):
            if enter(automata, vocabulary, vocabulary.byte_nodes[k], &states, &path):
                follow(automata, vocabulary, vocabulary.byte_nodes[k], &states, &path, token_mask.get())
    sort(token_mask.get().triggers.begin(), token_mask.get().triggers.end())
    close(token_mask.get(), vocabulary)
    return token_mask


cdef bint enter(
    Automata automata, Vocabulary vocabulary, uint32_t node, vector[uint32_t]* states, vector[uint32_t]* path
) noexcept nogil:
    """Follow the path to a node's parent. Return whether no pattern is in progress there."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t k, at = vocabulary.parents[node]
    while at:
        path[0][nodes[at].depth] = at
        at = vocabulary.parents[at]
    for k in range(1, nodes[node].depth):
        states[0][k] = automata.target(states[0][k - 1], nodes[path[0][k]].byte)
        if states[0][k] == 0:
            return False
    return automata.states[states[0][nodes[node].depth - 1]].is_plain_text


cdef void follow(
    Automata automata, Vocabulary vocabulary, uint32_t top, vector[uint32_t]* states, vector[uint32_t]* path,
    TokenMaskC* out
) noexcept nogil:
    """Correct the token mask at and below a node where a pattern may begin."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t* order = vocabulary.order.data()
    cdef uint32_t node = top, depth, state, d
    while node < nodes[top].end:
        depth = nodes[node].depth
        state = automata.target(states[0][depth - 1], nodes[node].byte)
        states[0][depth], path[0][depth] = state, node
        if state and not automata.states[state].n_refs:
            # below a plain state the tokens are those of plain text, unless they begin another
            # patter
            node = nodes[node].end if automata.states[state].is_plain_text else node + 1
            continue
        for d in range(1, depth):
            if automata.states[states[0][d]].flags & (FINAL_STATE | LOOP_STATE):
                add_exit(out, path[0][d], path[0][d + 1])
        if state and nodes[node].end > node + 1:
            out.triggers.push_back(node)
        # tokens that end at the node stay if the pattern completes there
        clear_ids(out.words.data(), order + nodes[node + (state != 0)].first, order + nodes[nodes[node].end].first)
        node = nodes[node].end
