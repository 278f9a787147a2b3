"""The garbage collector, told which objects live as long as the process.

A full collection walks over every tracked object while all threads wait. After the imports and the
start these are some 400,000, and none of them is garbage: a walk takes 220 ms, every few seconds
under load. Collections skip frozen objects. Few later objects stay: a compiled grammar has some
fifteen. So the thresholds keep their defaults: later full collections walk over what requests
left, which takes milliseconds.
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
