"""Simple case folding of Unicode: letters that patterns do not tell apart under the flag ``i``.

Source   ECMA-262, Canonicalize with the flags i and u: the mappings C and S of CaseFolding.txt.
         They stand in ``case_folding.json`` (Unicode 14.0): distance -> the characters that fold to
         the character so far behind them, as "41-5a" or "100-12e/2" (every second one).
Cost     the table is read when a pattern first needs it: a millisecond.
"""

import json
from functools import cache
from itertools import permutations
from pathlib import Path

from ...grammar.ir import Ranges
from .charset import with_partners

_TABLE = Path(__file__).parent / "case_folding.json"


def _folded() -> dict[int, int]:
    """What each character folds to that does not fold to itself."""
    found = {}
    for distance, runs in json.loads(_TABLE.read_text()).items():
        for run in runs.split():
            span, _, step = run.partition("/")
            low, _, high = span.partition("-")
            for c in range(int(low, 16), int(high or low, 16) + 1, int(step or 1)):
                found[c] = c + int(distance)
    return found


@cache
def _alike() -> tuple[list[int], list[int]]:
    """All pairs of characters that fold alike, by their first: the firsts, and the seconds."""
    groups: dict[int, list[int]] = {}
    for c, folded in _folded().items():
        groups.setdefault(folded, [folded]).append(c)
    pairs = sorted(pair for group in groups.values() for pair in permutations(group, 2))
    return [c for c, _ in pairs], [other for _, other in pairs]


def any_case(ranges: Ranges) -> Ranges:
    """These characters and all that fold alike."""
    return with_partners(ranges, *_alike())
