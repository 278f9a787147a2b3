"""DraftTable: see the header file."""

from libc.stdint cimport uint32_t, uint64_t

from .digests cimport DigestC, digest_from
from .draft cimport ByteEdgeC, DraftC
from .hashing cimport MISSING, map_clear, map_get, map_put, mix
from .pool cimport vector


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

    cdef AutomatonPtr find(self, uint64_t high, uint64_t low) noexcept nogil:
        """The automaton, or a null pointer."""
        cdef AutomatonPtr found
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(high, low))
        if at != MISSING and self.automata[at].get().high == high and self.automata[at].get().low == low:
            found = self.automata[at]
            self.hits += 1
        else:
            self.misses += 1
        self.guard.unlock()
        return found

    cdef bint add(self, AutomatonPtr automaton, bint is_fresh) noexcept nogil:
        """``is_fresh``: built here, so a store does not have it yet. False: there is one already."""
        cdef uint64_t key = key_hash(automaton.get().high, automaton.get().low)
        cdef size_t size = automaton_bytes(automaton.get())
        cdef uint32_t number
        cdef bint is_new
        self.guard.lock()
        if is_fresh:
            self.made += 1
            self.made_ns += automaton.get().took_ns
        if self.held + size > self.max_bytes:
            self.clear()
            self.evictions += 1
        is_new = map_get(&self.index, key) == MISSING
        if is_new:
            number = <uint32_t>self.automata.size()
            map_put(&self.index, key, number)
            self.automata.push_back(automaton)
            if is_fresh:
                self.fresh.push_back(number)
            self.held += size
        self.guard.unlock()
        return is_new

    cdef void clear(self) noexcept nogil:
        map_clear(&self.index)
        self.automata.clear()
        self.fresh.clear()
        self.held = 0

    cdef void take_fresh(self, vector[AutomatonPtr]* out) noexcept nogil:
        """Those that were built here since the last call."""
        cdef uint32_t at
        self.guard.lock()
        for at in self.fresh:
            out.push_back(self.automata[at])
        self.fresh.clear()
        self.guard.unlock()

    def knows(self, bytes digest):
        """Whether it has a rule's automaton."""
        cdef DigestC key = digest_from(digest)
        cdef uint32_t at
        with nogil:
            self.guard.lock()
            at = map_get(&self.index, key_hash(key.high, key.low))
            self.guard.unlock()
        return at != MISSING

    def stats(self):
        """Automata and bytes held, hits and misses, how often everything was dropped; and how many were
        built, in how many nanoseconds.
        """
        cdef size_t n, held
        cdef uint64_t hits, misses, evictions, made, made_ns
        with nogil:
            self.guard.lock()
            n, held = self.automata.size(), self.held
            hits, misses, evictions = self.hits, self.misses, self.evictions
            made, made_ns = self.made, self.made_ns
            self.guard.unlock()
        return {
            "automata": n, "bytes": held, "hits": hits, "misses": misses, "evictions": evictions,
            "made": made, "made_ns": made_ns,
        }


cdef size_t automaton_bytes(AutomatonC* automaton) noexcept nogil:
    cdef size_t size = sizeof(AutomatonC) + automaton.drafts.size() * sizeof(DraftC), k
    for k in range(automaton.drafts.size()):
        size += automaton.drafts[k].bytes.size() * sizeof(ByteEdgeC)
    return size
