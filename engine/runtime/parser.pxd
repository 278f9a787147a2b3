"""The event parser: the same automata that constrained a text, read as what was written.

Representation   A thread is one reading: (state, stack, count, marks). Stacks are interned
                 chains of return states; marks are persistent chains of region boundaries (open
                 or close of a CAPTURE at a byte position). `kernel` holds the threads that took
                 the last byte; predictions are made when the next one comes.
                 `text` holds the bytes that were fed and not yet turned into events, from
                 position `base` on.
Invariants       I1 bytes leave in events only when all threads agree on the regions they lie in,
                    and they are not among the last bytes that may turn out to begin a pattern
                    (`held` of the threads' states).
                 I2 the events' bytes, put together, are the bytes fed.
                 I3 of two threads in one place the earlier reading stays; edges are tried in
                    their order.
Cost             O(threads) a byte; one thread where the grammar leaves one reading.
Threads          whatever looks at automata is under the arena's mutex, for they are built lazily.
                 One parser is for one thread at a time.
Not here         what regions mean to a format (adapters), masks.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..automata.rule_automata cimport Automata
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .matcher cimport Compiled, Generation

cdef struct ThreadC:
    uint32_t state, stack, count, mark
    uint32_t back             # bytes of a trigger that belong to the region about to open

cdef struct FrameC:
    uint32_t parent, rule, target, count      # count: the caller's register

cdef struct MarkC:
    uint32_t parent, depth
    uint32_t rule
    uint64_t position
    uint8_t opens

cdef class Parser:
    cdef readonly Compiled compiled
    cdef Generation generation
    cdef Automata automata
    cdef Vocabulary vocabulary
    cdef vector[ThreadC] kernel, closed, following
    cdef vector[FrameC] frames
    cdef U64MapC frame_ids, seen
    cdef vector[MarkC] marks
    cdef uint64_t position, base
    cdef bytearray text
    cdef list regions, events
    cdef bytearray pending
    cdef uint32_t committed
    cdef uint32_t agreed              # what the last feed made certain (agree)
    cdef uint64_t safe
    cdef uint32_t error               # the bound that the automata met
    cdef bint whole
    cdef size_t most              # threads that there were at once
    cdef uint32_t push_frame(
        self, uint32_t parent, uint32_t rule, uint32_t target, uint32_t count
    ) noexcept nogil
    cdef uint32_t push_mark(
        self, uint32_t parent, uint32_t rule, uint64_t position, bint opens
    ) noexcept nogil
    cdef void add(self, vector[ThreadC]* out, ThreadC thread) noexcept nogil
    cdef void enter(
        self, ThreadC thread, uint32_t rule, uint32_t target, uint32_t state
    ) noexcept nogil
    cdef void leave(self, vector[ThreadC]* out, ThreadC thread) noexcept nogil
    cdef void move(self, vector[ThreadC]* out, ThreadC thread, uint32_t target) noexcept nogil
    cdef bint may_end(self, ThreadC* thread) noexcept nogil
    cdef bint may_go_on(self, ThreadC* thread) noexcept nogil
    cdef void close(self) noexcept nogil
    cdef void expand(self, ThreadC thread) noexcept nogil
    cdef void take_byte(self, uint8_t byte) noexcept nogil
    cdef void take_token(self, uint32_t token) noexcept nogil
    cdef void end_token(self) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef ThreadC reading(self, bint* found) noexcept nogil
    cdef ThreadC begun(self) noexcept nogil
    cdef uint32_t common(self, uint32_t a, uint32_t b) noexcept nogil
    cdef int emit(self, uint32_t mark, uint64_t safe) except -1
    cdef int emit_bytes(self, uint64_t end) except -1
    cdef int emit_mark(self, MarkC mark) except -1
    cdef void agree(self) noexcept nogil
    cdef int check_limit(self) except -1
    cdef int progress(self) except -1
    cdef list take_events(self)
