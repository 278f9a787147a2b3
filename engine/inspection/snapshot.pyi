from ..native.resources import WorkBudget
from ..runtime.compiled import Compiled
from ..runtime.matcher import Matcher
from .values import Snapshot

def take(
    subject: Compiled | Matcher, explore: int, escapes: bool, budget: WorkBudget | None = None
) -> Snapshot: ...
def count_states(
    compiled: Compiled, explore: int = 0, budget: WorkBudget | None = None
) -> tuple[int, int]: ...
