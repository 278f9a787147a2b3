"""The event parser: reads a text back into the regions of its grammar.

Representation   A parse is one way to read the text so far: (state, stack, count, boundary). Stacks
                 are interned chains of frames, each with the state to return to. Boundaries are
                 persistent chains: a region opens or closes at a byte position. `kernel` holds the
                 parses after the last byte; predictions are made when the next byte comes. The
                 boundaries of parses that ended are dropped, if they are the last ones (forget).
                 `text` holds the bytes from position `base` on that are in no event yet.
Invariants       I1 bytes enter events only when all parses agree on their regions, and only if they
                    cannot become part of a pattern (`held` of the parses' states).
                 I2 the concatenated bytes of all events are the bytes fed.
                 I3 of two parses that differ in their boundaries only, the earlier one stays; edges
                    are tried in order.
Cost             O(parses) per byte, 50 ns each; an unambiguous grammar has one parse.
Threads          Automata are built lazily, so all access to them holds the arena's mutex. A parser
                 belongs to one thread at a time.
Not here         the meaning of regions in a format (adapters), masks (row_masks).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..automata.rule_automata cimport Automata
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .compiled cimport Compiled, Generation

cdef struct ParseC:
    uint32_t state, stack, count, boundary
    uint32_t back             # bytes of a pattern that belong to the region about to open, and IN_LEAF

cdef struct StackFrameC:
    uint32_t parent, rule, target, count      # count: the caller's register

cdef struct BoundaryC:
    uint32_t parent, depth
    uint32_t rule
    uint64_t position
    uint8_t opens


cdef class Parser:
    cdef readonly Compiled compiled
    cdef Generation generation
    cdef Automata automata
    cdef Vocabulary vocabulary
    cdef vector[ParseC] kernel, closed, following, next_parses
    # scratch
    cdef vector[ParseC] todo, before, by_edge
    # indices into the set of parses at ``placed_in`` by content, for more than FEW
    cdef U64MapC places
    cdef size_t placed_in             # its address
    cdef size_t placed
    cdef vector[StackFrameC] frames
    cdef U64MapC frame_ids
    cdef vector[BoundaryC] boundaries
    cdef uint64_t position, base
    cdef bytearray text
    cdef list regions, events
    cdef bytearray pending
    cdef uint32_t committed
    cdef uint32_t agreed              # the last boundary that all parses share (agree)
    cdef uint64_t safe                # all parses agree on the bytes before this position (agree)
    cdef uint32_t error               # the limit that the automata exceeded
    cdef bint whole
    cdef size_t most                  # the largest number of simultaneous parses
    cdef size_t limit                 # on their number

    cdef int check_token(self, Py_ssize_t token) except -1
    cdef int take_tokens(self, const uint32_t* ids, size_t n) except -1
    cdef size_t advance(self, const uint32_t* ids, size_t n) noexcept nogil
    cdef bint take_text(self, const uint32_t* ids, size_t n) noexcept
    cdef bint take_held(self, const uint32_t* ids, size_t n) except -1
    cdef bint take_inside(self, const uint32_t* ids, size_t n, bint is_text, bint is_mark) noexcept
    cdef ParseC reading(self, bint* found) noexcept nogil
    cdef ParseC begun(self) noexcept nogil
    cdef list take_events(self)
    cdef uint32_t push_frame(self, uint32_t parent, uint32_t rule, uint32_t target, uint32_t count) noexcept nogil
    cdef uint32_t push_boundary(self, uint32_t parent, uint32_t rule, uint64_t position, bint opens) noexcept nogil
    cdef void forget(self, size_t kept) noexcept nogil
    cdef bint may_end(self, ParseC* parse) noexcept nogil
    cdef bint may_go_on(self, ParseC* parse) noexcept nogil
    cdef bint add(self, vector[ParseC]* out, ParseC parse) noexcept nogil
    cdef bint is_placed(self, vector[ParseC]* out, ParseC* parse) noexcept nogil
    cdef void move(self, vector[ParseC]* out, ParseC parse, uint32_t target) noexcept nogil
    cdef void enter(self, ParseC parse, uint32_t rule, uint32_t target, uint32_t state) noexcept nogil
    cdef void leave(self, vector[ParseC]* out, ParseC parse) noexcept nogil
    cdef void close(self) noexcept nogil
    cdef void expand(self, ParseC parse) noexcept nogil
    cdef void take_byte(self, uint8_t byte) noexcept nogil
    cdef void take_token(self, uint32_t token) noexcept nogil
    cdef void end_token(self) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef uint32_t common(self, uint32_t a, uint32_t b) noexcept nogil
    cdef void agree(self) noexcept nogil
    cdef int check_limit(self) except -1
    cdef int progress(self) except -1
    cdef int emit(self, uint32_t boundary, uint64_t safe) except -1
    cdef int emit_bytes(self, uint64_t end) except -1
    cdef int emit_boundary(self, BoundaryC boundary) except -1
