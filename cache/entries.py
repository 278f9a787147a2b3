"""An entry of a namespace as operators see it: its key, its value without a seal, its uses.

Keys of entries are "<kind>/<version>/<vocabulary>", with "/<name>" behind it where a vocabulary has
many; which kinds there are is the business of those who put them. Everything else in a namespace
(the log, the sets of popular names) helps to find entries.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

Item = TypeVar("Item")

#: first parts of what is no entry's key; kinds are other words, of letters alone
OTHER_WORDS: Final = (b"log", b"hot")
#: entries of a namespace that are listed, exported or imported; 10,000 are many
MOST_ENTRIES: Final = 1_000_000
#: uses that are told apart
MOST_USES: Final = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Entry:
    """``uses``: how often it was written or read, as far as it is known."""

    key: bytes
    value: bytes
    uses: int = 0


def is_entry(key: bytes) -> bool:
    """Whether a key without its namespace is that of an entry."""
    parts = key.split(b"/")
    is_kind = parts[0].isalpha() and parts[0] not in OTHER_WORDS
    return is_kind and len(parts) in (3, 4) and parts[1].isdigit() and all(parts)


def batches(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """So many at a time."""
    rest = iter(items)
    while batch := list(islice(rest, most)):
        yield batch
