"""The work budget: see the header file."""

from .errors import Cancelled, LimitExceeded
from .limits import Limits


cdef class WorkBudget:
    def __init__(self, limits=None):
        self.limit = (limits or Limits()).compile_steps
        self.charged = self.left = min(self.limit, <int64_t>INTERVAL)
        self.cancelled = False

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
