"""DraftTable: see the header file."""

from libc.stdint cimport uint32_t, uint64_t

from .digests cimport DigestC, bytes_of, digest_from
from .draft cimport LOOP_STATE, DraftC
from .hashing cimport MISSING, map_bytes, map_clear, map_get, map_put, mix
from .pool cimport held_bytes, vector

# Building that takes less is not remembered as worth sharing; nor more of them than this.
cdef uint64_t FRESH_NS = 50_000
cdef size_t MOST_FRESH = 4096


cdef inline uint64_t key_hash(uint64_t high, uint64_t low) noexcept nogil:
    """64 bits to find an automaton by; equality is checked on the whole digest."""
    return mix(high ^ mix(low)) | 1


cdef class DraftTable:
    """Automata of all grammars of one compiler.

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
            self.held + held_bytes(self.automata) + held_bytes(self.fresh) + held_bytes(self.is_stored)
            + held_bytes(self.is_used) + map_bytes(&self.index))

    cdef AutomatonPtr find(self, uint64_t high, uint64_t low) noexcept nogil:
        """The automaton, or a null pointer."""
        cdef AutomatonPtr found
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(high, low))
        if at != MISSING and self.automata[at].get().high == high and self.automata[at].get().low == low:
            found = self.automata[at]
            self.hits += 1
            self.is_used[at] = True
        else:
            self.misses += 1
        self.guard.unlock()
        return found

    cdef void add(self, AutomatonPtr automaton) noexcept nogil:
        self.guard.lock()
        self.made += 1
        self.made_ns += automaton.get().took_ns
        self.keep(automaton, False)
        if automaton.get().took_ns >= FRESH_NS and self.fresh.size() < MOST_FRESH:
            self.fresh.push_back(automaton)
        self.guard.unlock()

    cdef void add_loaded(self, AutomatonPtr automaton) noexcept nogil:
        self.guard.lock()
        self.keep(automaton, True)
        self.guard.unlock()

    cdef void take_fresh(self, vector[AutomatonPtr]* out) noexcept nogil:
        """Those that took long to build here since the last call."""
        cdef size_t k
        cdef uint32_t at
        out.clear()
        self.guard.lock()
        out.swap(self.fresh)
        for k in range(out.size()):
            at = map_get(&self.index, key_hash(out[0][k].get().high, out[0][k].get().low))
            if at != MISSING:
                self.is_stored[at] = True
        self.guard.unlock()

    cdef void keep(self, AutomatonPtr automaton, bint is_stored) noexcept nogil:
        """Under the guard."""
        cdef uint64_t key = key_hash(automaton.get().high, automaton.get().low)
        cdef size_t size = automaton_bytes(automaton.get())
        automaton.get().counts = has_loops(&automaton.get().drafts)
        if self.bytes_held() + size > self.max_bytes:
            self.clear()
            self.evictions += 1
        if map_get(&self.index, key) == MISSING:
            map_put(&self.index, key, <uint32_t>self.automata.size())
            self.automata.push_back(automaton)
            self.is_stored.push_back(is_stored)
            self.is_used.push_back(False)
            self.held += size

    cdef void clear(self) noexcept nogil:
        map_clear(&self.index)
        self.automata.clear()
        self.is_stored.clear()
        self.is_used.clear()
        self.fresh.clear()
        self.held = 0

    def knows(self, bytes digest):
        """Whether the rule's automaton is here."""
        cdef DigestC wanted = digest_from(digest)
        cdef uint32_t at
        with nogil:
            self.guard.lock()
            at = map_get(&self.index, key_hash(wanted.high, wanted.low))
            self.guard.unlock()
        return at != MISSING

    def take_used(self):
        """The digests of rules in the log whose automata were found since the last call."""
        cdef vector[DigestC] taken
        cdef DigestC each
        cdef size_t k
        with nogil:
            self.guard.lock()
            for k in range(self.automata.size()):
                if self.is_used[k] and self.is_stored[k]:
                    taken.push_back(DigestC(self.automata[k].get().high, self.automata[k].get().low))
                self.is_used[k] = False
            self.guard.unlock()
        return [bytes_of(each) for each in taken]

    def stats(self):
        """Automata and bytes held, hits and misses, how often everything was dropped; and how many were
        built, in how many nanoseconds.
        """
        cdef size_t n, held
        cdef uint64_t hits, misses, evictions, made, made_ns
        with nogil:
            self.guard.lock()
            n, held = self.automata.size(), self.bytes_held()
            hits, misses, evictions = self.hits, self.misses, self.evictions
            made, made_ns = self.made, self.made_ns
            self.guard.unlock()
        return {
            "automata": n, "bytes": held, "hits": hits, "misses": misses, "evictions": evictions,
            "made": made, "made_ns": made_ns,
        }


cdef bint has_loops(const vector[DraftC]* drafts) noexcept nogil:
    cdef size_t k
    for k in range(drafts.size()):
        if drafts[0][k].flags & LOOP_STATE:
            return True
    return False


cdef size_t automaton_bytes(AutomatonC* automaton) noexcept nogil:
    cdef size_t size = sizeof(AutomatonC) + held_bytes(automaton.drafts), k
    for k in range(automaton.drafts.size()):
        size += held_bytes(automaton.drafts[k].bytes) + held_bytes(automaton.drafts[k].refs)
        size += held_bytes(automaton.drafts[k].tokens) + held_bytes(automaton.drafts[k].empty)
    return size
