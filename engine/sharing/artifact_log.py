"""The log of artifacts, as the engine needs it. The package ``cache`` implements it."""

from collections.abc import Sequence
from typing import Protocol


class ArtifactLog(Protocol):
    """Bytes by key, shared by replicas that announce new entries to each other.

    Every method may wait for the network and raise any error. Only the background thread of an
    ``ArtifactCache`` and operators' commands call them, never a request.
    """

    def position(self) -> None:
        """Note the current position: ``follow`` returns later announcements."""

    def follow(self, seconds: float) -> list[bytes]:
        """Return the keys that other replicas announced since the last call; wait up to ``seconds``
        for one.
        """

    def hottest(self, prefix: bytes, most: int) -> list[bytes]:
        """Return keys with this prefix, the most used ones first."""

    def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values in order, ``None`` for missing and unauthentic ones."""

    def publish(self, entries: Sequence[tuple[bytes, bytes]]) -> int:
        """Write and announce entries; return the number of accepted ones."""

    def used(self, keys: Sequence[bytes]) -> None:
        """Count one use of each key, and renew its time to live."""
