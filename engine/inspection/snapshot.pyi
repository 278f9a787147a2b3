from ..runtime.matcher import Compiled, Matcher
from .values import Snapshot

def take(subject: Compiled | Matcher, explore: int, escapes: bool) -> Snapshot: ...
