from collections.abc import Collection, Mapping, Sequence

from ...grammar.ir import Grammar, Node, Pattern
from ...native.resources import WorkBudget
from ...vocabulary.vocabulary import Vocabulary
from .tag_formats import Mark

SPELLINGS: int

class Spelling:
    def __init__(self, special_tokens: Mapping[str, int]) -> None: ...
    def add_mark(self, grammar: Grammar, mark: Mark) -> Node:
        """Add a literal text in all its spellings, or a token."""

    def patterns(self, mark: Mark, pointer: str) -> list[Pattern]:
        """Return all patterns of a mark that is not empty."""

KEPT: int
KEPT_MARKS: int
KEPT_CHARACTERS: int

class TextPatterns: ...

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
    def tokens_outside(self, grammar: Grammar, ranges: Sequence[tuple[int, int]]) -> Node:
        """Add one token with a text that is no stop token and in none of these ranges of ids."""

    def other_tokens(self, grammar: Grammar, excludes: Collection[int]) -> Node:
        """Add one token with a text that is neither a stop token nor excluded."""

    def patterns_of(
        self,
        excludes: tuple[Mark, ...],
        ends: tuple[Mark, ...],
        triggers: tuple[Mark, ...],
        arm_tokens: frozenset[int],
        pointer: str,
        end_pointer: str,
        budget: WorkBudget,
    ) -> TextPatterns: ...
