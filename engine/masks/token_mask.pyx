"""Token masks: the cache, suffix tries, and filtering by count bounds."""

from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared

from ..automata.rule_automata cimport StateC
from ..earley.rows cimport Arena, ItemC
from ..grammar.ir cimport NO_MAXIMUM
from ..grammar.lowered cimport CHARACTER_BYTES, DISPATCH_RULE, RuleC, iterations, tokens_left
from ..grammar.rule_digest cimport DigestC, bytes_of
from ..native.bitset cimport clear_bit, has_bit, list_bits, set_bits
from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put, mix
from ..native.pool cimport held_bytes, vector
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary, lead_bytes


cdef inline uint64_t key_hash(TokenMaskKeyC key) noexcept nogil:
    """Return 64 bits for the index; callers compare the whole key."""
    return mix(key.high ^ mix(key.low ^ mix(<uint64_t>key.state << 32 | key.node))) | 1


cdef inline uint64_t rule_hash(TokenMaskKeyC key) noexcept nogil:
    """Return 64 bits for the index of rules; callers compare the whole digest."""
    return mix(key.high ^ mix(key.low)) | 1


cdef inline bint same_rule(TokenMaskKeyC a, TokenMaskKeyC b) noexcept nogil:
    return a.high == b.high and a.low == b.low


cdef inline bint same_key(TokenMaskKeyC a, TokenMaskKeyC b) noexcept nogil:
    return same_rule(a, b) and a.state == b.state and a.node == b.node


cdef class TokenMaskCache:
    """Token masks of all grammars of one compiler, by rule digest, state and node.

    Args:
        max_bytes: bound on the bytes held.
    """

    def __cinit__(self, size_t max_bytes):
        self.max_bytes = max_bytes
        self.held = 0
        self.hits = self.misses = self.evictions = 0
        self.made = self.made_ns = 0

    cdef size_t bytes_held(self) noexcept nogil:
        """Return the bytes held; the caller holds the mutex."""
        return (
            self.held + held_bytes(self.entries) + held_bytes(self.older) + held_bytes(self.fresh)
            + map_bytes(&self.index) + map_bytes(&self.latest))

    cdef TokenMaskPtr find(self, TokenMaskKeyC key) noexcept nogil:
        """Return the token mask, or a null pointer."""
        cdef TokenMaskPtr token_mask
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(key))
        if at != MISSING and same_key(self.entries[at].key, key):
            token_mask = self.entries[at].token_mask
            self.entries[at].is_used = True
            self.hits += 1
        else:
            self.misses += 1
        self.guard.unlock()
        return token_mask

    cdef bint add(self, TokenMaskEntryC* entry, bint is_fresh) noexcept nogil:
        """Add an entry unless its key is present. Return whether it was added."""
        cdef uint64_t key = key_hash(entry.key), rule = rule_hash(entry.key)
        cdef uint32_t number
        cdef bint is_new
        self.guard.lock()
        if self.bytes_held() + entry.bytes > self.max_bytes:
            self.clear()
            self.evictions += 1
        is_new = map_get(&self.index, key) == MISSING
        if is_new:
            number = <uint32_t>self.entries.size()
            map_put(&self.index, key, number)
            if is_fresh:
                self.fresh.push_back(number)
            self.older.push_back(map_get(&self.latest, rule))
            map_put(&self.latest, rule, number)
            self.entries.push_back(entry[0])
            self.entries.back().is_stored, self.entries.back().is_used = not is_fresh, False
            entry.token_mask.get().is_cached = True
            self.held += entry.bytes
        elif not is_fresh:
            number = map_get(&self.index, key)
            if same_key(self.entries[number].key, entry.key):
                self.entries[number].is_stored = True
        self.guard.unlock()
        return is_new

    cdef void clear(self) noexcept nogil:
        cdef size_t k
        for k in range(self.entries.size()):
            self.entries[k].token_mask.get().is_cached = False
        map_clear(&self.index)
        map_clear(&self.latest)
        self.older.clear()
        self.entries.clear()
        self.fresh.clear()
        self.held = 0

    cdef void count_made(self, uint64_t took_ns) noexcept nogil:
        self.guard.lock()
        self.made += 1
        self.made_ns += took_ns
        self.guard.unlock()

    cdef void take_fresh(self, vector[TokenMaskEntryC]* out) noexcept nogil:
        """Append all token masks of the rules that got one since the last call, rule by rule."""
        cdef vector[uint8_t] is_taken
        cdef uint32_t at, older
        self.guard.lock()
        is_taken.resize(self.entries.size())
        for at in self.fresh:
            older = map_get(&self.latest, rule_hash(self.entries[at].key))
            while older != MISSING:
                if same_rule(self.entries[older].key, self.entries[at].key):
                    if is_taken[older]:
                        break
                    is_taken[older] = True
                    self.entries[older].is_stored = True
                    out.push_back(self.entries[older])
                older = self.older[older]
        self.fresh.clear()
        self.guard.unlock()

    cdef void keep_body(self, TokenMaskEntryC* entry) noexcept nogil:
        """Keep an encoded body, so that the next hand-over of its rule does not encode it again."""
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(entry.key))
        if at != MISSING and same_key(self.entries[at].key, entry.key) and self.entries[at].body.size() == 0:
            self.entries[at].body = entry.body
            self.entries[at].bytes += entry.body.size()
            self.held += entry.body.size()
        self.guard.unlock()

    def fresh_rules(self):
        """Return the digests of rules with token masks built since the last ``take_fresh``."""
        cdef vector[TokenMaskKeyC] keys
        cdef uint32_t at
        with nogil:
            self.guard.lock()
            for at in self.fresh:
                keys.push_back(self.entries[at].key)
            self.guard.unlock()
        return [*{bytes_of(DigestC(key.high, key.low)) for key in keys}]

    def take_used(self):
        """Return the digests of rules in the log whose token masks were found since the last call.
        """
        cdef vector[TokenMaskKeyC] keys
        cdef size_t k
        with nogil:
            self.guard.lock()
            for k in range(self.entries.size()):
                if self.entries[k].is_used and self.entries[k].is_stored:
                    keys.push_back(self.entries[k].key)
                self.entries[k].is_used = False
            self.guard.unlock()
        return [*{bytes_of(DigestC(key.high, key.low)) for key in keys}]

    def stats(self):
        """Return counts of token masks, bytes and look-ups, and of masks built, with their time."""
        cdef size_t n, held
        cdef uint64_t hits, misses, evictions, made, made_ns
        with nogil:
            self.guard.lock()
            n, held = self.entries.size(), self.bytes_held()
            hits, misses, evictions = self.hits, self.misses, self.evictions
            made, made_ns = self.made, self.made_ns
            self.guard.unlock()
        return {
            "token_masks": n, "bytes": held, "hits": hits, "misses": misses, "evictions": evictions,
            "made": made, "made_ns": made_ns,
        }


