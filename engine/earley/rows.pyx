"""The arena: transitions, construction of rows by prediction and completion, and registers."""

from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp
from libcpp.algorithm cimport lower_bound, sort

from ..automata.determinize cimport FINAL_STATE, LOOP_STATE, SymbolEdgeC
from ..automata.rule_automata cimport (
    BYTES_EXCEEDED, MASK_ITEMS_EXCEEDED, NO_ERROR, ROWS_EXCEEDED, ROW_ITEMS_EXCEEDED, WORK_EXCEEDED, Automata,
    StateC,
)
from ..grammar.ir cimport NO_MAXIMUM
from ..grammar.lowered cimport CHARACTER_BYTES, RuleC, iterations, tokens, tokens_left
from ..native.hashing cimport MISSING, U64MapC, hash_words, map_bytes, map_clear, map_get, map_put, mix
from ..native.pool cimport held_bytes, vector
from ..native.resources cimport WorkBudget, spend, spent
from ..native.word_table cimport WordTableC, table_bytes, table_number


# More items of a row under construction are looked up in a table; nearly all rows have fewer.
cdef uint32_t FEW = 32


cdef bint seed_before(const SeedC& a, const SeedC& b) noexcept nogil:
    if a.state != b.state:
        return a.state < b.state
    if a.goal != b.goal:
        return a.goal < b.goal
    if a.origin != b.origin:
        return a.origin < b.origin
    return a.value < b.value


cdef inline uint64_t seed_key(SeedC* seed, bint any_value) noexcept nogil:
    return mix(mix(<uint64_t>seed.state << 32 | seed.goal)
               ^ (<uint64_t>seed.origin << 32 | (NO_MAXIMUM if any_value else seed.value))) | 1


cdef inline uint64_t item_key(ItemC* item) noexcept nogil:
    return mix(mix(<uint64_t>item.state << 32 | item.goal)
               ^ (<uint64_t>item.origin << 32 | <uint32_t>item.ordinal << 16 | item.slot) ^ item.flags) | 1


cdef inline bint are_equal(ItemC* a, ItemC* b) noexcept nogil:
    """Return whether two items of a row under construction are equal."""
    return (a.state == b.state and a.goal == b.goal and a.origin == b.origin
            and a.ordinal == b.ordinal and a.flags == b.flags and a.slot == b.slot)


cdef bint waiter_before(const WaiterC& a, const WaiterC& b) noexcept nogil:
    return a.rule < b.rule if a.rule != b.rule else a.item < b.item


cdef bint allows(RuleC* rule, uint32_t less, uint32_t more) noexcept nogil:
    """Return whether a count allows at least as much as another one, if there is no minimum."""
    return iterations(rule, less) <= iterations(rule, more) and tokens(rule, less) <= tokens(rule, more)


# Work units: an item met takes about a microsecond, a cached step over a byte a thirtieth of it.
cdef uint32_t STEP_WORK = 1
cdef uint32_t ITEM_WORK = 32
# a predicted item; each reference is another unit
cdef uint32_t PREDICTION_WORK = 4

# The bytes of a generation are summed once for this many new configurations. A sum takes about a
# sixth of the time of one configuration.
cdef size_t CHECKED_CONFIGURATIONS = 16


