"""Masks: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from .automata cimport NO_ERROR, StateC
from .flat cimport NO_MAXIMUM, RuleC
from .hashing cimport MISSING, map_get, map_put
from .rows cimport DEAD, Arena, ItemC, RowC
from .triplemaker cimport TripleMaker
from .triples cimport TripleC, TripleKeyC, TriplePtr, TripleTable
from .vocabulary cimport TrieNode, Vocabulary

cdef uint32_t STOP = 2


cdef class Masks:
    """The masks of one arena over one vocabulary."""

    def __cinit__(
        self, Arena arena, Vocabulary vocabulary, TripleTable table, digests, *, bint keep,
        size_t max_bytes
    ):
        self.arena = arena
        self.vocabulary = vocabulary
        self.table = table
        self.maker = TripleMaker(arena, vocabulary)
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
        cdef uint32_t number, k, outside, rule = self.arena.automata.states[item.state].rule
        cdef TriplePtr held
        if self.arena.automata.states[item.state].n_tokens:
            self.add_tokens(instance, item.state)
        if self.arena.automata.states[item.state].n_bytes == 0:
            return
        outside = self.arena.completion(self.arena.origin_of(instance, &item), item.goal)
        if self.maker.is_filtered(rule) and not (outside != DEAD and self.splits(rule, outside)):
            self.add_filtered(instance, item, outside)
            return
        number = self.triple(item.state, self.arena.value_of(instance, &item), False)
        held = self.triples[number]
        for k in range(<uint32_t>held.get().words.size()):
            self.scratch_words[k] |= held.get().words[k]
        self.set_bits(&held.get().ids)
        if outside != DEAD and held.get().exits.size():
            self.add_exits(number, outside, 0, NO_MAXIMUM)
        if held.get().triggers.size():
            self.add_triggers(instance, held.get())

    cdef bint splits(self, uint32_t rule, uint32_t outside) noexcept nogil:
        """Whether a byte that begins an iteration could also begin what follows the rule."""
        cdef uint32_t k, start = self.arena.automata.first[rule]
        cdef RowC* row = &self.arena.rows[self.arena.instances[outside].row]
        for k in range(4):
            if self.arena.automata.states[start].live[k] & row.live[k]:
                return True
        return False

    cdef void add_filtered(self, uint32_t instance, ItemC item, uint32_t outside) noexcept nogil:
        """A counted item: its triple, as far as the bounds leave room."""
        cdef uint32_t count = self.arena.value_of(instance, &item)
        cdef RuleC* rule = &self.arena.automata.ir.rules[self.arena.automata.states[item.state].rule]
        cdef uint32_t room = NO_MAXIMUM if rule.maximum == NO_MAXIMUM else rule.maximum - count
        cdef uint32_t least = rule.minimum - count if count < rule.minimum else 0
        cdef uint32_t number = self.triple(item.state, 0, True)
        cdef TriplePtr held = self.triples[number]
        cdef uint32_t needs = <uint32_t>held.get().need_ends.size()
        self.add_needs(held.get(), room)
        if outside != DEAD and held.get().exits.size():
            # counts beyond the most that one token can reach are all alike
            self.add_exits(number, outside, min(least, needs), min(room, needs))

    cdef void add_needs(self, TripleC* triple, uint32_t room) noexcept nogil:
        """The accepted tokens that begin at most ``room`` iterations."""
        cdef uint32_t k, fit
        if room + 1 >= triple.need_ends.size() or room == NO_MAXIMUM:
            for k in range(<uint32_t>triple.words.size()):
                self.scratch_words[k] |= triple.words[k]
            return
        fit = triple.need_ends[room]
        if fit < triple.ids.size() // 2:
            for k in range(fit):
                self.scratch_words[triple.ids[k] >> 5] |= (<uint32_t>1) << (triple.ids[k] & 31)
            return
        self.filtered_words = triple.words
        for k in range(fit, <uint32_t>triple.ids.size()):
            self.filtered_words[triple.ids[k] >> 5] &= ~((<uint32_t>1) << (triple.ids[k] & 31))
        for k in range(<uint32_t>self.filtered_words.size()):
            self.scratch_words[k] |= self.filtered_words[k]

    cdef void add_triggers(self, uint32_t instance, TripleC* triple) noexcept nogil:
        """Tokens in which a pattern completes: the real rows follow their bytes."""
        cdef uint32_t node
        self.scratch_ids.clear()
        for node in triple.triggers:
            self.try_exit(instance, 0, node, &self.scratch_ids)
        self.set_bits(&self.scratch_ids)

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

    cdef void add_exits(
        self, uint32_t number, uint32_t outside, uint32_t least, uint32_t most
    ) noexcept nogil:
        """The uncertain tokens of a triple that the rows outside take.

        Only exits with ``least`` to ``most`` iterations count. Where there is no such filter the
        tokens are remembered by (outside, triple), else they are found anew.
        """
        cdef uint64_t key = <uint64_t>outside << 32 | number
        cdef uint32_t found = MISSING, k
        cdef bint counted = most != NO_MAXIMUM
        cdef TriplePtr held = self.triples[number]
        cdef TripleC* t = held.get()
        if not counted:
            found = map_get(&self.exit_ids, key)
        if found == MISSING:
            self.scratch_ids.clear()
            for k in range(<uint32_t>t.exits.size() // 2):
                if not counted or least <= t.exit_counts[k] <= most:
                    self.try_exit(outside, t.exits[2 * k], t.exits[2 * k + 1], &self.scratch_ids)
            if self.arena.error != NO_ERROR:
                return
            if counted:
                self.set_bits(&self.scratch_ids)
                return
            found = <uint32_t>self.exit_tokens.size()
            map_put(&self.exit_ids, key, found)
            self.exit_tokens.push_back(self.scratch_ids)
        self.set_bits(&self.exit_tokens[found])

    cdef void try_exit(
        self, uint32_t outside, uint32_t x, uint32_t c, vector[uint32_t]* ids
    ) noexcept nogil:
        """The tokens at or below trie node c that ``outside`` takes from node x on.

        With c = x, only those below.
        """
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint8_t* text
        cdef uint32_t k
        if c != x:
            text = self.vocabulary.data.data() + self.vocabulary.offsets[self.vocabulary.order[nodes[c].first]]
            for k in range(nodes[x].depth, nodes[c].depth):
                outside = self.arena.step(outside, text[k])
                if outside == DEAD:
                    return
            self.visit(c, ids)
        self.walk(outside, c, ids)

    cdef void set_bits(self, vector[uint32_t]* ids) noexcept nogil:
        cdef uint32_t t
        for t in ids[0]:
            self.scratch_words[t >> 5] |= (<uint32_t>1) << (t & 31)

    # -- triples -----------------------------------------------------------------------------------
    cdef uint32_t triple(self, uint32_t state, uint32_t count, bint filtered) noexcept nogil:
        """The number of a state's triple: from this arena, from the table, or made."""
        cdef uint64_t local = <uint64_t>state << 33 | <uint64_t>filtered << 32 | count
        cdef uint32_t found = map_get(&self.triple_ids, local)
        cdef uint32_t rule = self.arena.automata.states[state].rule
        cdef TripleKeyC key
        cdef TriplePtr made
        cdef bint shared = self.table is not None and (
            self.digests[2 * rule] or self.digests[2 * rule + 1]
        )
        if found != MISSING:
            return found
        key.high, key.low = self.digests[2 * rule], self.digests[2 * rule + 1]
        key.state, key.count = state - self.arena.automata.first[rule], count
        # the digest of a rule that counts says nothing of its bounds
        if self.arena.automata.ir.rules[rule].counted and not filtered:
            shared = False
        if shared:
            made = self.table.find(key)
        if made.get() == NULL:
            made = self.maker.make(state, count, filtered)
            made.get().key = key
            if shared and self.arena.error == NO_ERROR:
                self.table.add(made, True)
        found = <uint32_t>self.triples.size()
        map_put(&self.triple_ids, local, found)
        self.triples.push_back(made)
        return found

    # -- walks over rows ---------------------------------------------------------------------------
    cdef void walk(self, uint32_t instance, uint32_t top, vector[uint32_t]* ids) noexcept nogil:
        """All tokens below node ``top`` that the instance takes; a rejected byte skips a subtree."""
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
            self.visit(node, ids)
            node += 1

    cdef void visit(self, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """Takes the tokens that end at a node."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t k
        for k in range(nodes[node].first, nodes[node + 1].first):
            ids.push_back(self.vocabulary.order[k])


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
