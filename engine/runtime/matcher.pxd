"""A matcher: one text's place in a grammar, with its whole history as a persistent stack.

Representation   entries are packed (instance, flags), one for each successful accept, in
                 segments: a fork shares all segments so far and begins one of its own when it
                 next accepts. `depth` counts entries.
                 Where words must differ (distinct), each entry has a Place beside it, null where no
                 such array is open.
Invariants       I1 entries below a fork point never change.
                 I2 a failed call changes nothing.
Cost             accept, fork: O(1) beside the rows' work; rollback: O(1) within a segment, else
                 O(segments left).
Threads          rows and masks are used under the arena's mutex. The GIL is never held while
                 waiting for it, nor waited for while holding it: who gets the mutex at once may
                 keep the GIL for what is short, everyone else works without it.
                 One matcher is for one thread at a time.
Not here         rows (rows), masks (row_masks), events (parser), many matchers at once (batch).
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector as plain_vector

from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .compiled cimport Compiled, Generation
from .unique_items cimport Place

cdef enum:
    TERMINATED = 1

cdef class Segment:
    cdef Segment parent
    cdef uint32_t base            # entries below this segment
    cdef vector[uint64_t] entries
    cdef plain_vector[shared_ptr[Place]] places

cdef class MatcherCounters:
    cdef readonly uint64_t accepts, accept_ns

cdef class Matcher:
    cdef readonly Compiled compiled
    cdef MatcherCounters tally              # None: nobody counts
    cdef Generation generation
    cdef Vocabulary vocabulary
    cdef Segment segment
    cdef uint32_t depth
    cdef uint64_t top             # the last entry: it is looked at far more often than the others
    cdef bint tracks              # whether words must differ
    cdef Place at                 # while a call tries: where its text has led
    cdef uint32_t instance(self) noexcept nogil
    cdef void enter_place(self) noexcept nogil
    cdef void rule_out(self, uint32_t instance, uint32_t* out) noexcept nogil
    cdef bint terminated(self) noexcept nogil
    cdef int push(self, uint32_t instance, uint32_t flags) except -1
    cdef void lock(self) noexcept nogil
    cdef bytes forced(self, size_t most)
    cdef list allowed(self, list ids)
    cdef void unlock(self) noexcept nogil
    cdef int check(self, uint32_t error) except -1
    cdef bint needs_look(self) noexcept nogil
    cdef uint32_t take_bytes(
        self, uint32_t instance, const uint8_t* data, size_t n, uint32_t* error
    ) noexcept nogil
    cdef uint32_t take_token(
        self, uint32_t instance, uint32_t token, uint32_t* flags, uint32_t* error
    ) noexcept nogil
    cdef uint32_t fill(self, uint32_t instance, bint terminated, uint32_t* out) noexcept nogil
    cdef uint32_t after_bytes(self, uint32_t instance, const uint8_t* data, size_t n) noexcept nogil
    cdef bint accept(self, Py_ssize_t token) except -1
    cdef uint32_t follow_token(self, uint32_t instance, uint32_t token, uint32_t* flags) noexcept nogil
    cdef uint32_t after_token(self, uint32_t instance, uint32_t token, uint32_t* flags) noexcept nogil
