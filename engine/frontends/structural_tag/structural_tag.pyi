from collections.abc import Callable, Iterable
from typing import Any

from ...grammar.ir import Grammar, Node
from .tag_formats import Mark
from .tag_vocabulary import TagVocabulary

#: a front end for JSON Schemas, regular expressions or grammars as text: a grammar, the spec and
#: options -> a node
FrontEnd = Callable[..., Node]

def build_structural_tag(
    grammar: Grammar,
    tag: dict[str, Any],
    *,
    vocabulary: TagVocabulary,
    build_schema: FrontEnd,
    build_regex: FrontEnd,
    build_grammar: FrontEnd,
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
