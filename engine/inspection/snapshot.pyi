from ..runtime.compiled import Compiled
from ..runtime.matcher import Matcher
from .values import Snapshot

def take(subject: Compiled | Matcher, explore: int, escapes: bool) -> Snapshot: ...
