"""The bytes of images in memory, from their reading to the end of the answers that need them.

Until an answer has ended, another worker may be asked for it, and a response in the background may
wait. So the images of a request hold its share together, and the share ends with the last of them,
wherever that is.

Invariants   I1 all shares have ``max_bytes`` at most, those of one client half of them: a client
                with many images waits for itself.
Threads      shares grow on the event loop; they may end in any thread.
Not here     bodies that are arriving (api). Parsed bodies, and those for workers, hold the images
             once more.
"""

from collections import Counter, deque

from ..errors import unavailable


class ImageMemory:
    """See the file's header."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._sizes: Counter[str] = Counter()
        #: clients and sizes of shares that have ended; appending needs no lock
        self._ended: deque[tuple[str, int]] = deque()

    def share(self, client: str) -> "ImageShare":
        """Return an empty share of a client."""
        return ImageShare(self, client)

    def take(self, client: str, size: int) -> None:
        """Count bytes of a client. Raises ApiError 503 if they are too many."""
        while self._ended:
            ended, freed = self._ended.popleft()
            self._sizes[ended] -= freed
            if not self._sizes[ended]:
                del self._sizes[ended]
        own = self._sizes[client] + size
        if own > self._max_bytes // 2 or self._sizes.total() + size > self._max_bytes:
            raise unavailable(
                f"Too many images are in memory: those of one client may have at most "
                f"{self._max_bytes // 2:,} bytes, those of all clients {self._max_bytes:,}.",
                "overloaded",
            )
        if size:
            self._sizes[client] = own

    def end(self, client: str, size: int) -> None:
        """Give back the bytes of a share; from any thread."""
        if size:
            self._ended.append((client, size))


class ImageShare:
    """The bytes of the images of one request."""

    def __init__(self, memory: ImageMemory, client: str) -> None:
        self._memory, self._client, self._size = memory, client, 0

    def grow(self, size: int) -> None:
        """Count further bytes. Raises ApiError 503 if they are too many."""
        self._memory.take(self._client, size)
        self._size += size

    def __del__(self) -> None:
        self._memory.end(self._client, self._size)
