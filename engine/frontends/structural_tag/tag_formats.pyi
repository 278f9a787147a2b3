""""""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ...grammar.ir import Grammar, Node, Pattern
from ...vocabulary.vocabulary import Vocabulary

Mark: TypeAlias = str | int

class Format:
    pointer: str

class JsonSchema(Format):
    schema: Any
    place: str
    extra_keys: str
    spelling: str
    loose: bool
    style: str
    any_order: bool
    whitespace: str
    most_blanks: int
    indent: int | str | None
    separators: list[str] | None
    excludes: tuple[str, ...]

# -- tag spelling ----------------------------------------------------------------------------------

SPELLINGS: int

class Spelling:
    def __init__(self, special_tokens: Mapping[str, int]) -> None: ...
    def node(self, grammar: Grammar, mark: Mark) -> Node:
        """A literal text in all its spellings, or a token."""

    def patterns(self, mark: Mark, pointer: str) -> list[Pattern]:
        """All ways to write a mark that is not empty."""

# -- tag vocabulary --------------------------------------------------------------------------------

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

# -- tag free text ---------------------------------------------------------------------------------

def build_free_text(
    grammar: Grammar,
    vocabulary: TagVocabulary,
    arms: Iterable[tuple[Mark, Node]],
    *,
    excludes: tuple[Mark, ...],
    loop: bool,
    max_chars: int | None = None,
    max_tokens: int | None = None,
    pointer: str,
) -> Node:
    """Free text in which a mark wants its node; then the text goes on, if ``loop``."""
