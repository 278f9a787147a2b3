"""Work budgets, and the memory pool as Python sees it."""

from posix.time cimport nanosleep, timespec

from .pool cimport Pool

import _thread

from ..errors import Cancelled, LimitExceeded
from ..limits import Limits

#: of budgets that find cached results only
cdef object NO_STEPS = Limits(compile_steps=0)


cdef class WorkBudget:
    def __init__(self, limits=None):
        self.limit = (limits or Limits()).compile_steps
        self.charged = self.left = min(self.limit, <int64_t>INTERVAL)
        self.offered = nanoseconds()
        self.cancelled = False

    @staticmethod
    def exhausted():
        """Return a budget without steps: compiles find cached results, or raise Cancelled."""
        budget = WorkBudget(NO_STEPS)
        budget.cancel()
        return budget

    @property
    def spent(self):
        return spent(self)

    def spend(self, int64_t steps):
        """Count steps.

        Raises:
            LimitExceeded: ``compile_steps``.
            Cancelled: ``cancel`` was called.
        """
        spend(self, steps)

    def cancel(self):
        """End the compile within ``INTERVAL`` steps. Any thread may call this at any time."""
        self.cancelled = True

    def check(self):
        """Let other compiles run, as at a pause, while this one waits for something.

        Raises:
            Cancelled: ``cancel`` was called.
        """
        if self.on_pause is not None and not self.cancelled:
            self.on_pause()
        if self.cancelled:
            raise Cancelled("the compile was cancelled")

    cdef int pause(self) except -1:
        cdef int64_t count = spent(self)
        if self.on_pause is not None and not self.cancelled:
            self.on_pause()
        if self.cancelled:
            raise Cancelled("the compile was cancelled")
        if count > self.limit:
            raise LimitExceeded("compile_steps", self.limit, count)
        with nogil:
            self.offer()
        self.left = min(<int64_t>INTERVAL, self.limit - count)
        self.charged = count + self.left
        return 0

    cdef void offer(self) noexcept nogil:
        """Let a thread that waits for the GIL take it. It needs some time to wake up: without the sleep, this
        thread nearly always takes the GIL again first.
        """
        cdef timespec pause
        if nanoseconds() - self.offered > OFFER_NANOSECONDS:
            pause.tv_sec, pause.tv_nsec = 0, WAKE_NANOSECONDS
            nanosleep(&pause, NULL)
            self.offered = nanoseconds()


# -- memory ----------------------------------------------------------------------------------------
# The pool of memory for the engine's vectors (pool.h).

def keep_ready(*, bint wait=False):
    """Touch new memory if less than half a region is ready, and return free memory to the system if
    there is much of it. Both run in a thread of their own, unless ``wait``.
    """
    if Pool.instance().claim() and not run(prepare, wait):
        Pool.instance().decline()
    if Pool.instance().claim_trim():
        run(trim, wait)


def run(work, bint wait):
    """Run work, unless ``wait`` in a thread. False: no thread starts; allocations touch memory."""
    if wait:
        work()
        return True
    try:
        # not threading.Thread, whose start waits for the thread: without memory it never answers
        _thread.start_new_thread(work, ())
    except (RuntimeError, MemoryError):
        return False
    return True


def prepare():
    """Touch a region of memory: the one in use, or the next."""
    with nogil:
        Pool.instance().prepare()


def trim():
    """Return free memory to the system, including the C library's."""
    with nogil:
        Pool.instance().trim()


def stats():
    """Return bytes held by vectors, and bytes mapped for them."""
    return {"taken": Pool.instance().taken(), "mapped": Pool.instance().mapped()}
