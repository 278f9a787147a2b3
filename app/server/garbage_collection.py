"""The garbage collector, told which objects live as long as the process.

A full collection walks over every tracked object while all threads wait. A gateway's start leaves
some 81,000 that are no garbage: under 1,200 requests with different tools the longest collection
took 74 ms of CPU, and 16 ms once they were frozen, since collections skip frozen objects. Few later
objects stay: a compiled grammar has some fifteen. So the thresholds keep their defaults.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen() -> Iterator[None]:
    """Leave out of collections what is alive now; take it in again at the end, since a process
    that goes on (a test's) may drop it.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
