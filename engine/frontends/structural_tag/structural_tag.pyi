from collections.abc import Iterable
from typing import Any, Protocol

from ...grammar.ir import Grammar, Node
from .tag_formats import Mark
from .tag_vocabulary import TagVocabulary

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

class BuildGrammar(Protocol):
    """The front end for grammars as text."""

    def __call__(
        self, grammar: Grammar, text: str, /, *, syntax: str, vocabulary: TagVocabulary,
        pointer: str,
    ) -> Node: ...  # fmt: skip

def build_structural_tag(
    grammar: Grammar,
    tag: dict[str, Any],
    *,
    vocabulary: TagVocabulary,
    build_schema: BuildSchema,
    build_regex: BuildRegex,
    build_grammar: BuildGrammar,
) -> Node:
    """Add a structural tag to a grammar and return its node.

    Raises:
        SpecError, UnsupportedSchema, LimitExceeded: with a pointer into ``tag``.
    """

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
    """Add free text in which each mark requires its node; if ``loop``, the text then continues."""
