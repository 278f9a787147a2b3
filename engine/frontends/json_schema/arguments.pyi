from typing import Any, Protocol

from ...grammar.ir import Grammar, Node

class Marks(Protocol):
    def add_mark(self, grammar: Grammar, mark: str, /) -> Node:
        """Add a literal text in all its spellings."""

def build_arguments(
    grammar: Grammar,
    schema: Any,
    *,
    style: Any,
    marks: Marks,
    label: str,
    pointer: str = "",
    is_guarded: bool = False,
    element_space: tuple[str, str] | None = None,
    **options: Any,
) -> Node:
    """Add the arguments of a call in a style.

    Args:
        style: a tag_styles.Style.
        label: of the regions.
        marks: a tag_vocabulary.Spelling, which adds literals in which special tokens are tokens.
        is_guarded: JSON strings in elements do not contain the end of their element as written, if
            only their length is bounded: other parsers end the element there.
        element_space: the white space in place of the style's glue, and behind each element; None:
            flexible. Only with ``indent`` or ``separators``.
        options: as for ``build_json_schema``; additional keys come last, or there are "none".

    Raises:
        UnsupportedSchema, SpecError: with the pointer of a schema that the style cannot express.
    """
