from ..vocabulary.vocabulary import Vocabulary
from .ir import Grammar

class LoweredGrammar:
    labels: list[str]
    root: int
    own_rules: int
    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary | None, *, count_registers: bool = True
    ) -> None: ...
    def check_edges(self, most: int) -> None: ...
