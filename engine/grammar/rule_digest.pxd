"""Rule digests: the identity of a rule in caches.

A digest is 128 bits of BLAKE2b over everything that a rule's automaton and token masks depend on:
its nodes, the digests of the rules it refers to, the choice between registers and unrolling, and
the artifact version. It leaves out rule names, labels and roles of captures, limits, and the
vocabulary, which is part of the log's keys. Of free text it covers the patterns, and which arms
have a text; of a counted rule the body, because token masks are built without bounds.

A unit is the nodes of one rule, hashed at once, children first and numbered in that order: node ids
depend on the rest of the grammar and are left out. Another rule counts by its digest, so a
reference and its content written out differ, as their automata do. A unit of many nodes is hashed
node by node, so that parts shared by rules are hashed once.

Digests are computed on demand: only rules with token masks need one, and objects never do. A rule
that leads into a cycle of rules has none; tabled rules do not.

Invariants   I1 equal digests mean equal automata and token masks, except with a probability of
             2^-128.
             I2 the digest of zeros is none.
Cost         linear in the content of a rule, once.
Threads      an object belongs to one generation and is used under its mutex.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..native.pool cimport vector
from .ir cimport NodeC
from .lowered cimport LoweredGrammar

cdef struct DigestC:
    uint64_t high, low

cdef class RuleDigests:
    cdef LoweredGrammar ir
    cdef bint count_registers
    # by the first node of a unit: its digest, and its progress (0 not begun, 1 begun, 2 done)
    cdef vector[DigestC] digests
    cdef vector[uint8_t] progress
    # by node within large units, once there are any: its digest, once hashed
    cdef vector[DigestC] inner
    cdef vector[uint8_t] is_hashed
    # of the current unit: its nodes, their places by node, and all nodes with a place
    cdef vector[uint32_t] nodes
    cdef vector[uint32_t] places
    cdef vector[uint32_t] met
    cdef vector[uint8_t] text             # the input of the current digest; numbers as in varint
    cdef vector[uint32_t] todo, below     # scratch
    cdef size_t bytes_held(self) noexcept nogil
    cdef DigestC rule(self, uint32_t number) noexcept nogil
    cdef DigestC unit(self, uint32_t number) noexcept nogil
    cdef bint is_other(self, uint32_t number, uint32_t unit) noexcept nogil
    cdef uint32_t other(self, uint32_t number) noexcept nogil
    cdef void list_inner(self, uint32_t number, uint32_t unit, vector[uint32_t]* below) noexcept nogil
    cdef bint order(self, uint32_t unit, uint32_t most, bint only_new) noexcept nogil
    cdef void order_large(self, uint32_t unit) noexcept nogil
    cdef void forget_order(self) noexcept nogil
    cdef bint add_others(self, uint32_t unit, vector[uint32_t]* todo) noexcept nogil
    cdef void add_other(self, uint32_t number, vector[uint32_t]* todo) noexcept nogil
    cdef DigestC make(self, uint32_t unit) noexcept nogil
    cdef DigestC make_large(self, uint32_t unit) noexcept nogil
    cdef bint write_one(self, uint32_t number, uint32_t unit, bint at_once) noexcept nogil
    cdef bint write_node(self, uint32_t number) noexcept nogil
    cdef void write_members(self, NodeC* node) noexcept nogil
    cdef void write_patterns(self, uint32_t number) noexcept nogil
    cdef void write_tokens(self, uint32_t number) noexcept nogil
    cdef void begin(self, uint32_t kind) noexcept nogil
    cdef void open(self) noexcept nogil
    cdef void write(self, uint32_t value) noexcept nogil
    cdef void write_all(self, const uint32_t* values, uint32_t n) noexcept nogil
    cdef void write_pool(self, uint32_t off, uint32_t n) noexcept nogil
    cdef bint write_digest(self, DigestC digest) noexcept nogil
    cdef DigestC finish(self) noexcept nogil

cdef inline bytes bytes_of(DigestC digest):
    return int(digest.high).to_bytes(8, "little") + int(digest.low).to_bytes(8, "little")

cdef inline DigestC digest_from(bytes digest):
    """Return the digest of 16 bytes made by ``bytes_of``."""
    return DigestC(int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little"))

cdef inline bint is_none(DigestC digest) noexcept nogil:
    return digest.high == 0 and digest.low == 0
