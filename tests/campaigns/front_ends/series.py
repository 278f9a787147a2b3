"""Series of inputs that grow.

A series of a text is a head, a piece that is repeated, and a tail; ``#`` in a piece is its number.
A series of a JSON value is a function of the size.
"""

from collections.abc import Callable
from typing import Any, NamedTuple


class Text(NamedTuple):
    """A series of texts."""

    name: str
    head: str
    piece: str
    tail: str = ""
    separator: str = ""

    def value(self, size: int) -> str:
        pieces = (self.piece.replace("#", str(n)) for n in range(size))
        return self.head + self.separator.join(pieces) + self.tail


class Nested(NamedTuple):
    """A series of texts, each within brackets of the size."""

    name: str
    head: str
    opened: str
    inner: str
    closed: str
    tail: str = ""

    def value(self, size: int) -> str:
        return self.head + self.opened * size + self.inner + self.closed * size + self.tail


class Value(NamedTuple):
    """A series of JSON values."""

    name: str
    value: Callable[[int], Any]
