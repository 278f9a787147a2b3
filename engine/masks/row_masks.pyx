"""Bitmasks, unions of token masks, masks of rows, and their application to logits."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t, uintptr_t
from libc.string cimport memcmp, memcpy, memset
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared

from ..automata.determinize cimport FINAL_STATE
from ..automata.rule_automata cimport NO_ERROR, NO_NAME, StateC
from ..earley.rows cimport DEAD, NO_SLOT, Arena, ItemC, RowC
from ..grammar.ir cimport NO_MAXIMUM
from ..grammar.lowered cimport BOUNDED_RULE, CHARACTER_BYTES, COUNTED_RULE, DISPATCH_RULE, TokenSetC
from ..grammar.rule_digest cimport DigestC, RuleDigests, is_none
from ..native.bitset cimport clear_bit, clear_range, has_bit, has_many_bits, list_bits, or_words, set_bits, set_range
from ..native.hashing cimport MISSING, U64MapC, map_bytes, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..native.resources cimport nanoseconds
from ..native.word_table cimport WordTableC, table_bytes, table_clear, table_number, table_size
from ..vocabulary.detour_table cimport DetourTable
from ..vocabulary.vocabulary cimport STOP, TrieNode, Vocabulary
from .detours cimport list_detours
from .mask_builder cimport (
    ANY_PHASE, HUB_BYTES, MaskBuilder, SafeClassesC, WalkStateC, clear_ids, free_text_mask,
    is_narrow, list_split_points, missing_after, pack_bits, plain_text_mask, set_below, sort_exits,
)
from .token_mask cimport (
    PLAIN_TEXT, CountBoundsC, SuffixNodeC, SuffixTrieC, SuffixTriePtr, TokenListC, TokenMaskC,
    TokenMaskCache, TokenMaskEntryC, TokenMaskPtr, accepted_ids, accepted_words, before_exit,
    bounds_of, characters, fits, no_bounds, suffix_trie_bytes, suffix_trie_of, token_mask_bytes,
    too_long,
)


cdef class Bitmask:
    """Stands for its buffer in every call that takes a bitmask, and saves inspecting the buffer.

    Args:
        buffer: writable C-contiguous buffer of int32, shape (rows, words); held as long as this
            object.

    Raises:
        TypeError, ValueError: another dtype, shape or layout.
    """

    def __init__(self, buffer not None):
        self.rows = buffer
        self.height = self.rows.shape[0]

    def allow_all(self):
        """Set every bit."""
        if self.rows.shape[0] and self.rows.shape[1]:
            memset(&self.rows[0, 0], 0xff, 4 * self.rows.shape[0] * self.rows.shape[1])


cdef int[:, ::1] rows_of(object bitmask):
    """Return the view of a bitmask.

    Raises:
        TypeError, ValueError: the object is no bitmask.
    """
    if type(bitmask) is Bitmask:
        return (<Bitmask>bitmask).rows
    if bitmask is None:
        raise TypeError("bitmask must not be None")
    return bitmask


# -- unions ----------------------------------------------------------------------------------------

# With more members, finding safe classes costs more than the skipped nodes.
cdef size_t SAFE_MEMBERS = 16

# Walks stop at this many sets: determinisation may explode. Six patterns for keys need 1,000 in the
# spellings of strings; each takes a kilobyte during the walk.
cdef size_t UNION_SETS = 4096

# The set whose members are all dead.
cdef uint32_t GONE = 0


cdef struct StateSetC:
    WalkStateC walk_state     # the set as one state; `safe` is that of the safest member
    uint32_t ends             # number of the set of members that may end here


cdef struct UnionWalkC:
    WordTableC numbers
    vector[StateSetC] sets
    vector[uint32_t] edges    # 256 for each set; MISSING: not built yet


cdef bint make_union(MaskBuilder builder, vector[uint32_t]* states, uint32_t node, MaskUnionC* out) noexcept nogil:
    """Walk several states together below a node. False: there are too many sets."""
    cdef UnionWalkC walk
    cdef vector[uint32_t] members
    cdef uint32_t k
    builder.prepare()
    members.assign(states.size(), 0)
    number_of(builder, &walk, &members, &out.ends)
    for k in range(<uint32_t>states.size()):
        members[k] = builder.walk_state(states[0][k])
    if not walk_trie(builder, &walk, number_of(builder, &walk, &members, &out.ends), node, out):
        return False
    pack_bits(&out.token_mask, builder.vocabulary)
    sort_exits(&out.token_mask, builder.vocabulary)
    return True


cdef bint walk_trie(
    MaskBuilder builder, UnionWalkC* walk, uint32_t start, uint32_t top, MaskUnionC* out
) noexcept nogil:
    """Take all tokens and remove those that every member rejects."""
    cdef TrieNode* nodes = builder.vocabulary.nodes.data()
    cdef uint32_t* order = builder.vocabulary.order.data()
    cdef uint64_t* below = builder.vocabulary.classes_below.data()
    cdef uint8_t* phases = builder.vocabulary.phases.data()
    cdef uint32_t node = top + 1, end = nodes[top].end, top_depth = nodes[top].depth, depth, number
    cdef uint32_t* words
    cdef StateSetC* state_set
    cdef vector[uint32_t] sets_at
    sets_at.assign(builder.vocabulary.max_token_bytes + 2, 0)
    sets_at[top_depth] = start
    set_below(builder.vocabulary, top, &out.token_mask)
    words = out.token_mask.words.data()
    while node < end:
        builder.visited += 1
        depth = nodes[node].depth
        number = walk.edges[256 * sets_at[depth - 1] + nodes[node].byte]
        if number == MISSING:
            number = make_edge(builder, walk, sets_at[depth - 1], nodes[node].byte, &out.ends)
            if walk.sets.size() > UNION_SETS:
                return False
        state_set = &walk.sets[number]
        if number == GONE or state_set.walk_state.triggers:
            if number != GONE:
                out.token_mask.triggers.push_back(node)
            clear_ids(words, order + nodes[node + (number != GONE)].first, order + nodes[nodes[node].end].first)
            builder.leave(node, top_depth, &out.token_mask)
            node = nodes[node].end
        elif not below[node] & ~state_set.walk_state.safe.classes and (
                state_set.walk_state.safe.phase == phases[node] or state_set.walk_state.safe.phase == ANY_PHASE):
            node = nodes[node].end
        else:
            builder.enter(node, depth, &state_set.walk_state)
            builder.counts[depth] = state_set.ends
            sets_at[depth] = number
            node += 1
    return True


cdef uint32_t make_edge(
    MaskBuilder builder, UnionWalkC* walk, uint32_t number, uint8_t byte, WordTableC* ends
) noexcept nogil:
    """Move every member of a set over a byte. Return the number of the new set."""
    cdef vector[uint32_t] members
    cdef uint32_t k, target
    members.assign(
        walk.numbers.words.data() + walk.numbers.off[number],
        walk.numbers.words.data() + walk.numbers.off[number + 1])
    for k in range(<uint32_t>members.size()):
        if members[k]:
            members[k] = builder.follow(members[k], byte)
    target = number_of(builder, walk, &members, ends)
    walk.edges[256 * number + byte] = target
    return target


cdef uint32_t number_of(
    MaskBuilder builder, UnionWalkC* walk, vector[uint32_t]* members, WordTableC* ends
) noexcept nogil:
    """Return the number of a set, which is added if new. Number 0 has only dead members."""
    cdef uint32_t number = table_number(&walk.numbers, members.data(), members.size()), k
    cdef vector[uint32_t] ending
    cdef WalkStateC* walk_state
    cdef SafeClassesC* safe
    cdef StateSetC state_set
    if number < walk.sets.size():
        return number
    state_set.walk_state = builder.walk_states[0]
    for k in range(<uint32_t>members.size()):
        if members[0][k] == 0:
            continue
        walk_state = &builder.walk_states[members[0][k]]
        if walk_state.ends:
            ending.push_back(k)
        state_set.walk_state.triggers |= walk_state.triggers
        if members.size() <= SAFE_MEMBERS:
            safe = builder.safety(members[0][k])
            if __builtin_popcountll(safe.classes) > __builtin_popcountll(state_set.walk_state.safe.classes):
                state_set.walk_state.safe = safe[0]
    state_set.walk_state.ends = ending.size() > 0
    state_set.ends = table_number(ends, ending.data(), ending.size())
    walk.sets.push_back(state_set)
    walk.edges.resize(walk.edges.size() + 256, MISSING)
    return number


cdef extern from *:
    int __builtin_popcountll(unsigned long long) noexcept nogil


# -- row masks -------------------------------------------------------------------------------------

# Larger subtrees of the token trie are processed item by item. For smaller ones a walk over rows
# costs less than looking up token masks.
cdef uint32_t LARGE = 64

# A walk by difference copies a bitset, which takes as long as visiting some hundred nodes.
cdef uint32_t HUB_NODES = 1024

# Token edges with fewer ids in a range list them; others set bits.
cdef uint32_t SHORT_RANGE = 64

# Item by item, a state is reached once for each reading of the text. In ambiguous texts these
# double with each part. At this depth a walk over rows takes over, because a row holds all
# readings.
cdef uint32_t MAX_NESTED = 4

# Items of a row that are passed over in the time of a cached step over a byte (rows, STEP_WORK).
cdef uint32_t ITEMS_PER_STEP = 8

# At most this many tokens that are too long for a rule are followed one by one.
cdef uint32_t FEW_LONG = 1 << 14


# From this many items without cached token masks on, they are walked together. Two are not: their
# token masks serve other grammars as well, a union only its own.
cdef uint32_t UNION_ITEMS = 3


cdef void map_drop(U64MapC* table) noexcept nogil:
    """Empty a table and free its memory."""
    vector[uint64_t]().swap(table.keys)
    vector[uint32_t]().swap(table.values)
    table.used = 0


cdef size_t mask_bytes(const MaskC* mask) noexcept nogil:
    return (
        held_bytes(mask.token_masks) + held_bytes(mask.lists) + held_bytes(mask.ids) + held_bytes(mask.words)
        + held_bytes(mask.detours))


cdef class RowMasks:
    """Masks of one arena over one vocabulary."""

    cdef void open(
        self, Arena arena, Vocabulary vocabulary, TokenMaskCache table, RuleDigests digests, DetourTable detours,
        bint keep, size_t max_bytes
    ):
        """Initialise the object; there is no other way."""
        self.arena = arena
        self.vocabulary = vocabulary
        self.table = table
        self.builder = MaskBuilder.__new__(MaskBuilder)
        self.builder.automata, self.builder.vocabulary = arena.automata, vocabulary
        self.keep = keep
        self.max_bytes = max_bytes
        self.held = 0
        self.made = self.reused = 0
        self.lists_made = self.nested = 0
        self.made_ns = 0
        self.digests, self.detours = digests, detours

    cdef size_t bytes_held(self) noexcept nogil:
        """Return the bytes held by the masks and their builder, without the cache's token masks."""
        cdef size_t digests = 0
        if self.digests is not None:
            digests = self.digests.bytes_held()
        return (
            self.held + held_bytes(self.kept) + held_bytes(self.shared) + held_bytes(self.token_masks)
            + map_bytes(&self.token_mask_ids) + map_bytes(&self.mask_ids) + map_bytes(&self.list_ids)
            + map_bytes(&self.outside_ids) + table_bytes(&self.union_ids) + held_bytes(self.unions)
            + mask_bytes(&self.scratch) + held_bytes(self.walk_stack) + held_bytes(self.suffix_stack)
            + held_bytes(self.seen_at) + held_bytes(self.closed)
            + self.own_token_masks() + self.builder.bytes_held() + digests)

    cdef size_t own_token_masks(self) noexcept nogil:
        """Return the bytes of token masks outside the cache, divided among their owners."""
        cdef size_t held = 0, k, size
        cdef TokenMaskPtr token_mask
        if self.table is not None:
            self.table.guard.lock()
        for token_mask in self.token_masks:
            if token_mask.get().is_cached:
                continue
            size = token_mask_bytes(token_mask.get())
            for k in range(token_mask.get().groups.size()):
                if token_mask.get().groups[k].suffixes.get() != NULL:
                    size += suffix_trie_bytes(token_mask.get().groups[k].suffixes.get())
            # the loop variable holds one more reference
            held += size // max(<long>1, token_mask.use_count() - 1)
        if self.table is not None:
            self.table.guard.unlock()
        return held

    cdef void fill(self, uint32_t configuration, uint32_t* out) noexcept nogil:
        """Write the mask of a configuration, ``vocabulary.words`` words."""
        if self.fill_kept(configuration, out):
            return
        configuration = self.arena.configurations[configuration].saturated
        self.compute(configuration)
        self.render(&self.scratch, out)
        if self.keep and self.arena.error == NO_ERROR:
            self.remember(configuration)

    cdef bint fill_kept(self, uint32_t configuration, uint32_t* out) noexcept nogil:
        """Write the mask of a configuration if it is cached; return whether it is."""
        cdef uint32_t number = map_get(&self.mask_ids, self.arena.configurations[configuration].saturated)
        if number == MISSING:
            return False
        self.reused += 1
        self.render(&self.kept[number], out)
        return True

    cdef bint has(self, uint32_t configuration) noexcept nogil:
        """Return whether the mask of a configuration is cached."""
        return map_get(&self.mask_ids, self.arena.configurations[configuration].saturated) != MISSING

    cdef bint make_ahead(self, uint32_t configuration) noexcept nogil:
        """Build and cache a mask. False: it is cached already, or exceeds a limit."""
        configuration = self.arena.configurations[configuration].saturated
        if not self.keep or map_get(&self.mask_ids, configuration) != MISSING:
            return False
        self.compute(configuration)
        if self.arena.error != NO_ERROR:
            return False
        self.remember(configuration)
        return True

    cdef void fill_stop(self, uint32_t* out) noexcept nogil:
        """Write the mask of a terminated matcher: stop tokens only."""
        cdef uint32_t t
        memset(out, 0, 4 * self.vocabulary.words)
        for t in self.vocabulary.stops:
            out[t >> 5] |= (<uint32_t>1) << (t & 31)

    cdef void render(self, MaskC* mask, uint32_t* out) noexcept nogil:
        cdef uint32_t k, words = self.vocabulary.words
        cdef bint filled = False
        cdef TokenMaskC* token_mask
        if mask.words.size():
            memcpy(out, mask.words.data(), 4 * words)
            filled = True
        for k in mask.token_masks:
            token_mask = self.token_masks[k].get()
            if token_mask.words.size() == 0:
                continue
            if filled:
                or_words(out, token_mask.words.data(), words)
            else:
                memcpy(out, token_mask.words.data(), 4 * words)
                filled = True
        if not filled:
            memset(out, 0, 4 * words)
        for k in mask.token_masks:
            token_mask = self.token_masks[k].get()
            if token_mask.words.size() == 0:
                set_bits(out, token_mask.ids.data(), token_mask.ids.size())
        for k in mask.lists:
            set_bits(out, self.shared[k].data(), self.shared[k].size())
        set_bits(out, mask.ids.data(), mask.ids.size())
        for k in mask.detours:
            clear_bit(out, k)

    cdef void compute(self, uint32_t configuration) noexcept nogil:
        """Compute the mask of a saturated configuration into ``scratch``."""
        cdef RowC row = self.arena.rows[self.arena.configurations[configuration].row]
        cdef uint32_t k
        cdef vector[uint32_t] items
        self.made += 1
        # `shared` grows even if masks are not cached: after a limit, or without the feature
        if self.kept_bytes() > self.max_bytes:
            self.drop_kept()
        self.arena.count_work(self.arena.mask_items)
        self.scratch.token_masks.clear()
        self.scratch.lists.clear()
        self.scratch.ids.clear()
        self.scratch.words.clear()
        self.scratch.detours.clear()
        self.list_items(configuration, &items)
        for k in items:
            if self.arena.automata.states[self.arena.items[k].state].n_tokens:
                self.add_tokens(configuration, self.arena.items[k].state)
        self.add_items(configuration, 0, &items, &self.scratch.ids)
        if row.accept:
            self.scratch.ids.insert(self.scratch.ids.end(), self.vocabulary.stops.begin(), self.vocabulary.stops.end())
        if self.detours is not None:
            list_detours(self.arena, self.vocabulary, self.detours, configuration, &self.scratch.detours)
        self.arena.stop_counting()

    cdef void remember(self, uint32_t configuration) noexcept nogil:
        if self.scratch.ids.size() > self.vocabulary.words:
            if self.scratch.words.size() == 0:
                self.scratch.words.assign(self.vocabulary.words, 0)
            set_bits(self.scratch.words.data(), self.scratch.ids.data(), self.scratch.ids.size())
            self.scratch.ids.clear()
        self.kept.push_back(self.scratch)
        self.held += mask_bytes(&self.kept.back())
        if self.kept_bytes() > self.max_bytes:
            self.drop_kept()
        else:
            map_put(&self.mask_ids, configuration, <uint32_t>self.kept.size() - 1)

    cdef size_t kept_bytes(self) noexcept nogil:
        """Return the bytes of cached masks. Their vector's spare room does not count."""
        return self.held + sizeof(MaskC) * self.kept.size()

    cdef void drop_kept(self) noexcept nogil:
        map_drop(&self.mask_ids)
        map_drop(&self.list_ids)
        map_drop(&self.outside_ids)
        vector[MaskC]().swap(self.kept)
        vector[vector[uint32_t]]().swap(self.shared)
        table_clear(&self.union_ids)
        vector[UnionPtr]().swap(self.unions)
        self.held = 0

    # -- items of tabled rules ---------------------------------------------------------------------
    cdef bint has_token_mask(self, uint32_t configuration, ItemC* item, uint32_t node) noexcept nogil:
        """Return whether token masks decide about the item's bytes below a node."""
        cdef CountBoundsC bounds
        cdef TokenMaskPtr held
        if not self.arena.automata.tabled[self.arena.automata.states[item.state].rule]:
            return False
        bounds = bounds_of(self.arena, configuration, item)
        if not self.is_split(configuration, item, bounds) or self.has_narrow_end(configuration, item):
            return True
        held = self.token_masks[self.token_mask(item.state, node)]
        return too_long(self.vocabulary, held.get(), bounds).n <= FEW_LONG

    cdef bint is_split(self, uint32_t configuration, ItemC* item, CountBoundsC bounds) noexcept nogil:
        """Return whether a token beyond the item's upper bound may be split."""
        cdef uint32_t outside
        if bounds.most == NO_MAXIMUM:
            return False
        outside = self.outside(configuration, item)
        return outside != DEAD and self.splits(self.arena.automata.states[item.state].rule, outside)

    cdef bint has_narrow_end(self, uint32_t configuration, ItemC* item) noexcept nogil:
        """Return whether few trie nodes may begin what follows the item."""
        cdef uint32_t outside = self.outside(configuration, item)
        return is_narrow(self.vocabulary, self.arena.rows[self.arena.configurations[outside].row].live)

    cdef bint splits(self, uint32_t rule, uint32_t outside) noexcept nogil:
        """Return whether a byte may begin both an iteration and what follows the rule."""
        cdef uint32_t k
        cdef RowC* row = &self.arena.rows[self.arena.configurations[outside].row]
        for k in range(4):
            if self.arena.automata.begins[4 * rule + k] & row.live[k]:
                return True
        return False

    cdef uint32_t outside(self, uint32_t configuration, ItemC* item) noexcept nogil:
        """Return the rows outside an item: the configuration that its completion leaves, DEAD if
        there is none.

        If several uncounted items are in its state, it is the union of theirs.
        """
        cdef uint64_t key = <uint64_t>configuration << 32 | item.state
        cdef uint32_t rows
        if item.slot != NO_SLOT or not self.arena.rows[self.arena.configurations[configuration].row].repeats:
            return self.arena.completion(self.arena.origin_of(configuration, item), item.goal)
        rows = map_get(&self.outside_ids, key)
        if rows != MISSING:
            return rows
        return self.arena.keep(&self.outside_ids, key, self.outside_all(configuration, item.state))

    cdef uint32_t outside_all(self, uint32_t configuration, uint32_t state) noexcept nogil:
        """Return the union of the rows outside the items in a state."""
        cdef RowC row = self.arena.rows[self.arena.configurations[configuration].row]
        cdef vector[uint32_t] rows
        cdef ItemC item
        cdef uint32_t k
        if not self.arena.may_work(row.n_items // ITEMS_PER_STEP):
            return DEAD
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.arena.items[k]
            if item.state == state and item.slot == NO_SLOT:
                add_once(&rows, self.arena.completion(self.arena.origin_of(configuration, &item), item.goal))
        return self.arena.merge_all(&rows)

    cdef void list_items(self, uint32_t configuration, vector[uint32_t]* out) noexcept nogil:
        """List the items of a row; of uncounted items in one state the first."""
        cdef RowC row = self.arena.rows[self.arena.configurations[configuration].row]
        cdef uint32_t k, state
        self.lists_made += 1
        for k in range(row.item_off, row.item_off + row.n_items):
            if row.repeats and self.arena.items[k].slot == NO_SLOT:
                state = self.arena.items[k].state
                if self.seen_at.size() <= state:
                    self.seen_at.resize(self.arena.automata.states.size(), 0)
                if self.seen_at[state] == self.lists_made:
                    continue
                self.seen_at[state] = self.lists_made
            out.push_back(k)

    cdef uint32_t token_mask(self, uint32_t state, uint32_t node) noexcept nogil:
        """Return the number of a state's token mask: known, cached, or newly built."""
        cdef uint64_t start, others = self.made_ns
        cdef TokenMaskEntryC entry
        cdef uint32_t number = self.find_token_mask(state, node, &entry)
        if number != MISSING:
            return number
        start = nanoseconds()
        entry.token_mask = self.make(state, node)
        entry.token_mask.get().node = node
        # without the time of other masks it needs
        entry.took_ns = self.count_made(nanoseconds() - start - (self.made_ns - others))
        if entry.key.high or entry.key.low:
            self.share(&entry)
        return self.add_token_mask(state, node, entry.token_mask)

    cdef uint32_t find_token_mask(self, uint32_t state, uint32_t node, TokenMaskEntryC* entry) noexcept nogil:
        """Return the number of a known or cached token mask; or MISSING, and set the key."""
        cdef uint32_t number = map_get(&self.token_mask_ids, <uint64_t>state << 32 | node)
        cdef uint32_t rule = self.arena.automata.states[state].rule
        cdef DigestC digest
        if number != MISSING:
            return number
        digest.high = digest.low = 0
        entry.key.state, entry.key.node = self.arena.automata.name(state), node
        if self.table is not None and entry.key.state != NO_NAME:
            digest = self.digests.rule(rule)
        entry.key.high, entry.key.low = digest.high, digest.low
        if is_none(digest):
            return MISSING
        entry.token_mask = self.table.find(entry.key)
        if entry.token_mask.get() == NULL:
            return MISSING
        return self.add_token_mask(state, node, entry.token_mask)

    cdef uint32_t add_token_mask(self, uint32_t state, uint32_t node, TokenMaskPtr token_mask) noexcept nogil:
        map_put(&self.token_mask_ids, <uint64_t>state << 32 | node, <uint32_t>self.token_masks.size())
        self.token_masks.push_back(token_mask)
        return <uint32_t>self.token_masks.size() - 1

    cdef void share(self, TokenMaskEntryC* entry) noexcept nogil:
        """Add a new token mask to the cache."""
        entry.token_mask.get().shared = True
        entry.bytes = token_mask_bytes(entry.token_mask.get())
        self.table.add(entry, True)

    cdef uint32_t count_made(self, uint64_t took_ns) noexcept nogil:
        """Count the nanoseconds of a token mask; return them, as many as fit."""
        self.made_ns += took_ns
        if self.table is not None:
            self.table.count_made(took_ns)
        return <uint32_t>min(took_ns, <uint64_t>0xFFFFFFFF)

    cdef TokenMaskPtr make(self, uint32_t state, uint32_t node) noexcept nogil:
        cdef uint32_t hub = 0, rule = self.arena.automata.states[state].rule
        cdef uint8_t kind = self.arena.automata.ir.rules[rule].kind
        cdef bint filtered = kind == COUNTED_RULE or kind == BOUNDED_RULE
        cdef TokenMaskPtr token_mask
        if node == 0 and state == self.arena.automata.first[rule] and kind == DISPATCH_RULE:
            token_mask = self.plain_text()
            return free_text_mask(self.arena.automata, state, self.vocabulary, token_mask.get())
        if (not filtered and self.vocabulary.nodes[node].end - node > HUB_NODES
                and not self.builder.is_mostly_safe(state)):
            hub = self.builder.hub(rule)
        if hub and hub != state and self.builder.width(state) >= HUB_BYTES:
            token_mask = self.builder.make_like(state, hub, node, self.token_masks[self.token_mask(hub, node)].get())
        if token_mask.get() == NULL:
            token_mask = self.builder.make(state, node, filtered)
        return token_mask

    cdef TokenMaskPtr plain_text(self) noexcept nogil:
        """Return the token mask of plain text, which all grammars share."""
        cdef uint64_t start
        cdef TokenMaskEntryC entry
        entry.key.high = entry.key.low = PLAIN_TEXT
        entry.key.state = entry.key.node = 0
        if self.table is not None:
            entry.token_mask = self.table.find(entry.key)
        if entry.token_mask.get() == NULL:
            start = nanoseconds()
            entry.token_mask = plain_text_mask(self.vocabulary)
            entry.took_ns = self.count_made(nanoseconds() - start)
            if self.table is not None:
                self.share(&entry)
        return entry.token_mask

    cdef void add_item(
        self, uint32_t configuration, ItemC item, uint32_t node, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append an item's tokens below a node; of the root, whole masks and lists go to ``scratch``."""
        cdef uint32_t like = self.arena.automata.states[item.state].like
        cdef uint32_t number = self.token_mask(like or item.state, node), outside = self.outside(configuration, &item)
        cdef TokenMaskPtr token_mask = self.token_masks[number]
        cdef CountBoundsC bounds = bounds_of(self.arena, configuration, &item)
        if bounds.counted or bounds.tokens < CHARACTER_BYTES:
            self.add_bounded(item.state, token_mask.get(), bounds, outside, ids)
        elif node == 0:
            self.scratch.token_masks.push_back(number)
        else:
            accepted_ids(self.vocabulary, token_mask.get(), bounds, ids)
        self.list_closed(item.state, node)
        if self.is_split(configuration, &item, bounds):
            self.add_split(configuration, &item, node, token_mask.get(), bounds, outside, ids)
        elif outside != DEAD and token_mask.get().exits.size():
            if node or bounds.counted or self.closed.size():
                self.add_exits(token_mask.get(), outside, bounds, ids)
            else:
                number = self.exits_taken(number, outside)
                if self.shared[number].size():
                    self.scratch.lists.push_back(number)
        self.add_triggers(configuration, node, token_mask.get(), ids)

    # -- unions ------------------------------------------------------------------------------------
    cdef void take_together(
        self, uint32_t configuration, uint32_t node, vector[uint32_t]* items, vector[uint32_t]* ids
    ) noexcept nogil:
        """Walk items without cached token masks together, and remove them from the list."""
        cdef vector[uint32_t] others, states
        cdef vector[uint64_t] members
        cdef uint64_t member
        cdef uint32_t k, number
        if items.size() < UNION_ITEMS:
            return
        for k in items[0]:
            if self.needs_walk(&self.arena.items[k], node):
                members.push_back(<uint64_t>self.arena.items[k].state << 32 | k)
            else:
                others.push_back(k)
        if members.size() < UNION_ITEMS:
            return
        sort(members.begin(), members.end())
        for member in members:
            states.push_back(<uint32_t>(member >> 32))
        number = self.union_of(&states, node)
        if self.unions[number].get() != NULL:
            self.add_union(configuration, node, self.unions[number], &members, ids)
            items.swap(others)

    cdef bint needs_walk(self, ItemC* item, uint32_t node) noexcept nogil:
        """Return whether an item's token mask is missing and expensive: uncounted and wide."""
        cdef StateC* s = &self.arena.automata.states[item.state]
        cdef uint8_t kind = self.arena.automata.ir.rules[s.rule].kind
        cdef TokenMaskEntryC entry
        return (self.arena.automata.tabled[s.rule] and item.slot == NO_SLOT and s.like == 0
                and kind != COUNTED_RULE and kind != BOUNDED_RULE and kind != DISPATCH_RULE
                and self.builder.width(item.state) >= HUB_BYTES
                and self.find_token_mask(item.state, node, &entry) == MISSING)

    cdef uint32_t union_of(self, vector[uint32_t]* states, uint32_t node) noexcept nogil:
        """Return the number of a union, built on first use; null if the walk has too many sets."""
        cdef uint32_t number
        cdef uint64_t start = nanoseconds()
        cdef UnionPtr mask_union
        states.push_back(node)
        number = table_number(&self.union_ids, states.data(), states.size())
        states.pop_back()
        if number < self.unions.size():
            return number
        mask_union = make_shared[MaskUnionC]()
        if not make_union(self.builder, states, node, mask_union.get()):
            mask_union.reset()
        else:
            self.held += token_mask_bytes(&mask_union.get().token_mask) + table_bytes(&mask_union.get().ends)
        self.count_made(nanoseconds() - start)
        self.unions.push_back(mask_union)
        return number

    cdef void add_union(
        self, uint32_t configuration, uint32_t node, UnionPtr found, vector[uint64_t]* members, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append the tokens below a node that a union's members (states and items) accept."""
        cdef TokenMaskC* token_mask = &found.get().token_mask
        cdef vector[uint32_t] outsides, words
        cdef uint32_t g, k, outside
        outsides.assign(table_size(&found.get().ends), MISSING)
        if token_mask.words.size() and node == 0:
            words = token_mask.words
            self.add_words(&words)
        elif token_mask.words.size():
            list_bits(&token_mask.words, ids)
        else:
            ids.insert(ids.end(), token_mask.ids.begin(), token_mask.ids.end())
        for g in range(<uint32_t>token_mask.groups.size()):
            for k in range(token_mask.groups[g].start, token_mask.groups[g].end):
                outside = outsides[token_mask.exit_counts[k]]
                if outside == MISSING:
                    outside = self.outside_some(configuration, &found.get().ends, token_mask.exit_counts[k], members)
                    outsides[token_mask.exit_counts[k]] = outside
                if outside != DEAD:
                    self.add_over_byte(outside, token_mask.exits[2 * k + 1], ids)
        self.add_triggers(configuration, node, token_mask, ids)

    cdef uint32_t outside_some(
        self, uint32_t configuration, WordTableC* ends, uint32_t number, vector[uint64_t]* members
    ) noexcept nogil:
        """Return the union of the rows outside some members."""
        cdef vector[uint32_t] rows
        cdef ItemC item
        cdef uint32_t k
        for k in range(ends.off[number], ends.off[number + 1]):
            item = self.arena.items[<uint32_t>members[0][ends.words[k]]]
            add_once(&rows, self.outside(configuration, &item))
        return self.arena.merge_all(&rows)

    cdef void add_bounded(
        self, uint32_t state, TokenMaskC* token_mask, CountBoundsC bounds, uint32_t outside, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append the accepted tokens below the token mask's node that fit the bounds; of the root,
        many go to ``scratch`` as a bitset.
        """
        cdef uint32_t t, depth = self.vocabulary.nodes[token_mask.node].depth
        cdef vector[uint32_t] words, accepted
        if token_mask.node:
            accepted_ids(self.vocabulary, token_mask, bounds, &accepted)
            for t in accepted:
                if bounds.tokens == CHARACTER_BYTES or self.may_be_last(state, depth, t, bounds, outside):
                    ids.push_back(t)
            return
        accepted_words(self.vocabulary, token_mask, bounds, &words)
        if bounds.tokens < CHARACTER_BYTES:
            for t in self.vocabulary.ragged:
                if has_bit(words.data(), t) and not self.may_be_last(state, 0, t, bounds, outside):
                    clear_bit(words.data(), t)
        if has_many_bits(&words, self.vocabulary.words):
            self.add_words(&words)
        else:
            list_bits(&words, ids)

    cdef bint may_be_last(
        self, uint32_t state, uint32_t depth, uint32_t token, CountBoundsC bounds, uint32_t outside
    ) noexcept nogil:
        """Return whether an accepted token may be one of the last ones: the tokens left suffice for
        the bytes that its last character lacks, or the rows outside accept the rest of the token.
        """
        cdef vector[uint32_t] lengths
        cdef uint32_t missing = missing_after(
            self.builder, self.vocabulary, state, depth, token, bounds.least, bounds.most, &lengths)
        return missing < bounds.tokens or (outside != DEAD and self.takes_rest(outside, token, &lengths))

    cdef bint takes_rest(self, uint32_t outside, uint32_t token, vector[uint32_t]* lengths) noexcept nogil:
        """Return whether a configuration accepts the rest of a token after one of its prefixes."""
        cdef uint32_t start, k, configuration
        for start in lengths[0]:
            configuration = outside
            for k in range(self.vocabulary.offsets[token] + start, self.vocabulary.offsets[token + 1]):
                configuration = self.arena.step(configuration, self.vocabulary.data[k])
                if configuration == DEAD:
                    break
            if configuration != DEAD and self.arena.may_end_token(configuration):
                return True
        return False

    cdef void add_split(
        self, uint32_t configuration, ItemC* item, uint32_t node, TokenMaskC* token_mask,
        CountBoundsC bounds, uint32_t outside, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append tokens that the item begins and the rows outside complete, at any split point."""
        cdef RowC row = self.arena.rows[self.arena.configurations[outside].row]
        cdef uint32_t b, k, after
        cdef vector[uint32_t] places
        if not self.has_narrow_end(configuration, item):
            self.add_exits(token_mask, outside, bounds, ids)
            self.add_long(configuration, node, too_long(self.vocabulary, token_mask, bounds), ids)
            return
        for b in range(256):
            if not (row.live[b >> 6] >> (b & 63)) & 1:
                continue
            after = self.arena.step(outside, <uint8_t>b)
            if after == DEAD:
                continue
            places.clear()
            list_split_points(
                self.builder, self.vocabulary, item.state, node, <uint8_t>b, bounds.least, bounds.most, &places)
            for k in places:
                self.add_node(after, k, ids)
                self.add_subtree(after, k, ids)

    cdef void add_long(
        self, uint32_t configuration, uint32_t node, TokenListC tokens, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append the tokens below a node that are too long for the rule and still allowed."""
        cdef uint32_t depth = self.vocabulary.nodes[node].depth, t, k, n, same
        cdef const uint8_t* top = self.vocabulary.data.data() + self.vocabulary.offsets[
            self.vocabulary.order[self.vocabulary.nodes[node].first]]
        cdef const uint8_t* text
        cdef const uint8_t* last = top
        cdef vector[uint32_t] path
        path.assign(self.vocabulary.max_token_bytes + 1, DEAD)
        path[depth] = configuration
        same = depth
        for k in range(tokens.n):
            t = tokens.ids[k]
            text = self.vocabulary.data.data() + self.vocabulary.offsets[t]
            n = self.vocabulary.offsets[t + 1] - self.vocabulary.offsets[t]
            if n <= depth or memcmp(text, top, depth):
                continue
            # the common prefix with the previous token is walked already
            same = common(last, text, depth, min(same, n))
            while same < n:
                path[same + 1] = self.arena.step(path[same], text[same]) if path[same] != DEAD else DEAD
                same += 1
            last = text
            if path[n] != DEAD and self.arena.may_end_token(path[n]):
                ids.push_back(t)

    cdef uint32_t exits_taken(self, uint32_t number, uint32_t outside) noexcept nogil:
        """Return the index in ``shared`` of the uncertain tokens that the rows outside accept."""
        cdef uint64_t key = <uint64_t>outside << 32 | number
        cdef uint32_t index = map_get(&self.list_ids, key)
        cdef vector[uint32_t] ids
        cdef TokenMaskPtr token_mask = self.token_masks[number]
        if index != MISSING:
            return index
        self.add_exits(token_mask.get(), outside, no_bounds(), &ids)
        self.shared.push_back(ids)
        self.held += held_bytes(self.shared.back())
        return self.arena.keep(&self.list_ids, key, <uint32_t>self.shared.size() - 1)

    cdef void add_exits(
        self, TokenMaskC* token_mask, uint32_t outside, CountBoundsC bounds, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append the tokens below exits that the rows outside accept, except exits in ``closed``.
        """
        cdef RowC row = self.arena.rows[self.arena.configurations[outside].row]
        cdef uint32_t g, k, configuration
        cdef vector[uint32_t] closed = self.closed
        cdef SuffixTriePtr suffixes
        self.closed.clear()
        for g in range(<uint32_t>token_mask.groups.size()):
            k = token_mask.groups[g].byte
            if not (row.live[k >> 6] >> (k & 63)) & 1:
                continue
            configuration = self.arena.step(outside, <uint8_t>k)
            if configuration == DEAD:
                continue
            suffixes = suffix_trie_of(token_mask, g, self.vocabulary, self.table)
            if suffixes.get() != NULL:
                self.add_suffixes(token_mask, suffixes.get(), configuration, bounds, &closed, ids)
                for k in suffixes.get().large:
                    self.add_exit(token_mask, k, configuration, bounds, &closed, ids)
                continue
            for k in range(token_mask.groups[g].start, token_mask.groups[g].end):
                self.add_exit(token_mask, k, configuration, bounds, &closed, ids)

    cdef void add_exit(
        self, TokenMaskC* token_mask, uint32_t number, uint32_t configuration, CountBoundsC bounds,
        vector[uint32_t]* closed, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append the tokens below one exit; ``configuration`` follows the byte of its group."""
        if bounds.counted and not fits(before_exit(self.vocabulary, token_mask, number, bounds), bounds):
            return
        if contains(closed, token_mask.exits[2 * number]):
            return
        self.add_node(configuration, token_mask.exits[2 * number + 1], ids)
        self.add_subtree(configuration, token_mask.exits[2 * number + 1], ids)

    cdef void add_suffixes(
        self, TokenMaskC* token_mask, SuffixTrieC* suffixes, uint32_t configuration, CountBoundsC bounds,
        vector[uint32_t]* closed,
        vector[uint32_t]* ids
    ) noexcept nogil:
        """Append the tokens of a suffix trie; ``configuration`` follows the byte of its group."""
        cdef SuffixNodeC* nodes = suffixes.nodes.data()
        cdef uint32_t* stack
        cdef uint32_t node = 0, k, t, x
        # allocated on first use
        self.suffix_stack.resize(self.vocabulary.max_token_bytes + 2)
        stack = self.suffix_stack.data()
        while node + 1 < suffixes.nodes.size():
            if node:
                configuration = self.arena.step(stack[nodes[node].depth - 1], nodes[node].byte)
            if configuration == DEAD:
                node = nodes[node].end
                continue
            stack[nodes[node].depth] = configuration
            for k in range(nodes[node].first, nodes[node + 1].first):
                t = suffixes.tokens[k]
                if not self.arena.may_end_token(configuration):
                    break
                if bounds.counted and not fits(
                        self.before_suffix(token_mask, suffixes, k, nodes[node].depth, bounds), bounds):
                    continue
                if closed.size():
                    x = self.vocabulary.offsets[t + 1] - self.vocabulary.offsets[t] - nodes[node].depth
                    if self.is_below(t, x, closed):
                        continue
                ids.push_back(t)
            node += 1

    cdef uint32_t before_suffix(
        self, TokenMaskC* token_mask, SuffixTrieC* suffixes, uint32_t number, uint32_t length, CountBoundsC bounds
    ) noexcept nogil:
        """Return how many iterations are complete where a token's suffix begins."""
        cdef uint32_t t = suffixes.tokens[number]
        if not bounds.is_text:
            return suffixes.counts[number] if suffixes.counts.size() else 0
        return characters(
            self.vocabulary, t, self.vocabulary.nodes[token_mask.node].depth,
            self.vocabulary.offsets[t + 1] - self.vocabulary.offsets[t] - length, bounds)

    cdef bint is_below(self, uint32_t token, uint32_t depth, vector[uint32_t]* closed) noexcept nogil:
        """Return whether the token passes through one of these nodes at a depth."""
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
        """Fill ``closed`` with the nodes below ``top`` where the state cannot end, but the state
        that it is like can.
        """
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
        self, uint32_t configuration, uint32_t top, TokenMaskC* token_mask, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append tokens in which a pattern completes; rows follow their bytes from ``top`` on."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef const uint8_t* text
        cdef const uint8_t* last
        cdef uint32_t depth = nodes[top].depth, same = depth, n, node
        cdef vector[uint32_t] path
        if token_mask.triggers.size() == 0:
            return
        path.assign(self.vocabulary.max_token_bytes + 1, DEAD)
        path[depth] = configuration
        last = self.vocabulary.data.data() + self.vocabulary.offsets[self.vocabulary.order[nodes[top].first]]
        for node in token_mask.triggers:
            text = self.vocabulary.data.data() + self.vocabulary.offsets[self.vocabulary.order[nodes[node].first]]
            n = nodes[node].depth
            # triggers ascend, so most of a path is that of the one before
            same = common(last, text, depth, min(same, n))
            while same < n:
                path[same + 1] = self.arena.step(path[same], text[same]) if path[same] != DEAD else DEAD
                same += 1
            last = text
            if path[n] != DEAD:
                self.add_subtree(path[n], node, ids)

    # -- token edges and walks over rows -----------------------------------------------------------
    cdef void add_tokens(self, uint32_t configuration, uint32_t state) noexcept nogil:
        """Add the tokens of token edges; a stop token only if the text may end after it."""
        cdef StateC* s = &self.arena.automata.states[state]
        cdef TokenSetC* tokens
        cdef uint32_t e, t
        cdef vector[uint32_t] ids, words
        for e in range(s.token_off, s.token_off + s.n_tokens):
            tokens = &self.arena.automata.ir.token_sets[self.arena.automata.token_edges[e].symbol]
            if tokens.others:
                self.add_others(tokens)
            else:
                self.list_tokens(tokens, &ids, &words)
        if words.size():
            for t in self.vocabulary.stops:
                if has_bit(words.data(), t):
                    clear_bit(words.data(), t)
                    ids.push_back(t)
            self.add_words(&words)
        for t in ids:
            if self.vocabulary.kind[t] != STOP or self.arena.accepts(self.arena.step_token(configuration, t)):
                self.scratch.ids.push_back(t)

    cdef void list_tokens(self, TokenSetC* tokens, vector[uint32_t]* ids, vector[uint32_t]* words) noexcept nogil:
        """Append the ids of short ranges, and set the bits of long ones."""
        cdef uint32_t k, t
        for k in range(0, tokens.n, 2):
            if tokens.bounds[k + 1] - tokens.bounds[k] < SHORT_RANGE:
                for t in range(tokens.bounds[k], tokens.bounds[k + 1] + 1):
                    ids.push_back(t)
            else:
                words.resize(self.vocabulary.words, 0)
                set_range(words.data(), tokens.bounds[k], tokens.bounds[k + 1])

    cdef void add_others(self, TokenSetC* tokens) noexcept nogil:
        """Add all tokens except some to ``scratch``; the exceptions include all stop tokens."""
        cdef vector[uint32_t] words
        cdef uint32_t k
        words.assign(self.vocabulary.texts.begin(), self.vocabulary.texts.end())
        for k in range(0, tokens.n, 2):
            clear_range(words.data(), tokens.bounds[k], tokens.bounds[k + 1])
        self.add_words(&words)

    cdef void add_words(self, vector[uint32_t]* words) noexcept nogil:
        """Add a bitset to ``scratch``."""
        if self.scratch.words.size():
            or_words(self.scratch.words.data(), words.data(), self.vocabulary.words)
        else:
            self.scratch.words.swap(words[0])

    cdef void add_items(
        self, uint32_t configuration, uint32_t node, vector[uint32_t]* items, vector[uint32_t]* ids
    ) noexcept nogil:
        """Append the tokens below a node that a configuration accepts, item by item."""
        cdef uint32_t k
        cdef bint others = False
        cdef ItemC item
        self.take_together(configuration, node, items, ids)
        for k in items[0]:
            if self.arena.error != NO_ERROR:
                return
            item = self.arena.items[k]
            if self.has_token_mask(configuration, &item, node):
                self.add_item(configuration, item, node, ids)
            else:
                others = True
        if others:
            self.walk_others(configuration, node, ids)

    cdef void walk_others(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """Append the tokens below a node whose next byte an item without token masks takes."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef RowC row = self.arena.rows[self.arena.configurations[configuration].row]
        cdef uint32_t child = node + 1, end = nodes[node].end, k, j
        cdef uint64_t live[4]
        cdef ItemC item
        for k in range(4):
            live[k] = 0
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.arena.items[k]
            if not self.has_token_mask(configuration, &item, node):
                for j in range(4):
                    live[j] |= self.arena.automata.states[item.state].live[j]
        if node == 0:
            # looking at all of the root's children, which lie far apart, would take a microsecond
            for k in range(256):
                child = self.vocabulary.first_nodes[k]
                if child and (live[k >> 6] >> (k & 63)) & 1:
                    self.add_over_byte(configuration, child, ids)
            return
        while child < end:
            if (live[nodes[child].byte >> 6] >> (nodes[child].byte & 63)) & 1:
                self.add_over_byte(configuration, child, ids)
            child = nodes[child].end

    cdef void add_over_byte(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """Append the tokens at and below a node, whose byte follows the configuration."""
        configuration = self.arena.step(configuration, self.vocabulary.nodes[node].byte)
        if configuration != DEAD:
            self.add_node(configuration, node, ids)
            self.add_subtree(configuration, node, ids)

    cdef void add_subtree(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """Append the tokens below a node that a configuration accepts, in the cheaper way."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef vector[uint32_t] items
        if nodes[node].end == node + 1:
            return
        if (nodes[node].end - node > LARGE and self.nested < MAX_NESTED
                and self.arena.rows[self.arena.configurations[configuration].row].has_tabled):
            self.nested += 1
            self.list_items(configuration, &items)
            self.add_items(configuration, node, &items, ids)
            self.nested -= 1
        else:
            self.walk_rows(configuration, node, ids)

    cdef void walk_rows(self, uint32_t configuration, uint32_t top, vector[uint32_t]* ids) noexcept nogil:
        """Like ``add_subtree``, over rows; a rejected byte skips a subtree."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t* stack
        cdef uint32_t node = top + 1, end = nodes[top].end
        self.walk_stack.resize(self.vocabulary.max_token_bytes + 2)
        stack = self.walk_stack.data()
        stack[nodes[top].depth] = configuration
        while node < end:
            configuration = self.arena.step(stack[nodes[node].depth - 1], nodes[node].byte)
            if configuration == DEAD:
                node = nodes[node].end
                continue
            self.add_node(configuration, node, ids)
            if nodes[node].end - node > LARGE:
                self.add_subtree(configuration, node, ids)
                node = nodes[node].end
                continue
            stack[nodes[node].depth] = configuration
            node += 1

    cdef void add_node(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil:
        """Append the tokens that end at a node, if a token may end here."""
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t k
        if not self.arena.may_end_token(configuration):
            return
        for k in range(nodes[node].first, nodes[node + 1].first):
            ids.push_back(self.vocabulary.order[k])


cdef uint32_t common(const uint8_t* one, const uint8_t* other, uint32_t start, uint32_t end) noexcept nogil:
    """Return where two texts begin to differ, between ``start`` and ``end``."""
    while start < end and one[start] == other[start]:
        start += 1
    return start


cdef bint contains(vector[uint32_t]* values, uint32_t value) noexcept nogil:
    cdef uint32_t k
    for k in values[0]:
        if k == value:
            return True
    return False


cdef void add_once(vector[uint32_t]* configurations, uint32_t configuration) noexcept nogil:
    """Append a configuration that is not dead, unless it is present."""
    if configuration != DEAD and not contains(configurations, configuration):
        configurations.push_back(configuration)


# -- logits ----------------------------------------------------------------------------------------

cdef extern from "masks/logits.h" namespace "logits":
    void rule_out(float* row, const uint32_t* words, size_t width) noexcept nogil

# Logits that are written under the GIL: about 0.1 ms. A thread that releases the GIL may get it
# back only milliseconds later, when other threads want it.
cdef Py_ssize_t MAX_UNDER_GIL = 1 << 20


def apply_bitmask(float[:, ::1] logits not None, bitmask):
    """Set the logits of forbidden tokens to minus infinity, in place.

    Args:
        logits: writable C-contiguous buffer of float32, shape (rows, V).
        bitmask: C-contiguous buffer of int32, shape (rows, at least ceil(V / 32)). Bit t % 32 of
            word t // 32 is set if token t is allowed. Bits past V are ignored.

    Raises:
        ValueError: wrong shape or dtype.
    """
    cdef float* first = &logits[0, 0] if logits.shape[0] and logits.shape[1] else NULL
    lay(first, logits.shape[0], logits.shape[1], rows_of(bitmask))


def apply_bitmask_at(uintptr_t address, Py_ssize_t rows, Py_ssize_t width, bitmask):
    """``apply_bitmask`` for the memory of a framework's tensor, whose buffer can cost as much as
    the rest.

    Args:
        address: of writable memory with rows * width adjacent float32, which must stay valid during
            the call. This cannot be checked.
        rows, width: the shape of the logits.
        bitmask: as for ``apply_bitmask``.

    Raises:
        ValueError: a bitmask of another shape or dtype, or no memory.
    """
    if rows < 0 or width < 0 or (address == 0 and rows and width):
        raise ValueError(f"no memory for logits of shape ({rows}, {width}) at address {address}")
    lay(<float*>address, rows, width, rows_of(bitmask))


cdef int lay(float* logits, Py_ssize_t rows, Py_ssize_t width, int[:, ::1] bitmask) except -1:
    if bitmask.shape[0] != rows or bitmask.shape[1] * 32 < width:
        raise ValueError(
            f"logits of shape ({rows}, {width}) need a bitmask of as many rows and (width + 31) // 32 words, "
            f"got shape ({bitmask.shape[0]}, {bitmask.shape[1]})")
    if not width:
        return 0
    if rows * width <= MAX_UNDER_GIL:
        rule_out_rows(logits, width, bitmask)
    else:
        with nogil:
            rule_out_rows(logits, width, bitmask)
    return 0


cdef void rule_out_rows(float* logits, Py_ssize_t width, int[:, ::1] bitmask) noexcept nogil:
    cdef Py_ssize_t row
    for row in range(bitmask.shape[0]):
        rule_out(logits + row * width, <const uint32_t*>&bitmask[row, 0], width)
