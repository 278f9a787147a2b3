from .ir import Grammar
from .vocabulary import Vocabulary

class FlatIR:
    labels: list[str]
    root: int
    own_rules: int
    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, count_registers: bool = True
    ) -> None: ...
    def largest_rule(self) -> int: ...
    def costly_rules(self) -> list[int]: ...

def check_tokens(ids: tuple[int, ...], size: int) -> None: ...
