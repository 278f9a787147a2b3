from typing import NamedTuple

from .ir import Grammar
from .vocabulary import Vocabulary

PLAIN: int
COUNTED: int
FREE_TEXT: int

class RuleShape(NamedTuple):
    node: int
    kind: int
    finishable: tuple[int, ...]

class FlatIR:
    labels: list[str]
    root: int
    own_rules: int
    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, count_registers: bool = True
    ) -> None: ...
    def largest_rule(self) -> int: ...
    def rule_shapes(self) -> list[RuleShape]: ...

def check_tokens(ids: tuple[int, ...], size: int) -> None: ...
