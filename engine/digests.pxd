"""Identities: what makes two rules the same for caches.

A rule's digest is 128 bits of BLAKE2b over everything that its automaton and its triples depend on:
the nodes it is made of, the digests of the rules it refers to, the choice between registers and
unrolling, and the artifact version. Left out: rule names, labels and roles of captures, limits, the
vocabulary (it is in the store's key). Of free text it is the digest of its patterns and of which
arms can be finished, and of whether its characters are counted; of a counted rule that
of its body, since triples are made without bounds.

Digests are made when they are asked for: only rules whose masks are made by tables need one
(automata, masks), and those of a grammar's objects never do. What leads into a circle of rules has
none: rules built by tables are not among them, and a circle has no bottom to begin at.

Invariants   I1 equal digests: equal automata and triples, but for accidents of 2^-128.
             I2 a digest of zeros is none.
Cost         linear in what a rule is made of, once.
Threads      an instance belongs to one generation and is used under its mutex.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .flat cimport FlatIR, NodeC
from .pool cimport vector

cdef struct DigestC:
    uint64_t high, low

cdef class Digests:
    cdef FlatIR ir
    cdef bint count_registers
    cdef vector[DigestC] nodes
    cdef vector[uint8_t] progress         # by node: 0 not begun, 1 begun, 2 done
    cdef vector[uint8_t] text             # of the digest under construction
    cdef DigestC rule(self, uint32_t number) noexcept nogil
    cdef DigestC node(self, uint32_t number) noexcept nogil
    cdef DigestC make(self, uint32_t number) noexcept nogil
    cdef bint write_node(self, uint32_t number) noexcept nogil
    cdef void write_members(self, NodeC* node) noexcept nogil
    cdef void write_patterns(self, uint32_t number) noexcept nogil
    cdef void write_tokens(self, uint32_t number) noexcept nogil
    cdef void begin(self, uint32_t kind) noexcept nogil
    cdef void write(self, uint32_t value) noexcept nogil
    cdef void write_pool(self, uint32_t off, uint32_t n) noexcept nogil
    cdef bint write_child(self, uint32_t number) noexcept nogil
    cdef DigestC finish(self) noexcept nogil

cdef inline bytes bytes_of(DigestC digest):
    return int(digest.high).to_bytes(8, "little") + int(digest.low).to_bytes(8, "little")

cdef inline DigestC digest_from(bytes digest):
    """What ``bytes_of`` made bytes of."""
    return DigestC(int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little"))

cdef inline bint is_none(DigestC digest) noexcept nogil:
    return digest.high == 0 and digest.low == 0
