"""TripleTable: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .bits cimport has_bit
from .hashing cimport MISSING, map_clear, map_get, map_put, mix
from .pool cimport vector
from .vocabulary cimport Vocabulary


cdef inline uint64_t key_hash(TripleKeyC key) noexcept nogil:
    """64 bits to find a triple by; equality is checked on the whole key."""
    return mix(key.high ^ mix(key.low ^ mix(<uint64_t>key.state << 32 | key.node))) | 1


cdef inline uint64_t rule_hash(TripleKeyC key) noexcept nogil:
    """64 bits to find a rule's triples by; equality is checked on the whole digest."""
    return mix(key.high ^ mix(key.low)) | 1


cdef inline bint same_rule(TripleKeyC a, TripleKeyC b) noexcept nogil:
    return a.high == b.high and a.low == b.low


cdef inline bint same_key(TripleKeyC a, TripleKeyC b) noexcept nogil:
    return same_rule(a, b) and a.state == b.state and a.node == b.node


cdef class TripleTable:
    """Triples of all grammars of one compiler, by digest.

    Args:
        max_bytes: bound on the bytes held.
    """

    def __cinit__(self, size_t max_bytes):
        self.max_bytes = max_bytes
        self.held = 0
        self.hits = self.misses = self.evictions = 0

    cdef TriplePtr find(self, TripleKeyC key) noexcept nogil:
        """The triple, or a null pointer."""
        cdef TriplePtr found
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(key))
        if at != MISSING and same_key(self.triples[at].get().key, key):
            found = self.triples[at]
            self.hits += 1
        else:
            self.misses += 1
        self.guard.unlock()
        return found

    cdef void add(self, TriplePtr triple, bint is_fresh) noexcept nogil:
        """``is_fresh``: made here, so the store does not have it yet."""
        cdef TripleC* t = triple.get()
        cdef size_t size = triple_bytes(t)
        self.guard.lock()
        if self.held + size > self.max_bytes:
            self.clear()
            self.evictions += 1
        if map_get(&self.index, key_hash(t.key)) == MISSING:
            map_put(&self.index, key_hash(t.key), <uint32_t>self.triples.size())
            if is_fresh:
                self.fresh.push_back(<uint32_t>self.triples.size())
            self.older.push_back(map_get(&self.latest, rule_hash(t.key)))
            map_put(&self.latest, rule_hash(t.key), <uint32_t>self.triples.size())
            self.triples.push_back(triple)
            self.held += size
        self.guard.unlock()

    cdef void clear(self) noexcept nogil:
        map_clear(&self.index)
        map_clear(&self.latest)
        self.older.clear()
        self.triples.clear()
        self.fresh.clear()
        self.held = 0

    cdef void take_fresh(self, vector[TriplePtr]* out) noexcept nogil:
        """All triples of the rules that got one here since the last call, rule by rule."""
        cdef vector[uint8_t] is_taken
        cdef uint32_t at, older
        self.guard.lock()
        is_taken.resize(self.triples.size())
        for at in self.fresh:
            older = map_get(&self.latest, rule_hash(self.triples[at].get().key))
            while older != MISSING:
                if same_rule(self.triples[older].get().key, self.triples[at].get().key):
                    if is_taken[older]:
                        break
                    is_taken[older] = True
                    out.push_back(self.triples[older])
                older = self.older[older]
        self.fresh.clear()
        self.guard.unlock()

    def stats(self):
        """Triples and bytes held, hits and misses, and how often everything was dropped."""
        cdef size_t n, held
        cdef uint64_t hits, misses, evictions
        with nogil:
            self.guard.lock()
            n, held = self.triples.size(), self.held
            hits, misses, evictions = self.hits, self.misses, self.evictions
            self.guard.unlock()
        return {
            "triples": n, "bytes": held, "hits": hits, "misses": misses, "evictions": evictions,
        }


cdef size_t triple_bytes(TripleC* t) noexcept nogil:
    return sizeof(TripleC) + sizeof(ExitGroupC) * t.groups.size() + 4 * (
        t.words.size() + t.ids.size() + t.need_ends.size() + t.exits.size() + t.exit_counts.size() + t.triggers.size())


cdef bint is_sound(TripleC* t, Vocabulary vocabulary) noexcept nogil:
    """Whether every index of a triple from outside lies where a walk may follow it."""
    cdef uint32_t k, x, last = 0, nodes = <uint32_t>vocabulary.nodes.size() - 1
    if t.words.size() and t.words.size() != vocabulary.words:
        return False
    if t.exits.size() % 2 or (t.exit_counts.size() and 2 * t.exit_counts.size() != t.exits.size()):
        return False
    if t.key.node >= nodes:
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
        if k <= t.key.node or k >= vocabulary.nodes[t.key.node].end:
            return False
    for k in range(<uint32_t>t.exits.size() // 2):
        x = t.exits[2 * k]
        if x <= t.key.node or x >= vocabulary.nodes[t.key.node].end or not is_child(vocabulary, x, t.exits[2 * k + 1]):
            return False
    return group_exits(t, vocabulary)


cdef bint is_child(Vocabulary vocabulary, uint32_t x, uint32_t k) noexcept nogil:
    return x < k < vocabulary.nodes[x].end and vocabulary.nodes[k].depth == vocabulary.nodes[x].depth + 1


cdef bint group_exits(TripleC* t, Vocabulary vocabulary) noexcept nogil:
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
