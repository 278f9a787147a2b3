from ..native.resources import WorkBudget
from ..runtime.compiled import Compiled
from ..runtime.matcher import Matcher
from .values import Snapshot

def take(
    subject: Compiled | Matcher, explore: int, escapes: bool, budget: WorkBudget | None = None
) -> Snapshot: ...
