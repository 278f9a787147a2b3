r"""Patterns of white space that clients and operators give for JSON.

Those that are read are classes of white space with a quantifier that allows none: ``[ ]?``,
``[\n ]*``, ``\s*``, ``[\n\t ]{0,8}``; and the empty one.
"""

import re
from dataclasses import dataclass
from typing import Final

#: what may be given, in messages
READ_PATTERNS: Final = r"empty, or white space with a quantifier, such as '[ ]?', '[\n ]*' or '\s*'"
_ONE: Final = r" |\\[snrt]|[\n\r\t]"
_PATTERN: Final = re.compile(rf"(?:\[((?:{_ONE})+)\]|({_ONE}))(?:([?*])|\{{0,([1-9]\d{{0,3}})\}})")


@dataclass(frozen=True, slots=True)
class WhitespacePattern:
    """The white space that a pattern allows. ``most``: characters; None: no bound."""

    has_spaces: bool = False
    has_line_feeds: bool = False
    most: int | None = 0


def read_whitespace_pattern(pattern: str) -> WhitespacePattern | None:
    """Return what a pattern allows; None: it is of another kind."""
    if not pattern:
        return WhitespacePattern()
    if (parts := _PATTERN.fullmatch(pattern)) is None:
        return None
    blanks, quantifier, count = parts[1] or parts[2], parts[3], parts[4]
    return WhitespacePattern(
        " " in blanks or "\\s" in blanks,
        any(line_feed in blanks for line_feed in ("\n", "\\n", "\\s")),
        1 if quantifier == "?" else int(count) if count else None,
    )
