from .triples import TripleTable
from .vocabulary import Vocabulary

LEAST_GAIN: int

def store_group(fingerprint: str) -> bytes: ...
def digest_of(key: bytes) -> bytes | None: ...
def store_key(fingerprint: str, digest: bytes) -> bytes: ...
def take_fresh(table: TripleTable, vocabulary: Vocabulary) -> list[tuple[bytes, bytes]]: ...
def load(
    table: TripleTable,
    digest: bytes,
    value: bytes,
    vocabulary: Vocabulary,
    *,
    is_ahead: bool = False,
) -> int: ...
def count_differing(
    table: TripleTable, other: TripleTable, vocabulary: Vocabulary
) -> tuple[int, int]: ...
