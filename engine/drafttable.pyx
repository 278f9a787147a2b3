"""DraftTable: see the header file."""

from libc.stdint cimport uint32_t, uint64_t

from .draft cimport ByteEdgeC, DraftC
from .hashing cimport MISSING, map_clear, map_get, map_put, mix


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

    cdef void add(self, AutomatonPtr automaton, uint64_t took_ns) noexcept nogil:
        cdef uint64_t key = key_hash(automaton.get().high, automaton.get().low)
        cdef size_t size = automaton_bytes(automaton.get())
        self.guard.lock()
        self.made += 1
        self.made_ns += took_ns
        if self.held + size > self.max_bytes:
            map_clear(&self.index)
            self.automata.clear()
            self.held = 0
            self.evictions += 1
        if map_get(&self.index, key) == MISSING:
            map_put(&self.index, key, <uint32_t>self.automata.size())
            self.automata.push_back(automaton)
            self.held += size
        self.guard.unlock()

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
