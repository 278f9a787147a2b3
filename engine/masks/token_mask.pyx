"""TokenMaskCache: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..native.bitset cimport has_bit
from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put, mix
from ..native.pool cimport held_bytes, vector
from ..sharing.rule_digest cimport DigestC, bytes_of
from ..vocabulary.vocabulary cimport Vocabulary


cdef inline uint64_t key_hash(TokenMaskKeyC key) noexcept nogil:
    """64 bits to find a token mask by; equality is checked on the whole key."""
    return mix(key.high ^ mix(key.low ^ mix(<uint64_t>key.state << 32 | key.node))) | 1


cdef inline uint64_t rule_hash(TokenMaskKeyC key) noexcept nogil:
    """64 bits to find a rule's token masks by; equality is checked on the whole digest."""
    return mix(key.high ^ mix(key.low)) | 1


cdef inline bint same_rule(TokenMaskKeyC a, TokenMaskKeyC b) noexcept nogil:
    return a.high == b.high and a.low == b.low


cdef inline bint same_key(TokenMaskKeyC a, TokenMaskKeyC b) noexcept nogil:
    return same_rule(a, b) and a.state == b.state and a.node == b.node


cdef class TokenMaskCache:
    """Token masks of all grammars of one compiler, by digest.

    Args:
        max_bytes: bound on the bytes held.
    """

    def __cinit__(self, size_t max_bytes):
        self.max_bytes = max_bytes
        self.held = 0
        self.hits = self.misses = self.evictions = 0
        self.made = self.made_ns = 0

    cdef size_t bytes_held(self) noexcept nogil:
        """Under the guard."""
        return (
            self.held + held_bytes(self.entries) + held_bytes(self.older) + held_bytes(self.fresh)
            + map_bytes(&self.index) + map_bytes(&self.latest))

    cdef TokenMaskPtr find(self, TokenMaskKeyC key) noexcept nogil:
        """The token mask, or a null pointer."""
        cdef TokenMaskPtr found
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(key))
        if at != MISSING and same_key(self.entries[at].key, key):
            found = self.entries[at].token_mask
            self.entries[at].is_used = True
            self.hits += 1
        else:
            self.misses += 1
        self.guard.unlock()
        return found

    cdef bint add(self, EntryC* entry, bint is_fresh) noexcept nogil:
        """False: there is one already."""
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
            entry.token_mask.get().is_kept = True
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
            self.entries[k].token_mask.get().is_kept = False
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

    cdef void take_fresh(self, vector[EntryC]* out) noexcept nogil:
        """All token masks of the rules that got one here since the last call, rule by rule."""
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

    cdef void keep_body(self, EntryC* entry) noexcept nogil:
        """Its body was made: the next time its rule is handed over it need not be made again."""
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(entry.key))
        if at != MISSING and same_key(self.entries[at].key, entry.key) and self.entries[at].body.size() == 0:
            self.entries[at].body = entry.body
            self.entries[at].bytes += entry.body.size()
            self.held += entry.body.size()
        self.guard.unlock()

    def fresh_rules(self):
        """The digests of rules with token masks made here since the last ``take_fresh``."""
        cdef vector[TokenMaskKeyC] keys
        cdef uint32_t at
        with nogil:
            self.guard.lock()
            for at in self.fresh:
                keys.push_back(self.entries[at].key)
            self.guard.unlock()
        return [*{bytes_of(DigestC(key.high, key.low)) for key in keys}]

    def take_used(self):
        """The digests of rules in the log with token masks that were found since the last call."""
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
        """Token masks and bytes held, hits and misses, how often everything was dropped; and how many
        were made, in how many nanoseconds.
        """
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
    """Whether every index of a token mask from outside lies where a walk may follow it."""
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
    """Fills ``groups``; False if the exits are not sorted by the byte of k."""
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
