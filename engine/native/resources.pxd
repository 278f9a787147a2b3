"""A work budget: the steps that one request may spend on compiling.

A step is about a microsecond: a comparison of two alternatives, a state of an automaton, a node.
Everything whose cost can grow faster than the spec counts its steps here, so that no combination of
cheap parts is expensive. Compiles of one request may share a budget (``Grammar(limits, budget)``).

Invariants   I1 the count depends on the spec and on nothing else, so replicas refuse alike: a fragment
                that the process has kept is charged as if it had been made again.
             I2 a budget that is passed or cancelled stays so: every later ``spend`` raises.
Cost         ``spend`` takes one addition and one comparison. Each ``INTERVAL`` steps the thread lets
             others have the GIL, which takes 50 ns where none waits, and learns of a cancellation.
Threads      one thread compiles; any thread may call ``cancel``.
Not here     bounds on the size of a result (limits).
"""

from libc.stdint cimport int64_t

cdef enum:
    # steps between two looks at the flag and chances for other threads: about a millisecond
    INTERVAL = 1_000


cdef class WorkBudget:
    cdef readonly int64_t limit     # ``limits.compile_steps``
    cdef int64_t left               # steps until the next ``pause``
    cdef int64_t charged            # all steps at that pause
    cdef bint cancelled

    cdef int pause(self) except -1


cdef inline int spend(WorkBudget budget, int64_t steps) except -1:
    """Count steps; the caller holds the GIL.

    Raises:
        LimitExceeded: ``compile_steps``. Cancelled: somebody called ``cancel``.
    """
    budget.left -= steps
    if budget.left < 0:
        budget.pause()
    return 0


cdef inline bint spend_nogil(WorkBudget budget, int64_t steps) noexcept nogil:
    """Count steps without the GIL; whether the loop must take it and call ``spend(budget, 0)``."""
    budget.left -= steps
    return budget.left < 0


cdef inline int64_t spent(WorkBudget budget) noexcept:
    """Steps so far."""
    return budget.charged - budget.left
