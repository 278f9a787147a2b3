from collections.abc import Callable

from ..store import Store

LEAST_GAIN: int
MOST_READ_NS: int
MOST_WAIT_SECONDS: float
SLOW: bytes
QUICK: bytes

class PatternStore:
    is_trusted: bool
    def __init__(
        self, store: Store, *, audit_every: int, distrust: Callable[[str], None]
    ) -> None: ...
    def of_grammar(self, shared: dict[str, object]) -> GrammarPatterns: ...
    def prefetch(self, until: float) -> None: ...
    def forget(self) -> None: ...
    def stats(self) -> dict[str, int]: ...

class GrammarPatterns:
    def __init__(self, patterns: PatternStore) -> None: ...

def name_of(name: str, key: tuple[object, ...]) -> bytes | None: ...
