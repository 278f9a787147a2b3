"""Memory after a start: garbage collection without the objects that live as long as the process.

A full collection visits every tracked object while all threads wait. A gateway's start leaves some
81,000 of them: under 1,200 requests with different tools the longest collection took 74 ms of CPU,
and 16 ms once they were frozen. Few later objects stay (a compiled grammar has some fifteen), so
the thresholds keep their defaults.

Loading a tokenizer of 200,000 tokens leaves 270 MB that the C library keeps for itself: 553 MB are
resident afterwards, 284 MB once it has returned them.
"""

import ctypes
import gc
import platform
from collections.abc import Iterator
from contextlib import contextmanager


def settle() -> None:
    """Return free memory to the system, and exclude living objects from later collections."""
    gc.collect()
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()


@contextmanager
def frozen() -> Iterator[None]:
    """Exclude the objects that are alive now from collections; include them again at the end, since
    a process that goes on (a test's) may drop them.
    """
    settle()
    try:
        yield
    finally:
        gc.unfreeze()
