"""The kinds of artifacts that replicas share, each with its names, its bytes and its table.

    masks      of a rule, by state: depend on the vocabulary and the rule
    automata   of rules that took long to build: depend on the rule
    patterns   fragments of grammars that took long to make: depend on the pattern

Not here   what is worth sharing, and the bytes (artifact, automatonbytes, shared_patterns); when it
           is loaded and written (artifact_cache).
"""

from collections.abc import Sequence
from typing import Protocol

from . import artifact, automatonbytes
from .drafttable import DraftTable
from .frontends import shared_patterns
from .frontends.shared_patterns import SharedPatterns
from .triples import TripleTable
from .vocabulary import Vocabulary

Entry = tuple[bytes, bytes]


class Kind(Protocol):
    """One kind of artifact, between the log's keys and a table. Any thread."""

    name: str
    #: what its keys begin with
    prefix: bytes

    def has_room(self) -> bool:
        """Whether more may be loaded."""

    def wants(self, key: bytes) -> bool:
        """Whether an announced or popular entry may say something new."""

    def load(self, key: bytes, value: bytes) -> int:
        """Put a value into the table. Returns the nanoseconds that making it took, -1: refused."""

    def pending(self) -> list[bytes]:
        """Keys of which others may have a part that must not be lost by publishing."""

    def take_fresh(self) -> list[Entry]:
        """Entries that were made here since the last call, and are worth sharing."""

    def take_used(self) -> list[bytes]:
        """Keys in the log that grammars used since the last call."""


class Masks:
    name = "masks"

    def __init__(self, table: TripleTable, vocabulary: Vocabulary) -> None:
        self._table = table
        self._vocabulary = vocabulary
        self.prefix = artifact.store_group(vocabulary.fingerprint) + b"/"

    def has_room(self) -> bool:
        # loading never fills the table by itself: the other half is for what is made here
        return 2 * self._table.stats()["bytes"] < self._table.max_bytes

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

    def take_fresh(self) -> list[Entry]:
        fresh = artifact.take_fresh(self._table, self._vocabulary)
        return [(self._key(digest), value) for digest, value in fresh]

    def take_used(self) -> list[bytes]:
        return [self._key(digest) for digest in self._table.take_used()]

    def _key(self, digest: bytes) -> bytes:
        return artifact.store_key(self._vocabulary.fingerprint, digest)


class Automata:
    name = "automata"
    prefix = automatonbytes.STORE_GROUP + b"/"

    def __init__(self, table: DraftTable) -> None:
        self._table = table

    def has_room(self) -> bool:
        return 2 * self._table.stats()["bytes"] < self._table.max_bytes

    def wants(self, key: bytes) -> bool:
        digest = artifact.digest_of(key)
        return digest is not None and not self._table.knows(digest)

    def load(self, key: bytes, value: bytes) -> int:
        digest = artifact.digest_of(key)
        return -1 if digest is None else automatonbytes.load(self._table, digest, value)

    def pending(self) -> list[bytes]:
        return []

    def take_fresh(self) -> list[Entry]:
        fresh = automatonbytes.take_fresh(self._table)
        return [(automatonbytes.store_key(digest), value) for digest, value in fresh]

    def take_used(self) -> list[bytes]:
        return [*map(automatonbytes.store_key, self._table.take_used())]


class Patterns:
    name = "patterns"
    prefix = shared_patterns.GROUP + b"/"

    def __init__(self, patterns: SharedPatterns) -> None:
        self._patterns = patterns

    def has_room(self) -> bool:
        return self._patterns.has_room()

    def wants(self, key: bytes) -> bool:
        return not self._patterns.knows(self._name(key))

    def load(self, key: bytes, value: bytes) -> int:
        self._patterns.load(self._name(key), value)
        # counted when a grammar uses it: only then it is decoded
        return 0

    def pending(self) -> list[bytes]:
        return []

    def take_fresh(self) -> list[Entry]:
        return [(self.prefix + name, value) for name, value in self._patterns.take_fresh()]

    def take_used(self) -> list[bytes]:
        return [self.prefix + name for name in self._patterns.take_used()]

    def _name(self, key: bytes) -> bytes:
        return key.removeprefix(self.prefix)


def kinds_of(
    vocabulary: Vocabulary, masks: TripleTable, automata: DraftTable, patterns: SharedPatterns
) -> Sequence[Kind]:
    """All kinds, in the order in which they are loaded at start: cheapest gain first."""
    return (Patterns(patterns), Automata(automata), Masks(masks, vocabulary))
