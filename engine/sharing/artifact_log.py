"""What the engine needs from a log of artifacts. ``cache`` satisfies it without importing it."""

from collections.abc import Sequence
from typing import Protocol


class ArtifactLog(Protocol):
    """Bytes by key, shared by replicas that announce new entries to each other.

    Every method may block for network time and may raise anything: only the background thread of
    an ``ArtifactCache`` and operators' commands call them, never a request.
    """

    def position(self) -> None:
        """Begin to follow: announcements from now on reach ``follow``."""

    def follow(self, seconds: float) -> list[bytes]:
        """The keys that other replicas announced since the last call; waits for one so long."""

    def hottest(self, prefix: bytes, most: int) -> list[bytes]:
        """Keys that begin with ``prefix``, those that replicas use most first."""

    def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in order, ``None`` for each that is missing or not authentic."""

    def publish(self, entries: Sequence[tuple[bytes, bytes]]) -> int:
        """Write and announce the entries; returns how many were taken."""

    def used(self, keys: Sequence[bytes]) -> None:
        """Count one use of each key, and renew its time to live."""