cdef class Arena:
    """All rows, register sets and configurations of one generation of one grammar."""

    cdef int open(
        self, Automata automata, bint tail_references, uint32_t item_limit, uint32_t row_limit,
        size_t byte_limit, uint32_t mask_items, WorkBudget budget
    ) except -1:
        """Initialise the object and its first row, which ``budget`` pays for; no other way."""
        cdef uint32_t start
        self.automata = automata
        self.tail_references = tail_references
        self.item_limit = item_limit
        self.row_limit = row_limit
        self.byte_limit = byte_limit
        self.mask_items = mask_items
        self.counts_work = False
        self.error = NO_ERROR
        self.error_got = 0
        self.rows.resize(2)
        self.configurations.resize(2)
        self.configurations[BOTTOM].row = 1
        self.configurations[BOTTOM].registers = 0
        self.configurations[BOTTOM].saturated = BOTTOM
        self.row_table.assign(16, 0)
        table_number(&self.register_sets, NULL, 0)
        self.predicted_at.assign(automata.ir.rules.size(), 0)
        self.build_number = 0
        self.ended_unique = self.blocks_unique = False
        self.charge(budget)
        with nogil:
            self.begin()
            start = automata.start(automata.ir.root)
            if start == 0:
                self.fail(automata.error, automata.error_got)
            else:
                self.seed(start, automata.ir.root, BOTTOM, 0)
            self.root = self.finish()
        return self.settle(self.error)

    cdef void charge(self, WorkBudget budget) noexcept:
        """Let a budget pay for automata and items, and end all work once it is cancelled, until ``settle``.
        None: all of them are free.
        """
        self.automata.budget = budget
        if budget is not None:
            self.count_work(<uint32_t>min(max(<int64_t>0, budget.limit - spent(budget)), <int64_t>0xFFFFFFFE))
            # a part of an item counts as nothing
            self.most_work += ITEM_WORK - 1

    cdef int settle(self, uint32_t error) except -1:
        """Spend the steps of ``charge``. ``error``: that ended the work, or NO_ERROR.

        Raises:
            LimitExceeded: ``compile_steps``.
            Cancelled: the budget was cancelled.
        """
        cdef WorkBudget budget = self.automata.budget
        if budget is None:
            return 0
        self.automata.budget = None
        if error == MASK_ITEMS_EXCEEDED or error == WORK_EXCEEDED:
            # of this budget, or it was cancelled
            self.take_error()
            spend(budget, self.stop_counting() + 1)
            return budget.pause()
        return spend(budget, self.stop_counting())

    cdef size_t bytes_held(self) noexcept nogil:
        """Return the bytes held by the arena and its automata."""
        return (
            held_bytes(self.rows) + held_bytes(self.items) + held_bytes(self.waiters)
            + held_bytes(self.row_keys) + held_bytes(self.row_table) + held_bytes(self.configurations)
            + map_bytes(&self.configuration_ids) + table_bytes(&self.register_sets)
            + map_bytes(&self.byte_memo) + map_bytes(&self.blocked_memo)
            + map_bytes(&self.token_memo) + map_bytes(&self.completion_memo) + map_bytes(&self.end_memo)
            + map_bytes(&self.text_memo) + held_bytes(self.seeds) + held_bytes(self.completed)
            + map_bytes(&self.seed_places) + map_bytes(&self.completed_places)
            + map_bytes(&self.item_places) + held_bytes(self.key) + held_bytes(self.registers)
            + held_bytes(self.predicted_at) + held_bytes(self.seen_at) + self.automata.bytes_held())

    # -- questions ---------------------------------------------------------------------------------
    cdef bint accepts(self, uint32_t configuration) noexcept nogil:
        return self.rows[self.configurations[configuration].row].accept

    cdef uint32_t origin_of(self, uint32_t configuration, ItemC* item) noexcept nogil:
        if item.flags & ITEM_SELF:
            return configuration
        if item.flags & ITEM_PARENT:
            return self.register_sets.words[
                self.register_sets.off[self.configurations[configuration].registers]
                + self.rows[self.configurations[configuration].row].n_slots + item.ordinal]
        return item.origin

    cdef uint32_t value_of(self, uint32_t configuration, ItemC* item) noexcept nogil:
        if item.slot == NO_SLOT:
            return 0
        return self.register_sets.words[
            self.register_sets.off[self.configurations[configuration].registers] + item.slot]

    cdef bint is_counted_state(self, uint32_t state) noexcept nogil:
        return self.automata.ir.rules[self.automata.states[state].rule].counted

    # -- transitions -------------------------------------------------------------------------------
    cdef uint32_t step(self, uint32_t configuration, uint8_t byte) noexcept nogil:
        """Return the configuration after one more byte, DEAD if there is none."""
        return self.step_unique(configuration, byte) & CONFIGURATION

    cdef uint32_t step_unique(self, uint32_t configuration, uint8_t byte) noexcept nogil:
        """Like ``step``, with the flag ENDS_UNIQUE if a rule with unique words was completed."""
        cdef RowC* row = &self.rows[self.configurations[configuration].row]
        cdef uint64_t key = <uint64_t>configuration << 8 | byte
        cdef uint32_t target
        if not (row.live[byte >> 6] >> (byte & 63)) & 1:
            return DEAD
        if self.counts_work and not self.may_work(STEP_WORK):
            return DEAD
        target = map_get(&self.byte_memo, key)
        if target != MISSING:
            return target
        self.ended_unique = False
        target = self.scan(configuration, byte)
        if self.ended_unique and target != DEAD:
            target |= ENDS_UNIQUE
        return self.keep(&self.byte_memo, key, target)

    cdef uint32_t step_blocked(self, uint32_t configuration, uint8_t byte) noexcept nogil:
        """Return the configuration after one more byte if no unique word may end there."""
        cdef uint64_t key = <uint64_t>configuration << 8 | byte
        cdef uint32_t target = map_get(&self.blocked_memo, key)
        if target != MISSING:
            return target
        self.blocks_unique = True
        target = self.scan(configuration, byte)
        self.blocks_unique = False
        return self.keep(&self.blocked_memo, key, target)

    cdef uint32_t scan(self, uint32_t configuration, uint8_t byte) noexcept nogil:
        """Follow the edges of all items."""
        cdef RowC* row = &self.rows[self.configurations[configuration].row]
        cdef uint32_t k, e
        cdef ItemC item
        cdef StateC* state
        self.begin()
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.items[k]
            state = &self.automata.states[item.state]
            if not (state.live[byte >> 6] >> (byte & 63)) & 1:
                continue
            if state.like:
                state = &self.automata.states[self.automata.edges_of(item.state, byte)]
            for e in range(state.byte_off, state.byte_off + state.n_bytes):
                if self.automata.byte_edges[e].low <= byte <= self.automata.byte_edges[e].high:
                    self.advance(self.automata.byte_edges[e].target, item.goal,
                                 self.origin_of(configuration, &item), self.value_of(configuration, &item))
        return self.finish()

    cdef uint32_t step_token(self, uint32_t configuration, uint32_t token) noexcept nogil:
        """Return the configuration after a token edge that takes ``token``, DEAD if there is none.
        """
        cdef RowC* row = &self.rows[self.configurations[configuration].row]
        cdef uint64_t key = <uint64_t>configuration << 32 | token
        cdef uint32_t k, e, target
        cdef ItemC item
        cdef StateC* state
        if not row.has_tokens:
            return DEAD
        target = map_get(&self.token_memo, key)
        if target != MISSING:
            return target
        self.begin()
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.items[k]
            state = &self.automata.states[item.state]
            for e in range(state.token_off, state.token_off + state.n_tokens):
                if self.automata.ir.has_token(self.automata.token_edges[e].symbol, token):
                    self.advance(self.automata.token_edges[e].target, item.goal,
                                 self.origin_of(configuration, &item), self.value_of(configuration, &item))
        return self.keep(&self.token_memo, key, self.finish())

    cdef uint32_t end_token(self, uint32_t configuration) noexcept nogil:
        """Return the configuration after the end of a token, which counts in texts with a bound on
        tokens.

        DEAD if such a text stops within a character, with too few tokens left for the rest of it.
        """
        cdef RowC* row = &self.rows[self.configurations[configuration].row]
        cdef uint32_t k, target, value
        cdef ItemC item
        cdef RuleC* rule
        if not row.counts_tokens:
            return configuration
        target = map_get(&self.end_memo, configuration)
        if target != MISSING:
            return target
        self.begin()
        self.accept = row.accept
        for k in range(row.item_off, row.item_off + row.n_kernel):
            item = self.items[k]
            rule = &self.automata.ir.rules[self.automata.states[item.state].rule]
            value = self.value_of(configuration, &item) + rule.unit
            # the items after the end of the text are present already
            if tokens_left(rule, value) >= max(<uint32_t>1, <uint32_t>self.automata.states[item.state].missing):
                self.seed(item.state, item.goal, self.origin_of(configuration, &item), value)
        return self.keep(&self.end_memo, configuration, self.intern())

    cdef bint may_end_token(self, uint32_t configuration) noexcept nogil:
        """Return whether a token may end here."""
        if not self.rows[self.configurations[configuration].row].may_not_end:
            return True
        return self.end_token(configuration) != DEAD

    cdef uint32_t completion(self, uint32_t origin, uint32_t goal) noexcept nogil:
        """Return the configuration that an item with this goal and origin leaves when it is
        completed.

        DEAD at BOTTOM.
        """
        cdef uint64_t key = <uint64_t>origin << 32 | goal
        cdef uint32_t target
        if origin == BOTTOM:
            return DEAD
        target = map_get(&self.completion_memo, key)
        if target != MISSING:
            return target
        self.begin()
        self.complete(goal, origin)
        return self.keep(&self.completion_memo, key, self.finish())

    cdef uint32_t merge(self, uint32_t a, uint32_t b) noexcept nogil:
        """Return the union of two configurations: a token may match both as bytes and by its id."""
        if a == DEAD or b == DEAD:
            return a | b
        self.begin()
        self.seed_kernel(a)
        self.seed_kernel(b)
        return self.finish()

    cdef uint32_t merge_all(self, vector[uint32_t]* configurations) noexcept nogil:
        """Return the union of several configurations."""
        cdef uint32_t k
        if configurations.size() == 0:
            return DEAD
        if configurations.size() == 1:
            return configurations[0][0]
        self.begin()
        for k in configurations[0]:
            self.seed_kernel(k)
        return self.finish()

    cdef void seed_kernel(self, uint32_t configuration) noexcept nogil:
        cdef RowC row = self.rows[self.configurations[configuration].row]
        cdef uint32_t k
        cdef ItemC item
        self.accept = self.accept or row.accept
        for k in range(row.item_off, row.item_off + row.n_kernel):
            item = self.items[k]
            self.seed(item.state, item.goal, self.origin_of(configuration, &item), self.value_of(configuration, &item))

    # -- making a row ------------------------------------------------------------------------------
    cdef void begin(self) noexcept nogil:
        self.seeds.clear()
        self.completed.clear()
        map_clear(&self.seed_places)
        map_clear(&self.completed_places)
        self.accept = False

    cdef void seed(self, uint32_t state, uint32_t goal, uint32_t origin, uint32_t value) noexcept nogil:
        """Add an item unless it is present.

        Without a minimum, a smaller count allows all that a larger one does.
        """
        cdef SeedC fresh = SeedC(state, goal, origin, value)
        if self.counts_work and not self.may_work(ITEM_WORK):
            return
        self.automata.visit(state)
        if self.is_seeded(&fresh, &self.automata.ir.rules[self.automata.states[state].rule]):
            return
        if self.seeds.size() >= self.item_limit:
            self.fail(ROW_ITEMS_EXCEEDED, <uint32_t>self.seeds.size() + 1)
            return
        self.seeds.push_back(fresh)

    cdef bint is_seeded(self, SeedC* seed, RuleC* rule) noexcept nogil:
        """Return whether the item is present. Beyond a few, items are looked up: by all fields or,
        where a smaller count allows more, by all except the count, with the smallest count.
        """
        cdef SeedC* other
        cdef uint32_t k, n = <uint32_t>self.seeds.size(), index
        # combined counts of iterations and tokens have no order
        cdef bint any_value, ordered = rule.minimum == 0 and rule.unit == 0
        if n <= FEW:
            for k in range(n):
                other = &self.seeds[k]
                if other.state == seed.state and other.origin == seed.origin and other.goal == seed.goal:
                    if other.value == seed.value or (rule.minimum == 0 and allows(rule, other.value, seed.value)):
                        return True
            return False
        if self.seed_places.used == 0:
            for k in range(n):
                other = &self.seeds[k]
                rule = &self.automata.ir.rules[self.automata.states[other.state].rule]
                any_value = rule.minimum == 0 and rule.unit == 0
                map_put(&self.seed_places, seed_key(other, any_value), k)
        index = map_get(&self.seed_places, seed_key(seed, ordered))
        if index != MISSING:
            other = &self.seeds[index]
            if other.state == seed.state and other.origin == seed.origin and other.goal == seed.goal:
                if other.value == seed.value or (ordered and other.value < seed.value):
                    return True
            # after a hash collision both items stay in the row, which is only larger
        map_put(&self.seed_places, seed_key(seed, ordered), n)
        return False

    cdef void fail(self, uint32_t error, uint32_t got) noexcept nogil:
        if self.error == NO_ERROR:
            self.error, self.error_got = error, got

    cdef void count_work(self, uint32_t most_items) noexcept nogil:
        """Limit the items that may be met until ``stop_counting``."""
        self.counts_work = True
        self.work, self.automata.work, self.most_work = 0, 0, <uint64_t>most_items * ITEM_WORK

    cdef uint32_t stop_counting(self) noexcept nogil:
        """Return how many items were met."""
        self.counts_work = False
        return <uint32_t>min((self.work + self.automata.work) // ITEM_WORK, <uint64_t>0xFFFFFFFF)

    cdef bint may_work(self, uint32_t work) noexcept nogil:
        """Count work. False after a limit, so that all work in progress ends."""
        self.work += work
        if self.error != NO_ERROR:
            return False
        if self.work + self.automata.work <= self.most_work and not self.is_cancelled():
            return True
        self.fail(MASK_ITEMS_EXCEEDED, <uint32_t>min(self.most_work // ITEM_WORK + 1, <uint64_t>0xFFFFFFFF))
        return False

    cdef bint is_cancelled(self) noexcept nogil:
        return self.automata.budget is not None and self.automata.budget.cancelled

    cdef uint32_t keep(self, U64MapC* memo, uint64_t key, uint32_t result) noexcept nogil:
        """Cache a result unless an error cut it short, so that other callers do not meet the error."""
        if self.error == NO_ERROR:
            map_put(memo, key, result)
        return result

    cdef uint32_t take_error(self) noexcept nogil:
        """Return and clear the error of this call. Callers do so before they release the mutex."""
        cdef uint32_t error = self.error
        self.error = self.automata.error = NO_ERROR
        return error

    cdef void advance(self, uint32_t target, uint32_t goal, uint32_t origin, uint32_t value) noexcept nogil:
        """Follow an edge. An edge into a LOOP state counts an iteration, if the bound allows one.
        """
        cdef RuleC* rule
        if self.automata.states[target].flags & LOOP_STATE:
            rule = &self.automata.ir.rules[self.automata.states[target].rule]
            if iterations(rule, value) == rule.maximum:
                return
            if rule.maximum != NO_MAXIMUM or value < rule.minimum:
                value += 1
        self.seed(target, goal, origin, value)

    cdef bint may_end(self, StateC* state, uint32_t value) noexcept nogil:
        cdef RuleC* rule = &self.automata.ir.rules[state.rule]
        return state.flags & FINAL_STATE and iterations(rule, value) >= rule.minimum

    cdef bint may_go_on(self, StateC* state, uint32_t value) noexcept nogil:
        """Return whether the bounds leave a way to an end."""
        cdef RuleC* rule = &self.automata.ir.rules[state.rule]
        return state.onward == 0 or <uint64_t>iterations(rule, value) + state.onward <= rule.maximum

    cdef void close_seed(self, SeedC seed) noexcept nogil:
        """Add completions, empty moves and nullable references of one item."""
        cdef StateC state = self.automata.states[seed.state]
        cdef StateC* s = &state
        cdef uint32_t k
        if self.may_end(s, seed.value):
            self.complete(seed.goal, seed.origin)
        if not self.may_go_on(s, seed.value):
            return
        for k in range(s.empty_off, s.empty_off + s.n_empty):
            self.advance(self.automata.empty_edges[k], seed.goal, seed.origin, seed.value)
        for k in range(s.ref_off, s.ref_off + s.n_refs):
            if self.automata.ir.rules[self.automata.ref_edges[k].symbol].nullable:
                self.advance(self.automata.ref_edges[k].target, seed.goal, seed.origin, seed.value)

    cdef void complete(self, uint32_t goal, uint32_t origin) noexcept nogil:
        """Advance the items of the origin that wait for the goal; each pair once."""
        cdef uint64_t key = <uint64_t>origin << 32 | goal
        cdef WaiterC* waiter
        cdef WaiterC* end
        cdef RowC* row
        cdef ItemC item
        if self.automata.ir.rules[goal].differs:
            self.ended_unique = True
            if self.blocks_unique:
                return
        if self.is_completed(key):
            return
        self.completed.push_back(key)
        if origin == BOTTOM:
            self.accept = True
            return
        row = &self.rows[self.configurations[origin].row]
        end = self.waiters.data() + row.waiter_off + row.n_waiters
        waiter = lower_bound(self.waiters.data() + row.waiter_off, end, WaiterC(goal, 0, 0), &waiter_before)
        while waiter < end and waiter.rule == goal:
            item = self.items[row.item_off + waiter.item]
            self.advance(waiter.target, item.goal, self.origin_of(origin, &item), self.value_of(origin, &item))
            waiter += 1

    cdef bint is_completed(self, uint64_t key) noexcept nogil:
        cdef uint32_t k, n = <uint32_t>self.completed.size()
        if n <= FEW:
            for k in range(n):
                if self.completed[k] == key:
                    return True
            return False
        if self.completed_places.used == 0:
            for k in range(n):
                map_put(&self.completed_places, self.completed[k], k)
        if map_get(&self.completed_places, key) != MISSING:
            return True
        map_put(&self.completed_places, key, n)
        return False

    cdef uint32_t finish(self) noexcept nogil:
        """Close the seeds and intern the rest; DEAD if nothing is left."""
        cdef uint32_t at = 0, n = 0
        cdef SeedC seed
        cdef StateC* s
        while at < self.seeds.size():
            self.close_seed(self.seeds[at])
            at += 1
        for at in range(<uint32_t>self.seeds.size()):
            seed = self.seeds[at]
            s = &self.automata.states[seed.state]
            if s.n_bytes + s.n_refs + s.n_tokens + s.like and self.may_go_on(s, seed.value):
                self.seeds[n] = seed
                n += 1
        self.seeds.resize(n)
        return self.intern()

    cdef uint32_t intern(self) noexcept nogil:
        """Return the configuration of closed seeds."""
        cdef uint32_t row
        if self.error != NO_ERROR or (self.seeds.size() == 0 and not self.accept):
            return DEAD
        sort(self.seeds.begin(), self.seeds.end(), &seed_before)
        self.make_key()
        row = self.intern_row()
        if self.error != NO_ERROR:
            return DEAD
        return self.intern_configuration(
            row, table_number(&self.register_sets, self.registers.data(), self.registers.size()))

    cdef void make_key(self) noexcept nogil:
        """Write the row's content to `key`, and its registers and counting parents to `registers`.
        """
        cdef vector[uint32_t] parents
        cdef uint32_t k, ordinal, word
        cdef SeedC seed
        self.key.clear()
        self.registers.clear()
        self.key.push_back(self.accept)
        for seed in self.seeds:
            word = 0
            if self.is_counted_state(seed.state):
                word = 1 << 18
                if self.automata.states[seed.state].flags & FINAL_STATE:
                    word |= (PLENTY if self.may_end(&self.automata.states[seed.state], seed.value)
                             else BELOW_MINIMUM) << 16
                self.registers.push_back(seed.value)
            if self.configurations[seed.origin].registers:
                ordinal = <uint32_t>parents.size()
                for k in range(<uint32_t>parents.size()):
                    if parents[k] == seed.origin:
                        ordinal = k
                        break
                if ordinal == parents.size():
                    parents.push_back(seed.origin)
                word |= 1 << 19 | ordinal
                seed.origin = self.configurations[seed.origin].row
            self.key.push_back(seed.state)
            self.key.push_back(seed.goal)
            self.key.push_back(seed.origin)
            self.key.push_back(word)
        self.registers.insert(self.registers.end(), parents.begin(), parents.end())

    cdef uint32_t intern_row(self) noexcept nogil:
        cdef uint64_t h = hash_words(self.key.data(), self.key.size())
        cdef size_t mask = self.row_table.size() - 1
        cdef size_t at = h & mask
        cdef RowC* row
        cdef uint32_t k, fresh
        while self.row_table[at]:
            row = &self.rows[self.row_table[at]]
            if (row.hash == h and row.key_len == self.key.size()
                    and memcmp(&self.row_keys[row.key_off], self.key.data(), 4 * self.key.size()) == 0):
                return self.row_table[at]
            at = (at + 1) & mask
        fresh = self.make_row(h)
        if fresh == DEAD:
            return DEAD
        self.row_table[at] = fresh
        if self.rows.size() * 2 > self.row_table.size():
            self.row_table.assign(self.row_table.size() * 2, 0)
            mask = self.row_table.size() - 1
            for k in range(2, <uint32_t>self.rows.size()):
                at = self.rows[k].hash & mask
                while self.row_table[at]:
                    at = (at + 1) & mask
                self.row_table[at] = k
        return fresh

    cdef uint32_t make_row(self, uint64_t h) noexcept nogil:
        """Append the row with the content in `key`. DEAD after a limit, without any change."""
        cdef RowC row
        cdef ItemC item
        cdef uint32_t k, word, slot = 0
        if self.rows.size() >= self.row_limit:
            self.fail(ROWS_EXCEEDED, <uint32_t>self.rows.size() + 1)
            return DEAD
        row.hash = h
        row.accept = <uint8_t>self.key[0]
        row.has_tokens = row.has_tabled = row.counts_tokens = row.repeats = row.has_unique = 0
        row.may_not_end = not row.accept
        row.key_off, row.key_len = <uint32_t>self.row_keys.size(), <uint32_t>self.key.size()
        self.row_keys.insert(self.row_keys.end(), self.key.begin(), self.key.end())
        row.item_off = <uint32_t>self.items.size()
        for k in range(1, <uint32_t>self.key.size(), 4):
            word = self.key[k + 3]
            item.state, item.goal, item.origin = self.key[k], self.key[k + 1], self.key[k + 2]
            item.ordinal, item.slot = <uint16_t>(word & 0xFFFF), NO_SLOT
            item.count_class = <uint8_t>((word >> 16) & 3)
            item.flags = ITEM_PARENT if word >> 19 & 1 else 0
            if word >> 18 & 1:
                item.slot = <uint16_t>slot
                slot += 1
            if self.automata.ir.rules[self.automata.states[item.state].rule].unit:
                row.counts_tokens = 1
            else:
                row.may_not_end = 0
            self.items.push_back(item)
        row.n_kernel = <uint32_t>self.items.size() - row.item_off
        row.n_slots = <uint16_t>slot
        self.predict(&row)
        if self.error != NO_ERROR:
            self.row_keys.resize(row.key_off)
            self.items.resize(row.item_off)
            self.waiters.resize(row.waiter_off)
            return DEAD
        self.rows.push_back(row)
        return <uint32_t>self.rows.size() - 1

    cdef void predict(self, RowC* row) noexcept nogil:
        """Append the predicted items, the waiters by rule, and the live bytes."""
        cdef uint32_t at = row.item_off, k
        cdef StateC* s
        self.build_number += 1
        map_clear(&self.item_places)
        row.waiter_off = <uint32_t>self.waiters.size()
        for k in range(4):
            row.live[k] = 0
        while at < self.items.size():
            if self.counts_work and not self.may_work(
                    PREDICTION_WORK + self.automata.states[self.items[at].state].n_refs):
                break
            self.predict_from(row, at)
            if self.seen_at.size() <= self.items[at].state:
                self.seen_at.resize(self.automata.states.size(), 0)
            if self.seen_at[self.items[at].state] == self.build_number:
                row.repeats = 1
            self.seen_at[self.items[at].state] = self.build_number
            s = &self.automata.states[self.items[at].state]
            for k in range(4):
                row.live[k] |= s.live[k]
            if s.n_tokens:
                row.has_tokens = 1
            if s.n_bytes + s.like and self.automata.tabled[s.rule]:
                row.has_tabled = 1
            at += 1
            if self.items.size() - row.item_off > self.item_limit:
                self.fail(ROW_ITEMS_EXCEEDED, <uint32_t>self.items.size() - row.item_off)
                break
        row.n_items = <uint32_t>self.items.size() - row.item_off
        row.n_waiters = <uint32_t>self.waiters.size() - row.waiter_off
        sort(self.waiters.begin() + row.waiter_off, self.waiters.end(), &waiter_before)

    cdef void predict_from(self, RowC* row, uint32_t at) noexcept nogil:
        """Predict the references of one item.

        In tail position the caller's goal and origin are passed on.
        """
        cdef ItemC item = self.items[at], predicted
        cdef SymbolEdgeC edge
        cdef uint32_t k, start
        for k in range(self.automata.states[item.state].n_refs):
            edge = self.automata.ref_edges[self.automata.states[item.state].ref_off + k]
            if self.automata.ir.rules[edge.symbol].differs:
                row.has_unique = 1
            start = self.automata.start(edge.symbol)
            if start == 0:
                self.fail(self.automata.error, self.automata.error_got)
                return
            predicted = item
            predicted.state, predicted.slot, predicted.count_class = start, NO_SLOT, 0
            if (self.tail_references and self.automata.is_tail(edge.target)
                    and not self.automata.ir.rules[edge.symbol].differs):
                self.predict_item(row, &predicted)
            else:
                self.waiters.push_back(WaiterC(edge.symbol, at - row.item_off, edge.target))
                if self.predicted_at[edge.symbol] != self.build_number:
                    self.predicted_at[edge.symbol] = self.build_number
                    predicted.goal, predicted.origin, predicted.ordinal, predicted.flags = edge.symbol, 0, 0, ITEM_SELF
                    self.items.push_back(predicted)
            if at - row.item_off >= row.n_kernel and self.automata.ir.rules[edge.symbol].nullable:
                self.predict_behind(row, item, edge.target)
        if at - row.item_off >= row.n_kernel:
            for k in range(self.automata.states[item.state].n_empty):
                self.predict_behind(
                    row, item, self.automata.empty_edges[self.automata.states[item.state].empty_off + k])

    cdef void predict_behind(self, RowC* row, ItemC item, uint32_t target) noexcept nogil:
        """Move a predicted item over an empty edge; an empty iteration does not count."""
        if not (self.automata.states[target].flags & LOOP_STATE):
            self.automata.visit(target)
            item.state = target
            self.predict_item(row, &item)

    cdef void predict_item(self, RowC* row, ItemC* item) noexcept nogil:
        """Append a predicted item that is not simply the start of a rule, unless it is present."""
        cdef uint32_t k, n = <uint32_t>self.items.size(), first = row.item_off, index
        if n - first > FEW:
            if self.item_places.used == 0:
                self.items_placed = first
            for k in range(self.items_placed, n):
                map_put(&self.item_places, item_key(&self.items[k]), k)
            self.items_placed = n
            index = map_get(&self.item_places, item_key(item))
            if index != MISSING and are_equal(&self.items[index], item):
                return
        else:
            for k in range(first, n):
                if are_equal(&self.items[k], item):
                    return
        self.items.push_back(item[0])

    # -- registers ---------------------------------------------------------------------------------
    cdef uint32_t intern_configuration(self, uint32_t row, uint32_t registers) noexcept nogil:
        cdef uint64_t key = <uint64_t>row << 32 | registers
        cdef uint32_t number = map_get(&self.configuration_ids, key), furthest = registers, saturated = DEAD
        if number != MISSING:
            return number
        # a call may add two configurations
        if self.configurations.size() % CHECKED_CONFIGURATIONS < 2 and self.bytes_held() > self.byte_limit:
            self.fail(BYTES_EXCEEDED, <uint32_t>min(self.bytes_held(), <size_t>0xFFFFFFFF))
        if registers:
            furthest = self.saturated_registers(row, registers)
        if furthest != registers:
            saturated = self.intern_configuration(row, furthest)
        if self.error != NO_ERROR:
            return DEAD
        number = <uint32_t>self.configurations.size()
        self.configurations.push_back(ConfigurationC(row, registers, saturated if furthest != registers else number))
        map_put(&self.configuration_ids, key, number)
        return number

    cdef uint32_t saturated_registers(self, uint32_t row, uint32_t registers) noexcept nogil:
        cdef vector[uint32_t] words
        cdef uint32_t k
        cdef WordTableC* sets = &self.register_sets
        cdef RowC* r = &self.rows[row]
        cdef ItemC* item
        words.assign(sets.words.begin() + sets.off[registers], sets.words.begin() + sets.off[registers + 1])
        for k in range(r.item_off, r.item_off + r.n_kernel):
            item = &self.items[k]
            if item.slot != NO_SLOT:
                words[item.slot] = self.saturate(self.automata.states[item.state].rule, words[item.slot])
        for k in range(r.n_slots, <uint32_t>words.size()):
            words[k] = self.configurations[words[k]].saturated
        return table_number(&self.register_sets, words.data(), words.size())

    cdef uint32_t saturate(self, uint32_t rule, uint32_t value) noexcept nogil:
        """Return the representative of all counts that no single token can tell apart."""
        cdef RuleC* r = &self.automata.ir.rules[rule]
        cdef uint32_t taken = tokens(r, value)
        cdef uint64_t reach
        value = iterations(r, value)
        reach = <uint64_t>value + self.automata.span[rule]
        if value < r.minimum and reach < r.minimum:
            value = 0
        elif value >= r.minimum and (r.maximum == NO_MAXIMUM or reach < r.maximum):
            value = r.minimum
        return value if r.most_tokens - taken >= CHARACTER_BYTES else value + taken * r.unit
