"""Identities: what makes two rules the same for caches.

A rule's digest is 128 bits of BLAKE2b over everything that its automaton and its token masks depend on:
the nodes it is made of, the digests of the rules it refers to, the choice between registers and
unrolling, and the artifact version. Left out: rule names, labels and roles of captures, limits, the
vocabulary (it is in the store's key). Of free text it is the digest of its patterns and of which
arms can be finished; of a counted rule that of its body, since token masks are made without bounds.

A unit is hashed at once: the nodes of one rule, children first and numbered in that order, so that
ids, which depend on what a grammar made before, are not in it. In the place of another rule stands its
digest: a reference and what is written out in its place are not the same, for their automata differ. A
unit of many nodes is hashed node by node, so that what many rules have in common is hashed once.

RuleDigests are made when they are asked for: only rules whose masks are made by tables need one
(automata, masks), and those of a grammar's objects never do. What leads into a circle of rules has
none: rules built by tables are not among them, and a circle has no bottom to begin at.

Invariants   I1 equal digests: equal automata and token masks, but for accidents of 2^-128.
             I2 a digest of zeros is none.
Cost         linear in what a rule is made of, once.
Threads      an instance belongs to one generation and is used under its mutex.
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
    # by the node that a unit begins with: its digest, and 0 not begun, 1 begun, 2 done
    cdef vector[DigestC] digests
    cdef vector[uint8_t] progress
    # by node within large units, once there is one: its digest, once it is hashed
    cdef vector[DigestC] inner
    cdef vector[uint8_t] is_hashed
    # of the unit under construction: its nodes, and by node its place among them; and all that has one
    cdef vector[uint32_t] nodes
    cdef vector[uint32_t] places
    cdef vector[uint32_t] met
    cdef vector[uint8_t] text             # of the digest under construction: numbers as in varint
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
    """What ``bytes_of`` made bytes of."""
    return DigestC(int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little"))

cdef inline bint is_none(DigestC digest) noexcept nogil:
    return digest.high == 0 and digest.low == 0
