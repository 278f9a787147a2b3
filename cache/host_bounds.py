"""All bounds of a store in a file of the host, but its size."""

from dataclasses import dataclass
from typing import Final

from .bounds import StoreBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBounds(StoreBounds):
    """``read_seconds`` is for a reading, and for the threads before it."""

    #: seconds that one statement of a reading or a claim waits for another process: readings need
    #: not wait for writes, and a claim in vain costs more than this
    busy_seconds: float = 0.02
    #: seconds that the write-behind thread waits for another process
    write_seconds: float = 1.0


#: what is good where nothing else is known
USUAL: Final = HostBounds()
