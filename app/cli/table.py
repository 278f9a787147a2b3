"""Text in columns, for terminals and logs alike. What others chose, keys in Redis for instance, is
shown without what a terminal would obey.
"""

from collections.abc import Sequence
from typing import Any

#: characters of one cell: a reason with its place, not a table that one key makes unreadable
MOST_SHOWN = 300


def table(rows: Sequence[Sequence[Any]]) -> str:
    """A line a row; columns of numbers stand right, others left."""
    columns = list(zip(*rows, strict=True))
    right = [any(isinstance(cell, int | float) for cell in column) for column in columns]
    texts = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = (
        "  ".join(
            text.rjust(width) if is_right else text.ljust(width)
            for text, width, is_right in zip(row, widths, right, strict=True)
        )
        for row in texts
    )
    return "\n".join(line.rstrip() for line in lines)


def shown(cell: Any) -> str:
    """Numbers with separators; nothing as a dash."""
    if cell is None:
        return "-"
    return plain(f"{cell:,}" if isinstance(cell, int | float) else str(cell))


def plain(text: str) -> str:
    """One line of at most ``MOST_SHOWN`` characters; those that print nothing become ``?``."""
    cut = text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."
    return "".join(letter if letter.isprintable() else "?" for letter in cut)
