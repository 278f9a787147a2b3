from collections.abc import Mapping

from ...grammar.ir import Grammar, Node, Pattern
from .tag_formats import Mark

SPELLINGS: int

class Spelling:
    def __init__(self, special_tokens: Mapping[str, int]) -> None: ...
    def node(self, grammar: Grammar, mark: Mark) -> Node:
        """A literal text in all its spellings, or a token."""

    def patterns(self, mark: Mark, pointer: str) -> list[Pattern]:
        """All ways to write a mark that is not empty."""
