from ..vocabulary.vocabulary import Vocabulary
from .ir import Grammar

class LoweredGrammar:
    labels: list[str]
    root: int
    own_rules: int
    largest_rule: int
    def __init__(
        self, grammar: Grammar, vocabulary: Vocabulary, *, count_registers: bool = True
    ) -> None: ...
