"""What replicas share: each kind of artifact with its names, its bytes and its table.

There is one kind, the masks of rules. Automata and what front ends make of patterns are made again
by each process: that takes less than a mask does, once a process (docs/adr/0006).

Not here   what is worth sharing, and the bytes (artifact); when it is loaded and written
           (artifact_cache).
"""

from typing import Protocol

from ..masks.token_mask import TokenMaskCache
from ..vocabulary.vocabulary import Vocabulary
from . import mask_codec as artifact

Entry = tuple[bytes, bytes]


class ArtifactKind(Protocol):
    """One kind of artifact, between the log's keys and a table. Any thread."""

    name: str
    #: what its keys begin with
    prefix: bytes

    def filled(self) -> float:
        """The share of the table's bytes that are taken, 0.0 to 1.0."""

    def wants(self, key: bytes) -> bool:
        """Whether an announced or popular entry may say something new."""

    def load(self, key: bytes, value: bytes) -> int:
        """Put a value into the table. Returns the nanoseconds that making it took, -1: refused."""

    def pending(self) -> list[bytes]:
        """Keys of which others may have a part that must not be lost by publishing."""

    def adds(self, value: bytes, known: bytes) -> bool:
        """Whether a value says more than another one of the same key, which was loaded."""

    def take_fresh(self) -> list[Entry]:
        """Entries that were made here since the last call, and are worth sharing."""

    def take_used(self) -> list[bytes]:
        """Keys in the log that grammars used since the last call."""


class TokenMaskArtifacts:
    """Of a rule, by state: they depend on the rule and the vocabulary."""

    name = "masks"

    def __init__(self, table: TokenMaskCache, vocabulary: Vocabulary) -> None:
        self._table = table
        self._vocabulary = vocabulary
        self.prefix = artifact.store_group(vocabulary.fingerprint) + b"/"

    def filled(self) -> float:
        return self._table.stats()["bytes"] / self._table.max_bytes

    def wants(self, key: bytes) -> bool:
        # others may have masks of states that nobody visited here
        return artifact.digest_of(key) is not None

    def load(self, key: bytes, value: bytes) -> int:
        digest = artifact.digest_of(key)
        if digest is None:
            return -1
        return artifact.load(self._table, digest, value, self._vocabulary)

    def pending(self) -> list[bytes]:
        return [self._key(digest) for digest in self._table.fresh_rules()]

    def adds(self, value: bytes, known: bytes) -> bool:
        return artifact.count_of(value) > artifact.count_of(known)

    def take_fresh(self) -> list[Entry]:
        fresh = artifact.take_fresh(self._table, self._vocabulary)
        return [(self._key(digest), value) for digest, value in fresh]

    def take_used(self) -> list[bytes]:
        return [self._key(digest) for digest in self._table.take_used()]

    def _key(self, digest: bytes) -> bytes:
        return artifact.store_key(self._vocabulary.fingerprint, digest)
