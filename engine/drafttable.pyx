"""DraftTable: see the header file."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.memory cimport make_shared

from .draft cimport ByteEdgeC, DraftC
from .hashing cimport MISSING, U64MapC, map_get, map_put, mix
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

    cdef void add(self, uint64_t high, uint64_t low, vector[DraftC]* drafts) noexcept nogil:
        cdef AutomatonPtr made = make_shared[AutomatonC]()
        cdef U64MapC empty
        cdef size_t size = sizeof(AutomatonC) + drafts.size() * sizeof(DraftC)
        cdef uint32_t k
        for k in range(<uint32_t>drafts.size()):
            size += drafts[0][k].bytes.size() * sizeof(ByteEdgeC)
        made.get().high, made.get().low = high, low
        made.get().drafts = drafts[0]
        self.guard.lock()
        if self.held + size > self.max_bytes:
            empty.used = 0
            self.index = empty
            self.automata.clear()
            self.held = 0
            self.evictions += 1
        if map_get(&self.index, key_hash(high, low)) == MISSING:
            map_put(&self.index, key_hash(high, low), <uint32_t>self.automata.size())
            self.automata.push_back(made)
            self.held += size
        self.guard.unlock()

    def stats(self):
        """Automata and bytes held, hits and misses, and how often everything was dropped."""
        cdef size_t n, held
        cdef uint64_t hits, misses, evictions
        with nogil:
            self.guard.lock()
            n, held = self.automata.size(), self.held
            hits, misses, evictions = self.hits, self.misses, self.evictions
            self.guard.unlock()
        return {
            "automata": n, "bytes": held, "hits": hits, "misses": misses, "evictions": evictions,
        }
