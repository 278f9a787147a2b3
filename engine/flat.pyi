from .ir import Grammar
from .vocabulary import Vocabulary

PLAIN: int

class FlatIR:
    labels: list[str]
    root: int
    own_rules: int
    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, count_registers: bool = True
    ) -> None: ...
    def largest_rule(self) -> int: ...
    def rule_nodes(self) -> list[tuple[int, int]]: ...
