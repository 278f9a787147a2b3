"""The work budget: see the header file."""

from .pool cimport Pool

import _thread

from ..errors import Cancelled, LimitExceeded
from ..limits import Limits


cdef class WorkBudget:
    def __init__(self, limits=None):
        self.limit = (limits or Limits()).compile_steps
        self.charged = self.left = min(self.limit, <int64_t>INTERVAL)
        self.cancelled = False

    @staticmethod
    def exhausted():
        """Return a budget without a step left: a compile with it finds cached results only, and
        raises Cancelled otherwise.
        """
        budget = WorkBudget(Limits(compile_steps=0))
        budget.cancel()
        return budget

    @property
    def spent(self):
        return spent(self)

    def spend(self, int64_t steps):
        """Count steps.

        Raises:
            LimitExceeded: ``compile_steps``. Cancelled: somebody called ``cancel``.
        """
        spend(self, steps)

    def refund(self, int64_t steps):
        """Take steps back, of work that comes to nothing through no fault of the spec.

        Raises:
            as ``spend``.
        """
        self.charged -= steps
        self.pause()

    def cancel(self):
        """End the compile within ``INTERVAL`` steps; any thread may call this, at any time."""
        self.cancelled = True

    cdef int pause(self) except -1:
        cdef int64_t count = spent(self)
        if self.cancelled:
            raise Cancelled("the compile was cancelled")
        if count > self.limit:
            raise LimitExceeded("compile_steps", self.limit, count)
        with nogil:
            # a thread that waits for the GIL takes it here
            pass
        self.left = min(<int64_t>INTERVAL, self.limit - count)
        self.charged = count + self.left
        return 0


# -- memory ----------------------------------------------------------------------------------------
# The pool of memory behind the engine's vectors, as Python sees it.

def keep_ready(*, bint wait=False):
    """Has memory touched, if there is less than half a region of it, and given back to the system, if
    much of it is free: by a thread of its own, or waiting for it.
    """
    if Pool.instance().claim() and not run(prepare, wait):
        Pool.instance().decline()
    if Pool.instance().claim_trim():
        run(trim, wait)


def run(work, bint wait):
    """Whether the work is done, or a thread does it. Where no thread is to be had, whoever takes memory
    touches it.
    """
    if wait:
        work()
        return True
    try:
        # not threading.Thread, whose start waits for the thread: one without memory never answers
        _thread.start_new_thread(work, ())
    except (RuntimeError, MemoryError):
        return False
    return True


def prepare():
    """Touches a region of memory: the one in use, or the next."""
    with nogil:
        Pool.instance().prepare()


def trim():
    """Gives free memory back to the system, the C library's included."""
    with nogil:
        Pool.instance().trim()


def stats():
    """Bytes that vectors hold, and bytes mapped for them."""
    return {"taken": Pool.instance().taken(), "mapped": Pool.instance().mapped()}
