"""Masks: see the header file."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared
from libcpp.vector cimport vector

from .automata cimport NO_ERROR, StateC
from .hashing cimport MISSING, map_get, map_put
from .rows cimport DEAD, Arena, ItemC, RowC
from .triples cimport TripleC, TripleKeyC, TriplePtr, TripleTable
from .vocabulary cimport TrieNode, Vocabulary

cdef uint32_t STOP = 2


cdef class Masks:
    """The masks of one arena over one vocabulary."""

    def __cinit__(self, Arena arena, Vocabulary vocabulary, TripleTable table, digests, *, bint keep, size_t max_bytes):
        self.arena = arena
        self.vocabulary = vocabulary
        self.table = table
        self.keep = keep
        self.max_bytes = max_bytes
        self.held = 0
        self.made = self.reused = 0
        self.digests = digests
        self.walk_stack.resize(vocabulary.max_token_bytes + 2)
        self.scratch_words.resize(vocabulary.words)

    def stats(self):
        """Masks made and reused, and bytes of kept masks."""
        return {"masks_made": self.made, "masks_reused": self.reused, "mask_bytes": self.held}

    cdef void fill(self, uint32_t instance, uint32_t* out) noexcept nogil:
        """Writes the mask of an instance, ``vocabulary.words`` words."""
        cdef uint32_t number, t
        cdef MaskC* mask
        instance = self.arena.instances[instance].rep
        number = map_get(&self.mask_ids, instance)
        if number == MISSING:
            self.compute(instance)
            memcpy(out, self.scratch_words.data(), 4 * self.vocabulary.words)
            return
        self.reused += 1
        mask = &self.kept[number]
        if mask.words.size():
            memcpy(out, mask.words.data(), 4 * self.vocabulary.words)
            return
        memset(out, 0, 4 * self.vocabulary.words)
        for t in mask.ids:
            out[t >> 5] |= (<uint32_t>1) << (t & 31)

    cdef void fill_stop(self, uint32_t* out) noexcept nogil:
        """The mask of a terminated matcher: stop tokens only."""
        cdef uint32_t t
        memset(out, 0, 4 * self.vocabulary.words)
        for t in range(self.vocabulary.size):
            if self.vocabulary.kind[t] == STOP:
                out[t >> 5] |= (<uint32_t>1) << (t & 31)

    cdef void compute(self, uint32_t instance) noexcept nogil:
        """The mask of a saturated instance, into scratch_words, and kept."""
        cdef RowC row = self.arena.rows[self.arena.instances[instance].row]
        cdef uint32_t k, t
        cdef MaskC mask
        self.made += 1
        memset(self.scratch_words.data(), 0, 4 * self.vocabulary.words)
        for k in range(row.item_off, row.item_off + row.n_items):
            self.add_item(instance, self.arena.items[k])
        if row.accept:
            for t in range(self.vocabulary.size):
                if self.vocabulary.kind[t] == STOP:
                    self.scratch_words[t >> 5] |= (<uint32_t>1) << (t & 31)
        if not self.keep or self.arena.error != NO_ERROR:
            return
        list_bits(&self.scratch_words, &mask.ids)
        if mask.ids.size() > self.vocabulary.words // 2:
            mask.ids.clear()
            mask.ids.shrink_to_fit()
            mask.words = self.scratch_words
        if self.held + 4 * self.vocabulary.words > self.max_bytes:
            self.mask_ids.keys.clear()
            self.mask_ids.used = 0
            self.kept.clear()
            self.held = 0
        self.held += 4 * (mask.ids.size() + mask.words.size())
        map_put(&self.mask_ids, instance, <uint32_t>self.kept.size())
        self.kept.push_back(mask)

    cdef void add_item(self, uint32_t instance, ItemC item) noexcept nogil:
        """One item's tokens, into scratch_words."""
        cdef uint32_t number, k
        cdef TripleC* triple
        cdef TriplePtr held
        if self.arena.automata.states[item.state].n_tokens:
            self.add_tokens(instance, item.state)
        if self.arena.automata.states[item.state].n_bytes == 0:
            return
        number = self.triple(item.state, self.arena.value_of(instance, &item))
        held = self.triples[number]
        triple = held.get()
        for k in range(<uint32_t>triple.words.size()):
            self.scratch_words[k] |= triple.words[k]
        self.set_bits(&triple.ids)
        if triple.exits.size():
            k = self.arena.completion(self.arena.origin_of(instance, &item), item.goal)
            if k != DEAD:
                self.add_exits(number, k)

    cdef void add_tokens(self, uint32_t instance, uint32_t state) noexcept nogil:
        """Token edges; a stop token only where the text may end behind it."""
        cdef StateC* s = &self.arena.automata.states[state]
        cdef uint32_t e, t
        cdef vector[uint32_t] ids
        for e in range(s.token_off, s.token_off + s.n_tokens):
            for t in self.arena.automata.ir.token_sets[self.arena.automata.token_edges[e].symbol]:
                ids.push_back(t)
        for t in ids:
            if self.vocabulary.kind[t] != STOP or self.arena.accepts(self.arena.step_token(instance, t)):
                self.scratch_words[t >> 5] |= (<uint32_t>1) << (t & 31)

    cdef void add_exits(self, uint32_t number, uint32_t outside) noexcept nogil:
        """The uncertain tokens of a triple that the rows outside take; remembered by (outside, triple)."""
        cdef uint64_t key = <uint64_t>outside << 32 | number
        cdef uint32_t found = map_get(&self.exit_ids, key), k
        cdef TriplePtr held = self.triples[number]
        if found == MISSING:
            self.scratch_ids.clear()
            for k in range(<uint32_t>held.get().exits.size()):
                self.walk(outside, held.get().exits[k], &self.scratch_ids, NULL)
            if self.arena.error != NO_ERROR:
                return
            found = <uint32_t>self.exit_tokens.size()
            map_put(&self.exit_ids, key, found)
            self.exit_tokens.push_back(self.scratch_ids)
        self.set_bits(&self.exit_tokens[found])

    cdef void set_bits(self, vector[uint32_t]* ids) noexcept nogil:
        cdef uint32_t t
        for t in ids[0]:
            self.scratch_words[t >> 5] |= (<uint32_t>1) << (t & 31)

    # -- triples --------------------------------------------------------------------------------------
    cdef uint32_t triple(self, uint32_t state, uint32_t count) noexcept nogil:
        """The number of a state's triple: from this arena, from the table, or made."""
        cdef uint64_t local = <uint64_t>state << 32 | count
        cdef uint32_t found = map_get(&self.triple_ids, local)
        cdef uint32_t rule = self.arena.automata.states[state].rule
        cdef TripleKeyC key
        cdef TriplePtr made
        if found != MISSING:
            return found
        key.high, key.low = self.digests[2 * rule], self.digests[2 * rule + 1]
        key.state, key.count = state - self.arena.automata.first[rule], count
        if self.table is not None and (key.high or key.low):
            made = self.table.find(key)
        if made.get() == NULL:
            made = self.make_triple(state, count)
            made.get().key = key
            if self.table is not None and (key.high or key.low) and self.arena.error == NO_ERROR:
                self.table.add(made, True)
        found = <uint32_t>self.triples.size()
        map_put(&self.triple_ids, local, found)
        self.triples.push_back(made)
        return found

    cdef TriplePtr make_triple(self, uint32_t state, uint32_t count) noexcept nogil:
        """Walks the trie over the state's automaton, with nothing outside it."""
        cdef TriplePtr made = make_shared[TripleC]()
        cdef TripleC* t = made.get()
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t node = 1, instance, k
        while node < nodes[0].end:
            instance = DEAD
            if (self.arena.automata.states[state].live[nodes[node].byte >> 6] >> (nodes[node].byte & 63)) & 1:
                instance = self.arena.step_state(state, count, nodes[node].byte)
            if instance != DEAD:
                self.visit(instance, node, &t.ids, &t.exits)
                self.walk(instance, node, &t.ids, &t.exits)
            node = nodes[node].end
        if t.ids.size() > self.vocabulary.words:
            t.words.assign(self.vocabulary.words, 0)
            for k in t.ids:
                t.words[k >> 5] |= (<uint32_t>1) << (k & 31)
            t.ids.clear()
            t.ids.shrink_to_fit()
        else:
            sort(t.ids.begin(), t.ids.end())
        return made

    cdef void walk(
        self, uint32_t instance, uint32_t top, vector[uint32_t]* ids, vector[uint32_t]* exits
    ) noexcept nogil:
        """All tokens below trie node ``top`` that the instance takes; a rejected byte skips its subtree."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* stack = self.walk_stack.data()
        cdef uint32_t node = top + 1, end = nodes[top].end
        stack[nodes[top].depth] = instance
        while node < end:
            instance = self.arena.step(stack[nodes[node].depth - 1], nodes[node].byte)
            if instance == DEAD:
                node = nodes[node].end
                continue
            stack[nodes[node].depth] = instance
            self.visit(instance, node, ids, exits)
            node += 1

    cdef void visit(
        self, uint32_t instance, uint32_t node, vector[uint32_t]* ids, vector[uint32_t]* exits
    ) noexcept nogil:
        """Takes the tokens that end at a node, and notes the node if the automaton may end there."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t k
        for k in range(nodes[node].first, nodes[node + 1].first):
            ids.push_back(self.vocabulary.order[k])
        if exits != NULL and nodes[node].end > node + 1 and self.arena.accepts(instance):
            exits.push_back(node)


cdef void list_bits(vector[uint32_t]* words, vector[uint32_t]* ids) noexcept nogil:
    """The numbers of the set bits, ascending."""
    cdef uint32_t k, word
    for k in range(<uint32_t>words.size()):
        word = words[0][k]
        while word:
            ids.push_back(32 * k + <uint32_t>__builtin_ctz(word))
            word &= word - 1


cdef extern from *:
    int __builtin_ctz(unsigned int) noexcept nogil
