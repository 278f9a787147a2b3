"""A matcher: one text's position in a grammar, with its whole history.

Representation   The history is a persistent stack of entries, one for each successful accept. An
                 entry packs (configuration, flags). Entries lie in segments: a fork shares all
                 segments so far and begins its own when it next accepts. `depth` counts entries.
                 In a grammar with words that must be unique, each entry also has a
                 UniquenessState; it is null where no such array is open.
Invariants       I1 entries below a fork point never change.
                 I2 a failed call changes nothing.
Cost             accept, fork: O(1) plus the work on rows. rollback: O(1) within a segment, else
                 O(segments left).
Threads          A matcher belongs to one thread at a time. Rows and masks are used under the
                 arena's mutex. No thread waits for the mutex while it holds the GIL, or for the
                 GIL while it holds the mutex. A thread that gets the mutex at once may keep the
                 GIL for short work; all other work runs without the GIL.
Not here         rows (rows), masks (row_masks), events (parser).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector as plain_vector

from ..native.pool cimport vector
from ..unique_items.uniqueness cimport UniquenessState
from ..vocabulary.vocabulary cimport Vocabulary
from .compiled cimport Compiled, Generation

cdef class Segment:
    cdef Segment parent
    cdef uint32_t base            # entries below this segment
    cdef vector[uint64_t] entries
    cdef plain_vector[shared_ptr[UniquenessState]] uniqueness

cdef class MatcherCounters:
    cdef readonly uint64_t accepts, accept_ns

cdef class Matcher:
    cdef readonly Compiled compiled
    cdef MatcherCounters tally              # None: calls are not counted
    cdef Generation generation
    cdef Vocabulary vocabulary
    cdef Segment segment
    cdef uint32_t depth
    cdef uint64_t top             # a copy of the last entry, which is read far more often than the others
    cdef bint tracks              # whether the grammar has words that must be unique
    cdef UniquenessState uniqueness     # scratch of the current call

    # history
    cdef uint32_t configuration(self) noexcept nogil
    cdef bint terminated(self) noexcept nogil
    cdef int push(self, uint32_t configuration, uint32_t flags) except -1
    cdef void load_uniqueness(self) noexcept nogil
    cdef bint needs_filter(self) noexcept nogil
    # mutex and errors
    cdef void lock(self) noexcept nogil
    cdef void unlock(self) noexcept nogil
    cdef int check(self, uint32_t error) except -1
    # steps; the caller holds the mutex, and take_* and fill release it
    cdef uint32_t take_bytes(
        self, uint32_t configuration, const uint8_t* data, size_t n, uint32_t* error
    ) noexcept nogil
    cdef uint32_t take_token(
        self, uint32_t configuration, uint32_t token, uint32_t* flags, uint32_t* error
    ) noexcept nogil
    cdef uint32_t fill(self, uint32_t configuration, bint terminated, uint32_t* out) noexcept nogil
    cdef uint32_t after_bytes(self, uint32_t configuration, const uint8_t* data, size_t n) noexcept nogil
    cdef uint32_t after_token(self, uint32_t configuration, uint32_t token, uint32_t* flags) noexcept nogil
    cdef uint32_t follow_token(self, uint32_t configuration, uint32_t token, uint32_t* flags) noexcept nogil
    cdef void clear_repeats(self, uint32_t configuration, uint32_t* out) noexcept nogil
    # forced text and tokens
    cdef bint accept(self, Py_ssize_t token) except -1
    cdef bytes forced(self, size_t most)
    cdef list accepted_prefix(self, list ids)
