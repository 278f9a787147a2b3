"""The entries of a namespace: their keys, their bounds, their popularity.

A key is "<kind>/<version>/<vocabulary>", followed by "/<name>" if a vocabulary has several entries
of that kind. The engine defines the kinds. The other keys of a namespace (the log, the sets of
popular names) help to find entries.

Popularity is a count of uses in which the weight of a use halves every two weeks. A use at time t
has the weight 2^(t / HALF_LIFE), so no score has to be aged: only the ratios matter. The weights
fit in a double until 2064; later uses all have the same weight. A wrong clock of a replica affects
only the weight of its uses.
"""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

Item = TypeVar("Item")

#: maximum bytes of a key without its namespace; keys are digests with a short prefix
MAX_KEY_BYTES: Final = 512
#: maximum bytes of a value; all masks of a large rule take some hundred KB with 200,000 tokens
MAX_VALUE_BYTES: Final = 1 << 20
#: maximum entries in one request to Redis, so that the largest fit into memory
AT_ONCE: Final = 16
#: maximum entries of a listing, export or import; 10,000 are many
MAX_ENTRIES: Final = 1_000_000
#: maximum count of uses
MAX_USES: Final = (1 << 32) - 1
#: first parts of the other keys; a kind is another word, made of letters
OTHER_WORDS: Final = (b"log", b"hot")

#: seconds after which a use counts half as much
HALF_LIFE: Final = 14 * 86_400
#: the start of 2026
_START: Final = 1_767_225_600
_MAX_HALVINGS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry without a seal. ``uses``: the known number of reads and writes."""

    key: bytes
    value: bytes
    uses: int = 0


def is_entry(key: bytes) -> bool:
    """Return whether a key, without its namespace, belongs to an entry."""
    parts = key.split(b"/")
    is_kind = parts[0].isalpha() and parts[0] not in OTHER_WORDS
    return is_kind and len(parts) in (3, 4) and parts[1].isdigit() and all(parts)


def place_of_use(prefix: bytes, key: bytes) -> tuple[bytes, bytes]:
    """Return the sorted set that counts the uses of an entry, and the entry's name in it."""
    group, _, name = key.rpartition(b"/")
    return prefix + b"hot/" + group, name


def weight(now: float | None = None) -> float:
    """Return the weight of one use now."""
    past = (time.time() if now is None else now) - _START
    return math.exp2(min(past / HALF_LIFE, _MAX_HALVINGS))


def uses_of(score: object) -> int:
    """Return the number of uses now that equals a score; 0 for an invalid score."""
    count = score / weight() if isinstance(score, float) else 0.0
    return max(1, round(count)) if 0 < count <= MAX_USES else 0


def batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Yield the items in lists of at most ``most``."""
    rest = iter(items)
    while batch := list(islice(rest, most)):
        yield batch
