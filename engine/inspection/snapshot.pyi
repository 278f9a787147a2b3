from ..compiled import Compiled
from ..matcher import Matcher
from .values import Snapshot

def take(subject: Compiled | Matcher, explore: int, escapes: bool) -> Snapshot: ...
