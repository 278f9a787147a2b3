"""The artifacts that replicas share: token masks of rules, their keys and their cache.

Each process builds automata and intermediate results of patterns itself, once, which takes less
time than a mask (docs/adr/0006).

Not here   the bytes, and which masks are worth sharing (mask_codec); when entries are loaded and
           published (artifact_cache).
"""

from collections.abc import Iterable

from ..masks.token_mask import TokenMaskCache
from ..vocabulary.vocabulary import Vocabulary
from . import mask_codec as artifact


class TokenMaskArtifacts:
    """The token masks of rules for one vocabulary, between the log and a cache. Used from any
    thread.
    """

    def __init__(self, table: TokenMaskCache, vocabulary: Vocabulary) -> None:
        self._table = table
        self._vocabulary = vocabulary
        #: the prefix of the keys
        self.prefix = artifact.store_group(vocabulary.fingerprint) + b"/"

    def filled(self) -> float:
        """Return the used share of the cache's bytes, 0.0 to 1.0."""
        return self._table.stats()["bytes"] / self._table.max_bytes

    def of_vocabulary(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return the keys of this vocabulary. Each may add something: other replicas may have token
        masks of states that were not visited here.
        """
        return [key for key in keys if key.startswith(self.prefix) and artifact.digest_of(key)]

    def load(self, key: bytes, value: bytes) -> int:
        """Load a value into the cache. Return the nanoseconds it saves, -1 if it is refused."""
        digest = artifact.digest_of(key)
        if digest is None:
            return -1
        return artifact.load(self._table, digest, value, self._vocabulary)

    def pending(self) -> list[bytes]:
        """Return keys of which other replicas may have parts that publishing must not lose."""
        return [self._key(digest) for digest in self._table.fresh_rules()]

    def adds(self, value: bytes, known: bytes) -> bool:
        """Return whether a value contains more than another one of its key, which was loaded."""
        return artifact.count_of(value) > artifact.count_of(known)

    def take_fresh(self) -> list[tuple[bytes, bytes]]:
        """Return entries built here since the last call that are worth sharing."""
        fresh = artifact.take_fresh(self._table, self._vocabulary)
        return [(self._key(digest), value) for digest, value in fresh]

    def take_used(self) -> list[bytes]:
        """Return keys in the log that grammars used since the last call."""
        return [self._key(digest) for digest in self._table.take_used()]

    def _key(self, digest: bytes) -> bytes:
        return artifact.store_key(self._vocabulary.fingerprint, digest)