cdef size_t token_mask_bytes(TokenMaskC* t) noexcept nogil:
    return (
        sizeof(TokenMaskC) + held_bytes(t.groups) + held_bytes(t.words) + held_bytes(t.ids) + held_bytes(t.need_ends)
        + held_bytes(t.exits) + held_bytes(t.exit_counts) + held_bytes(t.triggers))


cdef size_t suffix_trie_bytes(SuffixTrieC* suffixes) noexcept nogil:
    return (
        sizeof(SuffixTrieC) + held_bytes(suffixes.nodes) + held_bytes(suffixes.tokens) + held_bytes(suffixes.counts)
        + held_bytes(suffixes.large))


cdef bint is_sound(TokenMaskC* t, Vocabulary vocabulary) noexcept nogil:
    """Return whether all indices of a loaded token mask are valid, so that walks may follow them.
    """
    cdef uint32_t k, x, last = 0, nodes = <uint32_t>vocabulary.nodes.size() - 1
    if t.words.size() and t.words.size() != vocabulary.words:
        return False
    if t.exits.size() % 2 or (t.exit_counts.size() and 2 * t.exit_counts.size() != t.exits.size()):
        return False
    if t.node >= nodes:
        return False
    for k in range(<uint32_t>t.words.size()):
        if t.words[k] & ~vocabulary.ordinary_words[k]:
            return False
    for k in t.ids:
        if k >= vocabulary.size or not has_bit(vocabulary.ordinary_words.data(), k):
            return False
    for k in t.need_ends:
        if k < last or k > t.ids.size():
            return False
        last = k
    for k in t.triggers:
        if k <= t.node or k >= vocabulary.nodes[t.node].end:
            return False
    for k in range(<uint32_t>t.exits.size() // 2):
        x = t.exits[2 * k]
        if x <= t.node or x >= vocabulary.nodes[t.node].end or not is_child(vocabulary, x, t.exits[2 * k + 1]):
            return False
    return group_exits(t, vocabulary)


cdef bint is_child(Vocabulary vocabulary, uint32_t x, uint32_t k) noexcept nogil:
    return x < k < vocabulary.nodes[x].end and vocabulary.nodes[k].depth == vocabulary.nodes[x].depth + 1


cdef bint group_exits(TokenMaskC* t, Vocabulary vocabulary) noexcept nogil:
    """Fill ``groups``. False: the exits are not sorted by the byte of k."""
    cdef uint32_t k, n = <uint32_t>t.exits.size() // 2
    cdef uint8_t byte
    cdef ExitGroupC group
    t.groups.clear()
    for k in range(n):
        byte = vocabulary.nodes[t.exits[2 * k + 1]].byte
        if t.groups.size() and byte < t.groups.back().byte:
            return False
        if t.groups.size() == 0 or byte != t.groups.back().byte:
            group.byte, group.start, group.uses = byte, k, 0
            t.groups.push_back(group)
        t.groups.back().end = k + 1
    return True


# -- suffix trie -----------------------------------------------------------------------------------

# Groups with fewer exits are followed one by one.
cdef uint32_t FEW_EXITS = 24
# Larger subtrees of the token trie are not copied.
cdef uint32_t LARGE_SUBTREE = 256


cdef struct SuffixC:
    const uint8_t* text       # of the suffix
    uint32_t length, token, count


cdef bint entry_before(const SuffixC& a, const SuffixC& b) noexcept nogil:
    cdef uint32_t k
    for k in range(min(a.length, b.length)):
        if a.text[k] != b.text[k]:
            return a.text[k] < b.text[k]
    if a.length != b.length:
        return a.length < b.length
    return a.token < b.token


cdef SuffixTriePtr suffix_trie_of(
    TokenMaskC* token_mask, uint32_t group, Vocabulary vocabulary, TokenMaskCache table
) noexcept nogil:
    """Return the suffix trie of a group of exits; null for a small group, or the first use."""
    cdef SuffixTriePtr suffixes
    cdef ExitGroupC* g = &token_mask.groups[group]
    cdef uint32_t uses
    if g.end - g.start < FEW_EXITS:
        return suffixes
    if table is not None:
        table.guard.lock()
    suffixes = g.suffixes
    g.uses += 1
    uses = g.uses
    if table is not None:
        table.guard.unlock()
    if suffixes.get() != NULL or uses < 2:
        return suffixes
    suffixes = make_suffix_trie(token_mask, g, vocabulary)
    if table is not None:
        table.guard.lock()
    if token_mask.is_cached and g.suffixes.get() == NULL:
        table.held += suffix_trie_bytes(suffixes.get())
    g.suffixes = suffixes
    if table is not None:
        table.guard.unlock()
    return suffixes


cdef SuffixTriePtr make_suffix_trie(TokenMaskC* token_mask, ExitGroupC* group, Vocabulary vocabulary) noexcept nogil:
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef SuffixTriePtr suffixes = make_shared[SuffixTrieC]()
    cdef vector[SuffixC] entries
    cdef SuffixC entry
    cdef uint32_t e, k, j, t
    for e in range(group.start, group.end):
        k = token_mask.exits[2 * e + 1]
        if nodes[k].end - k > LARGE_SUBTREE:
            suffixes.get().large.push_back(e)
            continue
        entry.count = token_mask.exit_counts[e] if token_mask.exit_counts.size() else 0
        for j in range(nodes[k].first, nodes[nodes[k].end].first):
            t = vocabulary.order[j]
            entry.token = t
            entry.text = vocabulary.data.data() + vocabulary.offsets[t] + nodes[k].depth - 1
            entry.length = vocabulary.offsets[t + 1] - vocabulary.offsets[t] - (nodes[k].depth - 1)
            entries.push_back(entry)
    sort(entries.begin(), entries.end(), &entry_before)
    build_trie(&entries, group.byte, token_mask.exit_counts.size() > 0, suffixes.get())
    return suffixes


cdef void build_trie(vector[SuffixC]* entries, uint8_t byte, bint counted, SuffixTrieC* out) noexcept nogil:
    """Build the trie in one pass over sorted suffixes, like the token trie."""
    cdef vector[uint32_t] open_nodes
    cdef SuffixNodeC node
    cdef const uint8_t* last = NULL
    cdef uint32_t k, depth, common, before = 1
    node.end = node.first = 0
    node.depth, node.byte = 1, byte
    out.nodes.push_back(node)
    open_nodes.push_back(0)
    for k in range(<uint32_t>entries.size()):
        common = 1
        while last != NULL and common < entries[0][k].length and common < before and (
                entries[0][k].text[common] == last[common]):
            common += 1
        while open_nodes.size() > common:
            out.nodes[open_nodes.back()].end = <uint32_t>out.nodes.size()
            open_nodes.pop_back()
        for depth in range(common, entries[0][k].length):
            node.first = <uint32_t>out.tokens.size()
            node.depth, node.byte = <uint16_t>(depth + 1), entries[0][k].text[depth]
            open_nodes.push_back(<uint32_t>out.nodes.size())
            out.nodes.push_back(node)
        out.tokens.push_back(entries[0][k].token)
        if counted:
            out.counts.push_back(entries[0][k].count)
        last, before = entries[0][k].text, entries[0][k].length
    while open_nodes.size():
        out.nodes[open_nodes.back()].end = <uint32_t>out.nodes.size()
        open_nodes.pop_back()
    node.end, node.first = <uint32_t>out.nodes.size(), <uint32_t>out.tokens.size()
    out.nodes.push_back(node)


# -- count bounds ----------------------------------------------------------------------------------

cdef CountBoundsC no_bounds() noexcept nogil:
    cdef CountBoundsC out
    out.least, out.most, out.counted, out.is_text = 0, NO_MAXIMUM, False, False
    out.begun, out.tokens = 0, CHARACTER_BYTES
    return out


cdef CountBoundsC bounds_of(Arena arena, uint32_t configuration, ItemC* item) noexcept nogil:
    """Return what an item may still do; counts out of one token's reach are equal."""
    cdef CountBoundsC out = no_bounds()
    cdef StateC* state = &arena.automata.states[item.state]
    cdef RuleC* rule = &arena.automata.ir.rules[state.rule]
    cdef uint32_t count, value
    if not rule.counted:
        return out
    value = arena.value_of(configuration, item)
    out.tokens = min(tokens_left(rule, value), <uint32_t>CHARACTER_BYTES)
    if not rule.iterates:
        return out
    count = iterations(rule, value)
    if count < rule.minimum:
        out.least = rule.minimum - count
    if rule.maximum != NO_MAXIMUM and rule.maximum - count <= arena.automata.span[state.rule]:
        out.most = rule.maximum - count
    out.counted = out.least > 0 or out.most != NO_MAXIMUM
    out.is_text = rule.kind == DISPATCH_RULE
    out.begun = state.missing > 0
    return out


cdef bint fits(uint32_t count, CountBoundsC bounds) noexcept nogil:
    """Return whether the item may end after this number of iterations."""
    return not bounds.counted or bounds.least <= count <= bounds.most


cdef void accepted_words(
    Vocabulary vocabulary, TokenMaskC* token_mask, CountBoundsC bounds, vector[uint32_t]* words
) noexcept nogil:
    """Write the accepted tokens that fit the bounds as a bitset."""
    cdef uint32_t k, fit = fitting(token_mask, bounds)
    if token_mask.words.size() and fit >= token_mask.ids.size() // 2:
        # ordered by need, the ids include all words
        words.assign(token_mask.words.begin(), token_mask.words.end())
        for k in range(fit, <uint32_t>token_mask.ids.size()):
            clear_bit(words.data(), token_mask.ids[k])
    else:
        words.assign(vocabulary.words, 0)
        set_bits(words.data(), token_mask.ids.data(), fit)
    if bounds.is_text and bounds.most != NO_MAXIMUM:
        drop_long(vocabulary, longest_fit(vocabulary, token_mask.node, bounds), words)


cdef uint32_t fitting(TokenMaskC* token_mask, CountBoundsC bounds) noexcept nogil:
    """Return how many ids fit; ids of free text are not ordered by need."""
    if bounds.counted and not bounds.is_text and <size_t>bounds.most + 1 < token_mask.need_ends.size():
        return token_mask.need_ends[bounds.most]
    return <uint32_t>token_mask.ids.size()


cdef void accepted_ids(
    Vocabulary vocabulary, TokenMaskC* token_mask, CountBoundsC bounds, vector[uint32_t]* ids
) noexcept nogil:
    """Like ``accepted_words``, but append ids; for token masks of small subtrees."""
    cdef uint32_t t, longest = NO_MAXIMUM
    cdef vector[uint32_t] fitting_ids
    if bounds.is_text and bounds.most != NO_MAXIMUM:
        longest = longest_fit(vocabulary, token_mask.node, bounds)
    fitting_ids.assign(token_mask.ids.begin(), token_mask.ids.begin() + fitting(token_mask, bounds))
    # ordered by need, the ids include all words
    if token_mask.need_ends.size() == 0:
        list_bits(&token_mask.words, &fitting_ids)
    for t in fitting_ids:
        if vocabulary.begun[t] <= longest:
            ids.push_back(t)


cdef uint32_t longest_fit(Vocabulary vocabulary, uint32_t top, CountBoundsC bounds) noexcept nogil:
    """Return how many characters a token below ``top`` may begin in all, so that its rest fits."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t before = 0
    if top:
        before = lead_bytes(
            vocabulary.data.data() + vocabulary.offsets[vocabulary.order[nodes[top].first]], nodes[top].depth)
    return before + bounds.most - bounds.begun


cdef TokenListC too_long(Vocabulary vocabulary, TokenMaskC* token_mask, CountBoundsC bounds) noexcept nogil:
    """List tokens below the token mask's node that the rule rejects only because of the upper
    bound.

    Of free text it lists all tokens that are too long, whatever comes before them.
    """
    cdef TokenListC out
    cdef uint32_t fit
    if bounds.is_text:
        fit = vocabulary.of_chars(longest_fit(vocabulary, token_mask.node, bounds))
        out.ids, out.n = vocabulary.by_chars.data() + fit, <uint32_t>vocabulary.by_chars.size() - fit
    else:
        fit = fitting(token_mask, bounds)
        out.ids, out.n = token_mask.ids.data() + fit, <uint32_t>token_mask.ids.size() - fit
    return out


cdef void drop_long(Vocabulary vocabulary, uint32_t most, vector[uint32_t]* words) noexcept nogil:
    """Clear the tokens that begin more characters."""
    cdef uint32_t k, fit = vocabulary.of_chars(most), n = <uint32_t>vocabulary.by_chars.size()
    cdef vector[uint32_t] kept
    if n - fit <= fit:
        for k in range(fit, n):
            clear_bit(words.data(), vocabulary.by_chars[k])
        return
    kept.assign(vocabulary.words, 0)
    for k in range(fit):
        if has_bit(words.data(), vocabulary.by_chars[k]):
            kept[vocabulary.by_chars[k] >> 5] |= <uint32_t>1 << (vocabulary.by_chars[k] & 31)
    words.swap(kept)


cdef uint32_t characters(
    Vocabulary vocabulary, uint32_t token, uint32_t start, uint32_t end, CountBoundsC bounds
) noexcept nogil:
    """Return how many characters are complete after a part of a token."""
    return bounds.begun + lead_bytes(vocabulary.data.data() + vocabulary.offsets[token] + start, end - start)


cdef uint32_t before_exit(
    Vocabulary vocabulary, TokenMaskC* token_mask, uint32_t number, CountBoundsC bounds
) noexcept nogil:
    """Return how many iterations are complete at an exit."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t x = token_mask.exits[2 * number]
    if not bounds.is_text:
        # loaded token masks may lack counts
        return token_mask.exit_counts[number] if token_mask.exit_counts.size() else 0
    return characters(
        vocabulary, vocabulary.order[nodes[x].first], nodes[token_mask.node].depth, nodes[x].depth, bounds)
