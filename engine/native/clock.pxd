"""Monotonic time, for counters and for the cost of token masks; no answer depends on it."""

from libc.stdint cimport uint64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef inline uint64_t nanoseconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <uint64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec
