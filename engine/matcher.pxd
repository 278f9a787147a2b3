"""A matcher: one text's place in a grammar, with its whole history as a persistent stack.

Representation   entries are packed (instance, flags), one for each successful accept, in
                 segments: a fork shares all segments so far and begins one of its own when it
                 next accepts. `depth` counts entries.
Invariants       I1 entries below a fork point never change.
                 I2 a failed call changes nothing.
Cost             accept, fork: O(1) beside the rows' work; rollback: O(1) within a segment, else
                 O(segments left).
Threads          rows and masks are used under the arena's mutex; the GIL is never held while
                 waiting for it.
Not here         rows (rows), masks (masks), events (parser).
"""

from libc.stdint cimport uint32_t, uint64_t

from .compiled cimport Compiled, Generation
from .pool cimport vector
from .vocabulary cimport Vocabulary

cdef enum:
    TERMINATED = 1

cdef class Segment:
    cdef Segment parent
    cdef uint32_t base            # entries below this segment
    cdef vector[uint64_t] entries

cdef class Matcher:
    cdef readonly Compiled compiled
    cdef Generation generation
    cdef Vocabulary vocabulary
    cdef Segment segment
    cdef uint32_t depth
    cdef uint32_t instance(self) noexcept nogil
    cdef bint terminated(self) noexcept nogil
    cdef int push(self, uint32_t instance, uint32_t flags) except -1
    cdef uint32_t after_token(self, uint32_t token, uint32_t* flags) noexcept nogil
    cdef uint32_t after_bytes(self, const unsigned char* data, size_t n) noexcept nogil
    cdef list allowed(self, ids)
    cdef void lock(self)
    cdef void unlock(self) noexcept nogil
    cdef int check(self) except -1
    cdef void fill(self, uint32_t* out) noexcept nogil
