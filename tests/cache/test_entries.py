"""Which keys of a namespace are those of entries."""

import pytest

from cache.entries import is_entry

ENTRIES = (b"masks/8/a1/00ff", b"order/1/a1", b"patterns/8/any/00ff", b"automata/8/any/00ff")
OTHERS = (
    b"",
    b"log",
    b"log/8/a1",
    b"hot/masks/8/a1",
    b"masks",
    b"masks/8",
    b"masks//a1",
    b"masks/8/a1/",
    b"masks/8/a1/00/ff",
    b"/8/a1",
    # of a namespace whose name begins with this one's
    b"eu:masks/8/a1/00ff",
    b"eu/north:masks/8/a1",
    b"eu/north/masks/8",
)


@pytest.mark.parametrize("key", ENTRIES)
def test_whatever_kind_an_engine_writes_is_an_entry(key: bytes) -> None:
    assert is_entry(key)


@pytest.mark.parametrize("key", OTHERS)
def test_what_helps_to_find_entries_is_none(key: bytes) -> None:
    assert not is_entry(key)
