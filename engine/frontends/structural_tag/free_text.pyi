from collections.abc import Iterable

from ...grammar.ir import Grammar, Node
from .tag_formats import Mark
from .tag_vocabulary import TagVocabulary

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
