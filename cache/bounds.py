"""The bounds that every store of bytes has, whatever it writes to.

Not here    those of one kind of store (redis_bounds, host_bounds).
"""

from dataclasses import dataclass, field

from .write_behind import WriteBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreBounds:
    """Each with its unit and the reason for its default."""

    #: bytes of one value; all masks of a large rule of a 200,000-token vocabulary take a few
    #: hundred kilobytes
    value_bytes: int = 1 << 20
    #: bytes of one key without its namespace; ours are digests with a short prefix
    key_bytes: int = 512
    #: keys of one round trip or transaction; with value_bytes it bounds what one can bring to
    #: 64 MiB
    batch_keys: int = 64
    #: seconds for a reading that a request waits for: a compile is done without it in less
    read_seconds: float = 0.02
    #: of the write-behind queue, and how long a store that failed is left alone
    writes: WriteBounds = field(default_factory=WriteBounds)
