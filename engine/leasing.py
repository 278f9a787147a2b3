"""Which of many processes that want the same at once makes it, and how long the others wait.

Threads   any.
Not here  what a lease is (the store); reading what somebody else has made (exchange).
"""

import time
from collections.abc import Sequence

from .store import Store

#: seconds that a process has for the masks of one grammar before others make them too, and
#: between two looks at whether it is done
LEASE_SECONDS, LOOK_AGAIN_SECONDS = 5.0, 0.01


def claim_or_wait(store: Store, keys: Sequence[bytes], wait_seconds: float) -> list[bytes]:
    """Leases for who is to make what ``keys``, the costliest first, stand for: who is granted the
    first makes all. Everybody else waits until it is given back, or long enough, and gets none.
    """
    granted = store.claim(keys, LEASE_SECONDS)
    mine = [key for key, may in zip(keys, granted, strict=True) if may]
    if granted[0]:
        return mine
    store.release(mine)
    until = time.monotonic() + wait_seconds
    while time.monotonic() < until:
        time.sleep(LOOK_AGAIN_SECONDS)
        if store.claim(keys[:1], LEASE_SECONDS)[0]:
            store.release(keys[:1])
            break
    return []
