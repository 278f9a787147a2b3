"""Masks: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .automata cimport NO_ERROR, StateC
from .digests cimport DigestC, Digests, is_none
from .draft cimport FINAL_STATE
from .flat cimport DISPATCH_RULE, NO_MAXIMUM, RuleC
from .freetext cimport free_text_triple, plain_text_triple
from .hashing cimport MISSING, map_get, map_put
from .pool cimport vector
from .rows cimport DEAD, Arena, ItemC, RowC
from .rests cimport rest_of
from .triplemaker cimport HUB_BYTES, TripleMaker
from .triples cimport RestC, RestNodeC, RestPtr, TripleC, TripleKeyC, TriplePtr, TripleTable
from .vocabulary cimport TrieNode, Vocabulary

cdef uint32_t STOP = 2

# Accepted tokens past a bound that are followed one by one; if there are more, the item is walked.
cdef uint32_t CUT_TOKENS = 1024

# Subtrees of the token trie from this many nodes on go item by item. Below it a walk over rows costs
# less than looking up triples.
cdef uint32_t LARGE = 64

# The digest, twice this word, of the triple of plain text: no hash has it but by an accident of 2^-128.
cdef uint64_t PLAIN_TEXT = 0x0A0A0A0A0A0A0A0A


cdef class Masks:
    """The masks of one arena over one vocabulary."""

    def __cinit__(
        self, Arena arena, Vocabulary vocabulary, TripleTable table, Digests digests, *, bint keep,
        size_t max_bytes
    ):
        self.arena = arena
        self.vocabulary = vocabulary
        self.table = table
        self.maker = TripleMaker(arena.automata, vocabulary)
        self.keep = keep
        self.max_bytes = max_bytes
        self.held = 0
        self.made = self.reused = 0
        self.digests = digests
        self.walk_stack.resize(vocabulary.max_token_bytes + 2)
        self.rest_stack.resize(vocabulary.max_token_bytes + 2)

    cdef void fill(self, uint32_t instance, uint32_t* out) noexcept nogil:
        """Writes the mask of an instance, ``vocabulary.words`` words."""
        cdef uint32_t number
        instance = self.arena.instances[instance].rep
        number = map_get(&self.mask_ids, instance)
        if number != MISSING:
            self.reused += 1
            self.render(&self.kept[number], out)
            return
        self.compute(instance)
        self.render(&self.scratch, out)
        if self.keep and self.arena.error == NO_ERROR:
            self.remember(instance)

    cdef bint has(self, uint32_t instance) noexcept nogil:
        """Whether the mask of an instance is kept."""
        return map_get(&self.mask_ids, self.arena.instances[instance].rep) != MISSING

    cdef bint make_ahead(self, uint32_t instance) noexcept nogil:
        """Makes a mask to be kept; False if it is there."""
        instance = self.arena.instances[instance].rep
        if not self.keep or map_get(&self.mask_ids, instance) != MISSING:
            return False
        self.compute(instance)
        if self.arena.error == NO_ERROR:
            self.remember(instance)
        return True

    cdef void fill_stop(self, uint32_t* out) noexcept nogil:
        """The mask of a terminated matcher: stop tokens only."""
        cdef uint32_t t
        memset(out, 0, 4 * self.vocabulary.words)
        for t in self.vocabulary.stops:
            out[t >> 5] |= (<uint32_t>1) << (t & 31)

    cdef void render(self, MaskC* mask, uint32_t* out) noexcept nogil:
        cdef uint32_t k, words = self.vocabulary.words
        cdef bint filled = False
        cdef TripleC* triple
        if mask.words.size():
            memcpy(out, mask.words.data(), 4 * words)
            filled = True
        for k in mask.triples:
            triple = self.triples[k].get()
            if triple.words.size() == 0:
                continue
            if filled:
                or_words(out, triple.words.data(), words)
            else:
                memcpy(out, triple.words.data(), 4 * words)
                filled = True
        if not filled:
            memset(out, 0, 4 * words)
        for k in mask.triples:
            triple = self.triples[k].get()
            if triple.words.size() == 0:
                set_bits(out, triple.ids.data(), triple.ids.size())
        for k in mask.lists:
            set_bits(out, self.shared[k].data(), self.shared[k].size())
        set_bits(out, mask.ids.data(), mask.ids.size())

    cdef void compute(self, uint32_t instance) noexcept nogil:
        """The mask of a saturated instance, into ``scratch``."""
        cdef RowC row = self.arena.rows[self.arena.instances[instance].row]
        cdef uint32_t k
        cdef bint others = False
        cdef ItemC item
        self.made += 1
        self.scratch.triples.clear()
        self.scratch.lists.clear()
        self.scratch.ids.clear()
        self.scratch.words.clear()
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.arena.items[k]
            if self.arena.automata.states[item.state].n_tokens:
                self.add_tokens(instance, item.state)
            if self.has_triple(instance, &item):
                self.add_whole(instance, item)
            else:
                others = True
        if others:
            self.walk_others(instance, 0, &self.scratch.ids)
        if row.accept:
            self.scratch.ids.insert(
                self.scratch.ids.end(), self.vocabulary.stops.begin(), self.vocabulary.stops.end())

    cdef void remember(self, uint32_t instance) noexcept nogil:
        cdef size_t size
        if self.scratch.ids.size() > self.vocabulary.words:
            if self.scratch.words.size() == 0:
                self.scratch.words.assign(self.vocabulary.words, 0)
            set_bits(self.scratch.words.data(), self.scratch.ids.data(), self.scratch.ids.size())
            self.scratch.ids.clear()
        size = sizeof(MaskC) + 4 * (self.scratch.triples.size() + self.scratch.lists.size()
                                    + self.scratch.ids.size() + self.scratch.words.size())
        if self.held + size > self.max_bytes:
            self.mask_ids.keys.clear()
            self.mask_ids.used = 0
            self.kept.clear()
            self.list_ids.keys.clear()
            self.list_ids.used = 0
            self.shared.clear()
            self.held = 0
            return
        self.held += size
        map_put(&self.mask_ids, instance, <uint32_t>self.kept.size())
        self.kept.push_back(self.scratch)

    # -- items of tabled rules ---------------------------------------------------------------------
    cdef bint has_triple(self, uint32_t instance, ItemC* item) noexcept nogil:
        """Whether the item's bytes are left to its rule's triples."""
        cdef uint32_t rule = self.arena.automata.states[item.state].rule, outside
        cdef TriplePtr held
        if not self.arena.automata.tabled[rule]:
            return False
        if not self.arena.automata.ir.rules[rule].counted:
            return True
        outside = self.outside(instance, item)
        if outside == DEAD or not self.splits(rule, outside):
            return True
        held = self.triples[self.triple(item.state, 0)]
        return held.get().ids.size() <= fitting(held.get(), self.bounds(instance, item, held.get())) + CUT_TOKENS

    cdef bint splits(self, uint32_t rule, uint32_t outside) noexcept nogil:
        """Whether a byte that begins an iteration could also begin what follows the rule."""
        cdef uint32_t k
        cdef RowC* row = &self.arena.rows[self.arena.instances[outside].row]
        for k in range(4):
            if self.arena.automata.begins[4 * rule + k] & row.live[k]:
                return True
        return False

    cdef uint32_t outside(self, uint32_t instance, ItemC* item) noexcept nogil:
        """The instance that the item's completion leaves behind, DEAD if there is none."""
        return self.arena.completion(self.arena.origin_of(instance, item), item.goal)

    cdef BoundsC bounds(self, uint32_t instance, ItemC* item, TripleC* triple) noexcept nogil:
        """What is left of a counted item; counts beyond what one token can reach are all alike."""
        cdef BoundsC out
        cdef uint32_t count, reach = max(<uint32_t>triple.need_ends.size(), self.vocabulary.max_token_bytes + 1)
        cdef RuleC* rule = &self.arena.automata.ir.rules[self.arena.automata.states[item.state].rule]
        out.least, out.most, out.counted = 0, NO_MAXIMUM, False
        if rule.counted:
            count = self.arena.value_of(instance, item)
            out.counted = True
            out.least = min(rule.minimum - count, reach) if count < rule.minimum else 0
            if rule.maximum != NO_MAXIMUM:
                out.most = min(rule.maximum - count, reach)
        return out

    cdef uint32_t triple(self, uint32_t state, uint32_t node) noexcept nogil:
        """The number of a state's triple: from this arena, from the table, or made."""
        cdef uint64_t local = <uint64_t>state << 32 | node
        cdef uint32_t found = map_get(&self.triple_ids, local)
        cdef uint32_t rule = self.arena.automata.states[state].rule
        cdef bint filtered = self.arena.automata.ir.rules[rule].counted
        cdef TripleKeyC key
        cdef TriplePtr made
        cdef DigestC digest
        cdef bint shared
        if found != MISSING:
            return found
        digest.high = digest.low = 0
        if self.table is not None:
            digest = self.digests.rule(rule)
        shared = not is_none(digest)
        key.high, key.low = digest.high, digest.low
        key.state, key.node = state - self.arena.automata.first[rule], node
        if shared:
            made = self.table.find(key)
        if made.get() == NULL:
            made = self.make(state, node, rule, filtered)
            made.get().key = key
            if shared:
                self.table.add(made, True)
        found = <uint32_t>self.triples.size()
        map_put(&self.triple_ids, local, found)
        self.triples.push_back(made)
        return found

    cdef TriplePtr make(
        self, uint32_t state, uint32_t node, uint32_t rule, bint filtered
    ) noexcept nogil:
        cdef uint32_t hub = 0
        cdef TriplePtr made
        if node == 0 and state == self.arena.automata.first[rule] and (
                self.arena.automata.ir.rules[rule].kind == DISPATCH_RULE and not filtered):
            made = self.plain_text()
            return free_text_triple(self.arena.automata, state, self.vocabulary, made.get())
        if not filtered and self.vocabulary.nodes[node].end - node > LARGE and not self.maker.is_mostly_safe(state):
            hub = self.maker.hub(rule)
        if hub and hub != state and self.maker.width(state) >= HUB_BYTES:
            made = self.maker.make_like(state, hub, node, self.triples[self.triple(hub, node)].get())
        if made.get() == NULL:
            made = self.maker.make(state, node, filtered)
        return made

    cdef TriplePtr plain_text(self) noexcept nogil:
        """The triple of plain text, shared by all grammars."""
        cdef TripleKeyC key
        cdef TriplePtr made
        key.high = key.low = PLAIN_TEXT
        key.state = key.node = 0
        if self.table is not None:
            made = self.table.find(key)
        if made.get() == NULL:
            made = plain_text_triple(self.vocabulary)
            made.get().key = key
            if self.table is not None:
                self.table.add(made, False)
        return made

    cdef void add_whole(self, uint32_t instance, ItemC item) noexcept nogil:
        """An item's tokens, into ``scratch``."""
        cdef uint32_t like = self.arena.automata.states[item.state].like, taken
        cdef uint32_t number = self.triple(like or item.state, 0), outside = self.outside(instance, &item)
        cdef TriplePtr held = self.triples[number]
        cdef BoundsC bounds = self.bounds(instance, &item, held.get())
        if bounds.counted:
            self.add_fitting(held.get(), bounds)
            self.add_cut(instance, item, 0, held.get(), bounds, &self.scratch.ids)
        else:
            self.scratch.triples.push_back(number)
        self.list_closed(item.state, 0)
        if outside != DEAD and held.get().exits.size():
            if bounds.counted or self.closed.size():
                self.add_exits(held.get(), outside, bounds, &self.scratch.ids)
            else:
                taken = self.exits_taken(number, outside)
                if self.shared[taken].size():
                    self.scratch.lists.push_back(taken)
        self.add_triggers(instance, 0, held.get(), &self.scratch.ids)

    cdef void add_fitting(self, TripleC* triple, BoundsC bounds) noexcept nogil:
        """The accepted tokens that begin at most ``bounds.most`` iterations."""
        cdef uint32_t k, fit = fitting(triple, bounds)
        cdef vector[uint32_t] words
        if fit < self.vocabulary.words:
            self.scratch.ids.insert(self.scratch.ids.end(), triple.ids.begin(), triple.ids.begin() + fit)
            return
        if self.scratch.words.size() == 0:
            self.scratch.words.assign(self.vocabulary.words, 0)
        if fit < triple.ids.size() // 2:
            set_bits(self.scratch.words.data(), triple.ids.data(), fit)
            return
        words = triple.words
        for k in range(fit, <uint32_t>triple.ids.size()):
            words[triple.ids[k] >> 5] &= ~((<uint32_t>1) << (triple.ids[k] & 31))
        or_words(self.scratch.words.data(), words.data(), self.vocabulary.words)

    cdef void add_cut(
        self, uint32_t instance, ItemC item, uint32_t top, TripleC* triple, BoundsC bounds, vector[uint32_t]* ids
    ) noexcept nogil:
        """Of the accepted tokens that don't fit, those that the rows take from ``top`` on: where a byte may
        begin an iteration or what follows, the rule may end inside them.
        """
        cdef uint32_t k, j, at, outside = self.outside(instance, &item), fit = fitting(triple, bounds)
        cdef uint32_t rule = self.arena.automata.states[item.state].rule
        cdef uint32_t depth = self.vocabulary.nodes[top].depth
        if fit == triple.ids.size() or outside == DEAD or not self.splits(rule, outside):
            return
        for k in range(fit, <uint32_t>triple.ids.size()):
            at = instance
            for j in range(self.vocabulary.offsets[triple.ids[k]] + depth, self.vocabulary.offsets[triple.ids[k] + 1]):
                at = self.arena.step(at, self.vocabulary.data[j])
                if at == DEAD:
                    break
            if at != DEAD:
                ids.push_back(triple.ids[k])

    cdef void add_below(
        self, uint32_t instance, ItemC item, uint32_t node, vector[uint32_t]* ids
    ) noexcept nogil:
        """An item's tokens below a node, as ids."""
        cdef uint32_t like = self.arena.automata.states[item.state].like, fit
        cdef uint32_t number = self.triple(like or item.state, node), outside = self.outside(instance, &item)
        cdef TriplePtr held = self.triples[number]
        cdef BoundsC bounds = self.bounds(instance, &item, held.get())
        fit = fitting(held.get(), bounds)
        ids.insert(ids.end(), held.get().ids.begin(), held.get().ids.begin() + fit)
        if bounds.counted:
            self.add_cut(instance, item, node, held.get(), bounds, ids)
        else:
            list_bits(&held.get().words, ids)
        self.list_closed(item.state, node)
        if outside != DEAD and held.get().exits.size():
            self.add_exits(held.get(), outside, bounds, ids)
        self.add_triggers(instance, node, held.get(), ids)

    cdef uint32_t exits_taken(self, uint32_t number, uint32_t outside) noexcept nogil:
        """The uncertain tokens of a triple that the rows outside take: an index into ``shared``."""
        cdef uint64_t key = <uint64_t>outside << 32 | number
        cdef uint32_t found = map_get(&self.list_ids, key)
        cdef vector[uint32_t] ids
        cdef BoundsC bounds
        cdef TriplePtr held = self.triples[number]
        if found != MISSING:
            return found
        bounds.least, bounds.most, bounds.counted = 0, NO_MAXIMUM, False
        self.add_exits(held.get(), outside, bounds, &ids)
        found = <uint32_t>self.shared.size()
        if self.arena.error == NO_ERROR:
            map_put(&self.list_ids, key, found)
        self.held += 4 * ids.size()
        self.shared.push_back(ids)
        return found

    cdef void add_exits(
        self, TripleC* triple, uint32_t outside, BoundsC bounds, vector[uint32_t]* ids
    ) noexcept nogil:
        """The tokens below exits that the rows outside take from there on; not those in ``closed``."""
        cdef RowC row = self.arena.rows[self.arena.instances[outside].row]
        cdef uint32_t g, k, instance
        cdef vector[uint32_t] closed = self.closed
        cdef RestPtr rest
        self.closed.clear()
        for g in range(<uint32_t>triple.groups.size()):
            k = triple.groups[g].byte
            if not (row.live[k >> 6] >> (k & 63)) & 1:
                continue
            instance = self.arena.step(outside, <uint8_t>k)
            if instance == DEAD:
                continue
            rest = rest_of(triple, g, self.vocabulary, self.table)
            if rest.get() != NULL:
                self.add_rest(rest.get(), instance, bounds, &closed, ids)
                for k in rest.get().large:
                    self.add_exit(triple, k, instance, bounds, &closed, ids)
                continue
            for k in range(triple.groups[g].start, triple.groups[g].end):
                self.add_exit(triple, k, instance, bounds, &closed, ids)

    cdef void add_exit(
        self, TripleC* triple, uint32_t number, uint32_t instance, BoundsC bounds,
        vector[uint32_t]* closed, vector[uint32_t]* ids
    ) noexcept nogil:
        """The tokens below one exit; ``instance`` stands behind the byte of its group."""
        if bounds.counted and not bounds.least <= triple.exit_counts[number] <= bounds.most:
            return
        if contains(closed, triple.exits[2 * number]):
            return
        self.visit(triple.exits[2 * number + 1], ids)
        self.go_on(instance, triple.exits[2 * number + 1], ids)

    cdef void add_rest(
        self, RestC* rest, uint32_t instance, BoundsC bounds, vector[uint32_t]* closed,
        vector[uint32_t]* ids
    ) noexcept nogil:
        """The tokens of a trie of rests; ``instance`` stands behind the byte of its group."""
        cdef RestNodeC* nodes = rest.nodes.data()
        cdef uint32_t* stack = self.rest_stack.data()
        cdef uint32_t node = 0, k, t, x
        while node + 1 < rest.nodes.size():
            if node:
                instance = self.arena.step(stack[nodes[node].depth - 1], nodes[node].byte)
            if instance == DEAD:
                node = nodes[node].end
                continue
            stack[nodes[node].depth] = instance
            for k in range(nodes[node].first, nodes[node + 1].first):
                t = rest.tokens[k]
                if bounds.counted and not bounds.least <= rest.counts[k] <= bounds.most:
                    continue
                if closed.size():
                    x = self.vocabulary.offsets[t + 1] - self.vocabulary.offsets[t] - nodes[node].depth
                    if self.is_below(t, x, closed):
                        continue
                ids.push_back(t)
            node += 1

    cdef bint is_below(
        self, uint32_t token, uint32_t depth, vector[uint32_t]* closed
    ) noexcept nogil:
        """Whether the token passes through one of these nodes at a depth."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t node, rank
        for node in closed[0]:
            if nodes[node].depth != depth:
                continue
            for rank in range(nodes[node].first, nodes[nodes[node].end].first):
                if self.vocabulary.order[rank] == token:
                    return True
        return False

    cdef void list_closed(self, uint32_t state, uint32_t top) noexcept nogil:
        """Fills ``closed``: the nodes below ``top`` where the state it is like could end, and this can't."""
        cdef StateC* s = &self.arena.automata.states[state]
        cdef vector[uint32_t] states, at
        cdef uint32_t node, e, target
        self.closed.clear()
        if s.like == 0:
            return
        states.push_back(state)
        at.push_back(top)
        while at.size():
            self.arena.automata.visit(states.back())
            s = &self.arena.automata.states[states.back()]
            top = at.back()
            states.pop_back()
            at.pop_back()
            for e in range(s.byte_off, s.byte_off + s.n_bytes):
                node = self.vocabulary.child(top, self.arena.automata.byte_edges[e].low)
                if node == 0:
                    continue
                target = self.arena.automata.byte_edges[e].target
                states.push_back(target)
                at.push_back(node)
                if not self.arena.automata.states[target].flags & FINAL_STATE and (
                        self.arena.automata.states[self.arena.automata.states[target].like].flags & FINAL_STATE):
                    self.closed.push_back(node)

    cdef void add_triggers(
        self, uint32_t instance, uint32_t top, TripleC* triple, vector[uint32_t]* ids
    ) noexcept nogil:
        """Tokens in which a pattern completes: the rows follow their bytes from ``top`` on."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint8_t* text
        cdef uint32_t k, node, at
        for node in triple.triggers:
            at = instance
            text = self.vocabulary.data.data() + self.vocabulary.offsets[self.vocabulary.order[nodes[node].first]]
            for k in range(nodes[top].depth, nodes[node].depth):
                at = self.arena.step(at, text[k])
                if at == DEAD:
                    break
            if at != DEAD:
                self.go_on(at, node, ids)

    # -- everything else ---------------------------------------------------------------------------
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
                self.scratch.ids.push_back(t)

    cdef void below(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """The tokens below a node that an instance takes, item by item."""
        cdef RowC row = self.arena.rows[self.arena.instances[instance].row]
        cdef uint32_t k
        cdef bint others = False
        cdef ItemC item
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.arena.items[k]
            if self.has_triple(instance, &item):
                self.add_below(instance, item, node, ids)
            else:
                others = True
        if others:
            self.walk_others(instance, node, ids)

    cdef void walk_others(
        self, uint32_t instance, uint32_t node, vector[uint32_t]* ids
    ) noexcept nogil:
        """The tokens below a node that begin with a byte taken by an item without triples."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef RowC row = self.arena.rows[self.arena.instances[instance].row]
        cdef uint32_t child = node + 1, end = nodes[node].end, k, j
        cdef uint64_t live[4]
        cdef ItemC item
        for k in range(4):
            live[k] = 0
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.arena.items[k]
            if not self.has_triple(instance, &item):
                for j in range(4):
                    live[j] |= self.arena.automata.states[item.state].live[j]
        if node == 0:
            for k in range(256):
                child = self.vocabulary.first_nodes[k]
                if child and (live[k >> 6] >> (k & 63)) & 1:
                    self.enter(instance, child, ids)
            return
        while child < end:
            if (live[nodes[child].byte >> 6] >> (nodes[child].byte & 63)) & 1:
                self.enter(instance, child, ids)
            child = nodes[child].end

    cdef void enter(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """The tokens at and below a node, over its byte from the instance above."""
        instance = self.arena.step(instance, self.vocabulary.nodes[node].byte)
        if instance != DEAD:
            self.visit(node, ids)
            self.go_on(instance, node, ids)

    cdef void go_on(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """The tokens below a node that an instance takes, the cheaper way."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        if nodes[node].end == node + 1:
            return
        if nodes[node].end - node > LARGE and self.arena.rows[self.arena.instances[instance].row].has_tabled:
            self.below(instance, node, ids)
        else:
            self.walk(instance, node, ids)

    cdef void walk(self, uint32_t instance, uint32_t top, vector[uint32_t]* ids) noexcept nogil:
        """As ``go_on``, over rows; a rejected byte skips a subtree."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* stack = self.walk_stack.data()
        cdef uint32_t node = top + 1, end = nodes[top].end
        stack[nodes[top].depth] = instance
        while node < end:
            instance = self.arena.step(stack[nodes[node].depth - 1], nodes[node].byte)
            if instance == DEAD:
                node = nodes[node].end
                continue
            self.visit(node, ids)
            if nodes[node].end - node > LARGE:
                self.go_on(instance, node, ids)
                node = nodes[node].end
                continue
            stack[nodes[node].depth] = instance
            node += 1

    cdef void visit(self, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """Takes the tokens that end at a node."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t k
        for k in range(nodes[node].first, nodes[node + 1].first):
            ids.push_back(self.vocabulary.order[k])


cdef uint32_t fitting(TripleC* triple, BoundsC bounds) noexcept nogil:
    """How many of a triple's ids begin at most ``bounds.most`` iterations; all of an uncounted one."""
    if bounds.counted and <size_t>bounds.most + 1 < triple.need_ends.size():
        return triple.need_ends[bounds.most]
    return <uint32_t>triple.ids.size()


cdef bint contains(vector[uint32_t]* values, uint32_t value) noexcept nogil:
    cdef uint32_t k
    for k in values[0]:
        if k == value:
            return True
    return False


cdef void or_words(uint32_t* out, const uint32_t* words, uint32_t n) noexcept nogil:
    cdef uint32_t k
    for k in range(n):
        out[k] |= words[k]


cdef void set_bits(uint32_t* out, const uint32_t* ids, size_t n) noexcept nogil:
    cdef size_t k
    for k in range(n):
        out[ids[k] >> 5] |= (<uint32_t>1) << (ids[k] & 31)


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
