""""""

from typing import Any, Protocol

from ...grammar.ir import Grammar, Node
from .tag_formats import TagVocabulary

class BuildSchema(Protocol):
    """The front end for JSON Schemas."""

    def __call__(
        self, grammar: Grammar, schema: Any, /, *, pointer: str, extra_keys: str = "anywhere",
        any_order: bool = False, whitespace: str = "flexible", indent: int = 20,
        spelling: str = "any",
    ) -> Node: ...  # fmt: skip

class BuildRegex(Protocol):
    """The front end for regular expressions."""

    def __call__(self, grammar: Grammar, pattern: str, /, *, pointer: str) -> Node: ...

def build_structural_tag(
    grammar: Grammar,
    tag: dict[str, Any],
    *,
    vocabulary: TagVocabulary,
    build_schema: BuildSchema,
    build_regex: BuildRegex,
) -> Node:
    """The node of a whole structural tag.

    Raises SpecError, UnsupportedSchema or LimitExceeded with the place in ``tag``.
    """
