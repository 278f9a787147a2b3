"""Resources: the steps that one request may spend on compiling (a work budget), and time.

A step is about a microsecond: a comparison of two alternatives, a state of an automaton, a node.
All work whose cost can grow faster than the spec counts its steps, so that no combination of cheap
parts is expensive. Compiles of one request may share a budget (``Grammar(limits, budget)``).

Invariants   I1 the count depends on the spec alone, so replicas refuse the same specs: a cached
                fragment costs as much as a new one.
             I2 once exceeded or cancelled, every later ``spend`` raises.
Cost         ``spend`` takes an addition and a comparison. Every ``INTERVAL`` steps the thread
             checks for cancellation and releases the GIL, which takes 100 ns; a sleep of 50 us
             every 5 ms lets others take it.
Turns        ``on_pause`` lets a scheduler stop the thread at a pause, so that other compiles run.
Threads      one thread compiles; any thread may call ``cancel``.
Not here     limits on the size of results (limits), the pool of memory (pool).
"""

from libc.stdint cimport int64_t, uint64_t
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef enum:
    # steps between two checks for cancellation, at which other threads may take the GIL: about a
    # millisecond
    INTERVAL = 1_000
    # time between two sleeps that let other threads take the GIL, and the length of such a sleep
    OFFER_NANOSECONDS = 5_000_000
    WAKE_NANOSECONDS = 50_000


cdef class WorkBudget:
    cdef public object on_pause     # called at each pause, with the GIL; it may wait, and must not raise
    cdef readonly int64_t limit     # ``limits.compile_steps``
    cdef int64_t left               # steps until the next ``pause``
    cdef int64_t charged            # all steps up to that pause
    cdef uint64_t offered           # when another thread last had time to take the GIL
    cdef bint cancelled

    cdef int pause(self) except -1
    cdef void offer(self) noexcept nogil


cdef inline int spend(WorkBudget budget, int64_t steps) except -1:
    """Count steps; the caller holds the GIL.

    Raises:
        LimitExceeded: ``compile_steps``.
        Cancelled: ``cancel`` was called.
    """
    budget.left -= steps
    if budget.left < 0:
        budget.pause()
    return 0


cdef inline bint spend_nogil(WorkBudget budget, int64_t steps) noexcept nogil:
    """Count steps without the GIL. Return whether the caller must take it and call ``spend(budget,
    0)``.
    """
    budget.left -= steps
    return budget.left < 0


cdef inline int64_t spent(WorkBudget budget) noexcept:
    """Return the steps so far."""
    return budget.charged - budget.left


cdef inline uint64_t nanoseconds() noexcept nogil:
    """Return monotonic time, for counters and for the cost of token masks; no answer depends on it."""
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return <uint64_t>now.tv_sec * 1_000_000_000 + now.tv_nsec
