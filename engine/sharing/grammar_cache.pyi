from collections.abc import Callable
from typing import Any

from ..errors import LimitExceeded, SpecError
from ..limits import Limits
from ..native.resources import WorkBudget
from ..runtime.compiled import Compiled

def again(error: SpecError | LimitExceeded) -> SpecError | LimitExceeded:
    """Return the same error without traceback, cause and context."""

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
    def forget(self) -> None: ...
    def reset_counts(self) -> None: ...
    def stats(self) -> dict[str, int]: ...
