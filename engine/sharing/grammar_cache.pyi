from collections.abc import Callable
from typing import Any

from ..budget import WorkBudget
from ..limits import Limits
from ..runtime.compiled import Compiled

class GrammarCache:
    measured: int
    def __init__(self, limits: Limits) -> None: ...
    def get_or_build(
        self,
        key: bytes,
        spec: Any,
        build: Callable[[Any, WorkBudget], Compiled],
        budget: WorkBudget | None,
    ) -> Compiled: ...
    def note_use(self, compiled: Compiled) -> None: ...
    def forget(self) -> None: ...
    def reset_counts(self) -> None: ...
    def stats(self) -> dict[str, int]: ...
