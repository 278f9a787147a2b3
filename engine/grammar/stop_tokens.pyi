from collections.abc import Collection

from .ir import Grammar
from .lowered import LoweredGrammar

def check_stops(
    grammar: Grammar, lowered: LoweredGrammar, stop_token_ids: Collection[int]
) -> None: ...
