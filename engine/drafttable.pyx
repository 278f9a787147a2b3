"""DraftTable: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.memory cimport make_shared

from .automatonbytes cimport put_automaton, take_automaton
from .digests cimport DigestC, bytes_of, digest_from
from .draft cimport LOOP_STATE, ByteEdgeC, DraftC
from .hashing cimport MISSING, map_clear, map_get, map_put, mix
from .pool cimport vector

from .artifact_version import ARTIFACT_VERSION

#: what the keys of automata begin with in a store; they are the same for any vocabulary
STORE_GROUP = b"automata/%d/any" % ARTIFACT_VERSION
#: what building must take, in fetches, to be shared; 0: everything is
LEAST_GAIN = 5

# Nanoseconds of a fetch among many, and of a byte.
cdef uint64_t FETCH_NS = 60_000
cdef uint64_t BYTE_NS = 10
# Building that takes less is not remembered as worth it; nor more of them than this.
cdef uint64_t FRESH_NS = 50_000
cdef size_t MOST_FRESH = 4096
# Bytes of a value; stores take a little more. And nanoseconds that building one is believed to have taken.
cdef size_t MOST_BYTES = 1_000_000
cdef uint64_t MOST_TOOK_NS = 60_000_000_000


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

    cdef void add(self, AutomatonPtr automaton) noexcept nogil:
        self.guard.lock()
        self.made += 1
        self.made_ns += automaton.get().took_ns
        self.keep(automaton)
        if automaton.get().took_ns >= FRESH_NS and self.fresh.size() < MOST_FRESH:
            self.fresh.push_back(automaton)
        self.guard.unlock()

    cdef void keep(self, AutomatonPtr automaton) noexcept nogil:
        """Under the guard."""
        cdef uint64_t key = key_hash(automaton.get().high, automaton.get().low)
        cdef size_t size = automaton_bytes(automaton.get())
        automaton.get().counts = has_loops(&automaton.get().drafts)
        if self.held + size > self.max_bytes:
            self.clear()
            self.evictions += 1
        if map_get(&self.index, key) == MISSING:
            map_put(&self.index, key, <uint32_t>self.automata.size())
            self.automata.push_back(automaton)
            self.held += size

    cdef void clear(self) noexcept nogil:
        map_clear(&self.index)
        self.automata.clear()
        self.fresh.clear()
        self.held = 0

    def drop_all(self):
        """Forgets everything, since some of it is not true."""
        with nogil:
            self.guard.lock()
            self.clear()
            self.guard.unlock()

    def knows(self, bytes digest):
        """Whether the rule's automaton is here."""
        cdef DigestC wanted = digest_from(digest)
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(wanted.high, wanted.low))
        self.guard.unlock()
        return at != MISSING

    # -- stores ------------------------------------------------------------------------------------
    def take_fresh(self):
        """What was built here since the last call and is worth it: [(digest, value)]."""
        cdef vector[AutomatonPtr] taken
        cdef vector[uint8_t] value
        cdef AutomatonC* each
        cdef size_t k
        cdef bint fits
        with nogil:
            self.guard.lock()
            taken.swap(self.fresh)
            self.guard.unlock()
        out = []
        for k in range(taken.size()):
            each = taken[k].get()
            with nogil:
                fits = put_automaton(&value, &each.drafts, each.took_ns)
            if fits and value.size() <= MOST_BYTES and (
                    each.took_ns >= LEAST_GAIN * (FETCH_NS + BYTE_NS * <uint64_t>value.size())):
                digest = bytes_of(DigestC(each.high, each.low))
                out.append((digest, (<const char*>value.data())[:value.size()]))
        return out

    def load(self, bytes digest, bytes value):
        """Keeps an automaton that came from a store. Returns the nanoseconds that building it took, or -1
        if anything is off.
        """
        cdef DigestC rule = digest_from(digest)
        cdef AutomatonPtr made = make_shared[AutomatonC]()
        cdef const uint8_t* data = value
        cdef size_t size = len(value)
        cdef bint fits
        made.get().high, made.get().low = rule.high, rule.low
        with nogil:
            fits = take_automaton(data, size, &made.get().drafts, &made.get().took_ns)
            if fits:
                self.guard.lock()
                self.keep(made)
                self.guard.unlock()
        return min(made.get().took_ns, MOST_TOOK_NS) if fits else -1

    def count_differing(self, DraftTable other):
        """Of the rules whose automata both have, how many have another one there; and how many there are."""
        cdef vector[AutomatonPtr] theirs
        cdef AutomatonPtr mine
        cdef vector[uint8_t] one, two
        cdef size_t k
        cdef int common = 0, differing = 0
        with nogil:
            other.guard.lock()
            theirs = other.automata
            other.guard.unlock()
            for k in range(theirs.size()):
                mine = self.find(theirs[k].get().high, theirs[k].get().low)
                if mine.get() != NULL and put_automaton(&one, &mine.get().drafts, 0) and (
                        put_automaton(&two, &theirs[k].get().drafts, 0)):
                    common += 1
                    differing += one != two
        return differing, common

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


cdef bint has_loops(const vector[DraftC]* drafts) noexcept nogil:
    cdef size_t k
    for k in range(drafts.size()):
        if drafts[0][k].flags & LOOP_STATE:
            return True
    return False


cdef size_t automaton_bytes(AutomatonC* automaton) noexcept nogil:
    cdef size_t size = sizeof(AutomatonC) + automaton.drafts.size() * sizeof(DraftC), k
    for k in range(automaton.drafts.size()):
        size += automaton.drafts[k].bytes.size() * sizeof(ByteEdgeC)
    return size
