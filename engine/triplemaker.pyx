"""TripleMaker: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared
from libcpp.vector cimport vector

from .automata cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE, StateC
from .hashing cimport MISSING, map_get, map_put
from .rows cimport DEAD, Arena
from .triples cimport TripleC, TriplePtr
from .vocabulary cimport TrieNode, Vocabulary


cdef class TripleMaker:
    """Makes the triples of one arena's states."""

    def __cinit__(self, Arena arena, Vocabulary vocabulary):
        cdef uint32_t depths = vocabulary.max_token_bytes + 2
        self.arena = arena
        self.vocabulary = vocabulary
        self.pure.assign(arena.automata.ir.rules.size(), 0)
        self.instances.assign(depths, 0)
        self.nodes_at.assign(depths, 0)
        self.tables_at.assign(depths, 0)
        self.counts.assign(depths, 0)
        self.is_exit.assign(depths, 0)

    cdef bint is_pure(self, uint32_t rule) noexcept nogil:
        """Whether the rule's automaton is deterministic over bytes.

        And refers to nothing, but for the arms of free text.
        """
        cdef uint32_t s
        if self.pure[rule] == 0:
            self.pure[rule] = 2
            s = self.arena.automata.first[rule]
            while s < self.arena.automata.states.size() and self.arena.automata.states[s].rule == rule:
                if not self.is_plain_state(s):
                    self.pure[rule] = 1
                    break
                s += 1
        return self.pure[rule] == 2

    cdef bint is_plain_state(self, uint32_t s) noexcept nogil:
        cdef StateC* state = &self.arena.automata.states[s]
        cdef uint32_t k
        if state.n_empty or (state.n_refs and not state.flags & TRIGGER_STATE):
            return False
        for k in range(1, state.n_bytes):
            if (self.arena.automata.byte_edges[state.byte_off + k].low
                    <= self.arena.automata.byte_edges[state.byte_off + k - 1].high):
                return False
        return True

    cdef bint is_filtered(self, uint32_t rule) noexcept nogil:
        """Whether the rule's triples are made without its bounds, and filtered by registers."""
        return self.arena.automata.ir.rules[rule].counted and self.is_pure(rule)

    cdef TriplePtr make(self, uint32_t state, uint32_t count, bint filtered) noexcept nogil:
        """The triple of a state, without bounds if ``filtered``, else at the saturated count."""
        cdef TriplePtr made = make_shared[TripleC]()
        cdef uint32_t rule = self.arena.automata.states[state].rule
        self.needs.clear()
        if filtered or (self.is_pure(rule) and not self.is_filtered(rule)):
            self.walk_states(state, made.get())
        else:
            self.walk_rows(state, count, made.get())
        self.pack(made.get(), filtered)
        if not filtered:
            made.get().exit_counts.clear()
        return made

    cdef void take(self, uint32_t node, uint32_t need, TripleC* out) noexcept nogil:
        """The tokens that end at a node."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t k
        for k in range(nodes[node].first, nodes[node + 1].first):
            out.ids.push_back(self.vocabulary.order[k])
            self.needs.push_back(need)

    cdef void leave(self, uint32_t node, uint32_t depth, TripleC* out) noexcept nogil:
        """The automaton can't follow below or at ``node``.

        Every exit above it, at depths below ``depth``, is tried there.
        """
        cdef uint32_t d
        for d in range(1, depth):
            if self.is_exit[d]:
                out.exits.push_back(self.nodes_at[d])
                out.exits.push_back(node)
                out.exit_counts.push_back(self.counts[d])

    cdef void walk_rows(self, uint32_t state, uint32_t count, TripleC* out) noexcept nogil:
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t node = 1, depth, instance
        while node < nodes[0].end:
            depth = nodes[node].depth
            if depth > 1:
                instance = self.arena.step(self.instances[depth - 1], nodes[node].byte)
            elif (self.arena.automata.states[state].live[nodes[node].byte >> 6] >> (nodes[node].byte & 63)) & 1:
                instance = self.arena.step_state(state, count, nodes[node].byte)
            else:
                instance = DEAD
            if instance == DEAD:
                self.leave(node, depth, out)
                node = nodes[node].end
                continue
            self.instances[depth] = instance
            self.nodes_at[depth] = node
            self.is_exit[depth] = self.arena.accepts(instance)
            self.counts[depth] = 0
            self.take(node, 0, out)
            node += 1

    cdef void walk_states(self, uint32_t state, TripleC* out) noexcept nogil:
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t node = 1, depth, target, number
        cdef uint8_t flags
        self.tables_at[0] = self.table(state)
        self.counts[0] = 0
        while node < nodes[0].end:
            depth = nodes[node].depth
            target = self.tables[256 * self.tables_at[depth - 1] + nodes[node].byte]
            if target == 0:
                self.leave(node, depth, out)
                node = nodes[node].end
                continue
            flags = self.arena.automata.states[target].flags
            self.counts[depth] = self.counts[depth - 1] + ((flags & LOOP_STATE) != 0)
            self.take(node, self.counts[depth] + ((flags & LOOP_STATE) == 0), out)
            if flags & TRIGGER_STATE:
                if nodes[node].end > node + 1:
                    out.triggers.push_back(node)
                    self.leave(node, depth, out)
                node = nodes[node].end
                continue
            self.nodes_at[depth] = node
            self.is_exit[depth] = (flags & (FINAL_STATE | LOOP_STATE)) != 0
            number = self.table(target)
            self.tables_at[depth] = number
            node += 1

    cdef uint32_t table(self, uint32_t state) noexcept nogil:
        """The number of a state's dense table."""
        cdef uint32_t found = map_get(&self.table_ids, state), k, b
        cdef StateC* s
        if found != MISSING:
            return found
        found = <uint32_t>self.tables.size() // 256
        map_put(&self.table_ids, state, found)
        self.tables.resize(self.tables.size() + 256, 0)
        s = &self.arena.automata.states[state]
        for k in range(s.byte_off, s.byte_off + s.n_bytes):
            for b in range(self.arena.automata.byte_edges[k].low, self.arena.automata.byte_edges[k].high + 1):
                self.tables[256 * found + b] = self.arena.automata.byte_edges[k].target
        return found

    cdef void pack(self, TripleC* out, bint by_need) noexcept nogil:
        """Sorts the accepted ids.

        A bitset takes their place where it is smaller, and stands beside them where they are in
        the order of need.
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
        if by_need or out.ids.size() > self.vocabulary.words:
            out.words.assign(self.vocabulary.words, 0)
            for k in out.ids:
                out.words[k >> 5] |= (<uint32_t>1) << (k & 31)
        if by_need:
            return
        if out.words.size():
            out.ids.clear()
            out.ids.shrink_to_fit()
        else:
            sort(out.ids.begin(), out.ids.end())
