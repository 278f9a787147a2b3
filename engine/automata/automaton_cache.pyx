"""AutomatonCache: see the header file."""

from libc.stdint cimport uint32_t, uint64_t

from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put, mix
from ..native.pool cimport held_bytes, vector
from .dfa_state cimport LOOP_STATE, DfaStateC


cdef inline uint64_t key_hash(uint64_t high, uint64_t low) noexcept nogil:
    """64 bits to find an automaton by; equality is checked on the whole digest."""
    return mix(high ^ mix(low)) | 1


cdef class AutomatonCache:
    """Automata of all grammars of one compiler.

    Args:
        max_bytes: bound on the bytes held.
    """

    def __cinit__(self, size_t max_bytes):
        self.max_bytes = max_bytes
        self.held = 0
        self.hits = self.misses = self.evictions = 0

    cdef size_t bytes_held(self) noexcept nogil:
        """Under the guard."""
        return self.held + held_bytes(self.automata) + map_bytes(&self.index)

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

    cdef void add(self, AutomatonPtr automaton) noexcept nogil:
        cdef uint64_t key = key_hash(automaton.get().high, automaton.get().low)
        cdef size_t size = automaton_bytes(automaton.get())
        automaton.get().counts = has_loops(&automaton.get().dfa)
        self.guard.lock()
        if self.bytes_held() + size > self.max_bytes:
            self.clear()
            self.evictions += 1
        if map_get(&self.index, key) == MISSING:
            map_put(&self.index, key, <uint32_t>self.automata.size())
            self.automata.push_back(automaton)
            self.held += size
        self.guard.unlock()

    cdef void clear(self) noexcept nogil:
        map_clear(&self.index)
        self.automata.clear()
        self.held = 0

    def stats(self):
        """Automata and bytes held, hits and misses, how often everything was dropped."""
        cdef size_t n, held
        cdef uint64_t hits, misses, evictions
        with nogil:
            self.guard.lock()
            n, held = self.automata.size(), self.bytes_held()
            hits, misses, evictions = self.hits, self.misses, self.evictions
            self.guard.unlock()
        return {"automata": n, "bytes": held, "hits": hits, "misses": misses, "evictions": evictions}


cdef bint has_loops(const vector[DfaStateC]* dfa) noexcept nogil:
    cdef size_t k
    for k in range(dfa.size()):
        if dfa[0][k].flags & LOOP_STATE:
            return True
    return False


cdef size_t automaton_bytes(AutomatonC* automaton) noexcept nogil:
    cdef size_t size = sizeof(AutomatonC) + held_bytes(automaton.dfa), k
    for k in range(automaton.dfa.size()):
        size += held_bytes(automaton.dfa[k].bytes) + held_bytes(automaton.dfa[k].refs)
        size += held_bytes(automaton.dfa[k].tokens) + held_bytes(automaton.dfa[k].empty)
    return size
