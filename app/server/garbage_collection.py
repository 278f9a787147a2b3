"""Garbage collection without the objects that live as long as the process.

A full collection visits every tracked object while all threads wait. A gateway's start leaves some
81,000 of them: under 1,200 requests with different tools the longest collection took 74 ms of CPU,
and 16 ms once they were frozen. Few later objects stay (a compiled grammar has some fifteen), so
the thresholds keep their defaults.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen() -> Iterator[None]:
    """Exclude the objects that are alive now from collections; include them again at the end, since
    a process that goes on (a test's) may drop them.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
