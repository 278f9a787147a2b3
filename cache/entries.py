"""The entries of a namespace: their keys, their bounds, their popularity.

Keys are "<kind>/<version>/<vocabulary>", with "/<name>" behind it where a vocabulary has many; the
engine decides which kinds there are. All else in a namespace (the log, the sets of popular names)
helps to find entries.

Popularity is a count of uses, of which those two weeks ago count half. A use at time t weighs
2^(t / HALF_LIFE), so nothing has to be aged: all weights grow alike, and only their ratios matter.
A double holds them until 2064; from then on all uses count alike. A replica whose clock is wrong
gives its uses a wrong weight, and nothing else.
"""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

Item = TypeVar("Item")

#: bytes of a key without its namespace; ours are digests with a short prefix
MOST_KEY_BYTES: Final = 512
#: bytes of a value: all masks of a large rule of a 200,000-token vocabulary take some hundred KB
MOST_VALUE_BYTES: Final = 1 << 20
#: entries that one request reads or writes, so that the largest fit into memory
AT_ONCE: Final = 16
#: entries of a namespace that are listed, exported or imported; 10,000 are many
MOST_ENTRIES: Final = 1_000_000
#: uses that are told apart
MOST_USES: Final = (1 << 32) - 1
#: first parts of keys that are not entries'; kinds are other words, of letters alone
OTHER_WORDS: Final = (b"log", b"hot")

#: seconds after which a use counts half as much
HALF_LIFE: Final = 14 * 86_400
#: the beginning of 2026
_START: Final = 1_767_225_600
_MOST_HALVINGS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry without a seal. ``uses``: how often it was written or read, as far as is known."""

    key: bytes
    value: bytes
    uses: int = 0


def is_entry(key: bytes) -> bool:
    """Whether a key without its namespace is that of an entry."""
    parts = key.split(b"/")
    is_kind = parts[0].isalpha() and parts[0] not in OTHER_WORDS
    return is_kind and len(parts) in (3, 4) and parts[1].isdigit() and all(parts)


def place_of_use(prefix: bytes, key: bytes) -> tuple[bytes, bytes]:
    """The sorted set in which an entry's uses are counted, and the entry's name there."""
    group, _, name = key.rpartition(b"/")
    return prefix + b"hot/" + group, name


def weight(now: float | None = None) -> float:
    """What one use now adds to a score."""
    past = (time.time() if now is None else now) - _START
    return math.exp2(min(past / HALF_LIFE, _MOST_HALVINGS))


def uses_of(score: object) -> int:
    """How many uses now a score is worth; 0 for one that can't be."""
    found = score / weight() if isinstance(score, float) else 0.0
    return max(1, round(found)) if 0 < found <= MOST_USES else 0


def batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """So many at a time."""
    rest = iter(items)
    while batch := list(islice(rest, most)):
        yield batch
