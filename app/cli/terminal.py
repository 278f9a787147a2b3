"""Output of commands: tables, progress, and warnings collected while a command runs."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

#: characters of one table cell: a reason with its place fits, and one long key does not make the
#: table unreadable
MAX_SHOWN = 300
#: progress lines where the output is no terminal
LINES = 10


def table(rows: Sequence[Sequence[Any]]) -> str:
    """Format rows as lines; align columns of numbers right, others left."""
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
    """Format a cell: numbers with separators, None as a dash."""
    if cell is None:
        return "-"
    return plain(f"{cell:,}" if isinstance(cell, int | float) else str(cell))


def plain(text: str) -> str:
    """Return one line of at most ``MAX_SHOWN`` characters, safe to print on a terminal.

    Characters that are not printable become ``?``: keys in Redis and answers of gateways may hold
    control sequences.
    """
    cut = text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."
    return "".join(letter if letter.isprintable() else "?" for letter in cut)


def with_progress(items: Sequence[Item], what: str, out: TextIO) -> Iterator[Item]:
    """Yield the items and show progress: a bar on a terminal, a few lines elsewhere."""
    if out.isatty():
        yield from tqdm(items, desc=what, file=out, unit="", dynamic_ncols=True)
        return
    step = max(1, -(-len(items) // LINES))
    for number, item in enumerate(items, start=1):
        yield item
        if number % step == 0 or number == len(items):
            print(f"{what}: {number:,} of {len(items):,}", file=out, flush=True)


class _MessageCollector(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.messages[record.getMessage()] = None


@contextmanager
def warnings_of(package: str) -> Iterator[dict[str, None]]:
    """Collect the warnings that a package logs, each once and in order.

    Logged lines would break up the lines of progress.
    """
    handler, logger = _MessageCollector(), logging.getLogger(package)
    logger.addHandler(handler)
    try:
        yield handler.messages
    finally:
        logger.removeHandler(handler)
