"""Memory after a start: rarer garbage collections, without the objects that live as long as the
process.

A full collection visits every tracked object while all threads wait. A gateway's start leaves some
81,000 of them: under 1,200 requests with different tools the longest collection took 74 ms of CPU,
and 16 ms once they were frozen. Few later objects stay: a compiled grammar has some fifteen, a
stream some three hundred. Cycles that hold much are broken where they arise, so collections find
little, and with Python's threshold of 700 they took 8 % of the CPU of 200 streams: their first byte
came within 9 to 12 ms (p99) instead of 20 to 30 once the threshold was YOUNG_OBJECTS.

Loading a tokenizer of 200,000 tokens leaves 270 MB that the C library keeps for itself: 553 MB are
resident afterwards, 284 MB once it has returned them.
"""

import ctypes
import gc
import platform
from collections.abc import Iterator
from contextlib import contextmanager

#: new objects, less those that were freed, until a collection looks at them
YOUNG_OBJECTS = 10_000


def settle() -> None:
    """Return free memory to the system, exclude living objects from later collections, and make
    these rarer.
    """
    gc.collect()
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


@contextmanager
def frozen() -> Iterator[None]:
    """Exclude the objects that are alive now from collections; include them again at the end, since
    a process that goes on (a test's) may drop them.
    """
    before = gc.get_threshold()
    settle()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
