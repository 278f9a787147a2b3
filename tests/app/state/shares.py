"""Cases of stores that are full: values in the order in which they are stored, and those left.

A name begins with its owner's, and three values fit.
"""

from app.state.byte_store import ByteStore
from app.state.redis_store import _weight
from cache import Seal

VALUE = b"x" * 1000
#: bytes of three values in Redis
ROOM = 3 * _weight("a1", Seal(None).wrap(b"", VALUE))
SHARES = [
    # the owner with the most bytes makes room, its least recently used value first
    ("a1 a2 b1 b2", "a2 b1 b2"),
    ("a1 a2 b1 b2 c1", "a2 b2 c1"),
    ("a1 b1 c1 d1", "b1 c1 d1"),
    # what was replaced counts once
    ("a1 a1 a1 b1 b2", "a1 b1 b2"),
    # REGRESSION: many large responses of one client evicted the conversations of all others
    ("a1 b1 b2 b3 b4 b5 b6", "a1 b5 b6"),
]


async def left(store: ByteStore, stored: str) -> str:
    """Store the values; return the names of those left."""
    for name in stored.split():
        await store.set(name[0], {name: VALUE})
    found = {name: (await store.get([name]))[0] for name in sorted(set(stored.split()))}
    return " ".join(name for name, value in found.items() if value == VALUE)
