from collections.abc import Collection, Mapping, Sequence

from ...grammar.ir import Grammar, Node
from ...vocabulary.vocabulary import Vocabulary
from .tag_formats import Mark
from .tag_spelling import Spelling

KEPT: int
KEPT_MARKS: int
KEPT_CHARACTERS: int

class Surroundings: ...

class TagVocabulary:
    special_tokens: Mapping[str, int]
    special_ids: frozenset[int]
    stops: frozenset[int]
    spelling: Spelling
    def __init__(
        self,
        special_tokens: Mapping[str, int],
        stop_token_ids: Collection[int],
        tokens: Sequence[bytes] = (),
    ) -> None: ...
    @classmethod
    def of(cls, vocabulary: Vocabulary) -> TagVocabulary: ...
    @property
    def size(self) -> int: ...
    def other_tokens(self, grammar: Grammar, excludes: Collection[int]) -> Node:
        """Any token that has a text, but stop tokens and these."""

    def surroundings(
        self,
        excludes: tuple[Mark, ...],
        ends: tuple[Mark, ...],
        triggers: tuple[Mark, ...],
        arm_tokens: frozenset[int],
        pointer: str,
        end_pointer: str,
    ) -> Surroundings: ...
