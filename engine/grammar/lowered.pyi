from .ir import Grammar
from ..vocabulary.vocabulary import Vocabulary

class FlatIR:
    labels: list[str]
    root: int
    own_rules: int
    largest_rule: int
    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, count_registers: bool = True
    ) -> None: ...
