from collections.abc import Iterable
from pathlib import Path

from ...grammar.ir import Ranges

WORD: Ranges
SPACE: Ranges
JSON_UNESCAPED: Ranges
CLASSES: dict[str, Ranges]
PROPERTIES: Path
FOLDING: Path

def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort and merge ranges, and remove surrogates."""

def union(*sets: Ranges) -> Ranges: ...
def intersect(a: Ranges, b: Ranges) -> Ranges: ...
def complement(ranges: Ranges) -> Ranges: ...
def char(c: int) -> Ranges: ...
def contains(ranges: Ranges, c: int) -> bool: ...
def load_tables() -> None:
    """Read the tables now, if nothing has read them yet."""

def properties() -> dict[str, Ranges]:
    """Return all sets by the names that stand between ``\\p{`` and ``}``."""

def alike() -> tuple[list[int], list[int]]:
    """Return all pairs of characters that fold to the same one, sorted, as two lists."""

def property_ranges(name: str) -> Ranges | None:
    """Return the ranges of ``\\p{name}``; None: ECMA-262 has no such name with the flag u."""

def any_case(ranges: Ranges) -> Ranges:
    """Add all characters that fold to the same ones."""
