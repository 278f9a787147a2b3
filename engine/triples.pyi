from collections.abc import Iterable

from .artifact import Triple
from .vocabulary import Vocabulary

class TripleTable:
    max_bytes: int
    hits: int
    misses: int
    evictions: int
    def __init__(self, max_bytes: int) -> None: ...
    def take_fresh(self) -> dict[bytes, list[Triple]]: ...
    def load(self, digest: bytes, triples: Iterable[Triple], vocabulary: Vocabulary) -> bool: ...
    def stats(self) -> dict[str, int]: ...
