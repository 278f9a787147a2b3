"""The store in memory: its bound in bytes, its order of eviction, its time to live."""

import pytest

from app.state.byte_store import ENTRY_BYTES, MemoryStore, StateUnavailable
from tests.app.state.shares import SHARES, VALUE, left

#: three entries of this size fit
ROOM = 3 * (1 + len(VALUE) + ENTRY_BYTES)


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def kept(store: MemoryStore, names: str) -> str:
    found = await store.get(names)
    return "".join(name for name, value in zip(names, found, strict=True) if value is not None)


async def test_the_least_recently_used_value_is_evicted():
    store = MemoryStore(max_bytes=ROOM, ttl_s=10)
    for name in "abc":
        await store.set("me", {name: VALUE})
    await store.get("a")
    await store.set("me", {"d": VALUE})
    assert await kept(store, "abcd") == "acd"
    await store.set("me", {"d": VALUE, "e": VALUE})
    assert await kept(store, "acde") == "cde"
    assert await store.sizes("cx") == [len(VALUE), 0]


async def test_a_value_beyond_the_memory_is_refused_and_evicts_nothing():
    store = MemoryStore(max_bytes=ROOM, ttl_s=10)
    await store.set("me", {"a": VALUE})
    await store.set("me", {"b": b"x" * (ROOM - ENTRY_BYTES - 1)})
    assert await kept(store, "ab") == "b"
    with pytest.raises(StateUnavailable):
        await store.set("me", {"c": b"x" * (ROOM - ENTRY_BYTES)})
    assert await kept(store, "bc") == "b"


async def test_a_value_lives_for_its_time_after_the_last_use():
    clock = Clock()
    store = MemoryStore(max_bytes=ROOM, ttl_s=10, now=clock)
    await store.set("me", {"a": VALUE, "b": VALUE})
    clock.seconds = 9
    assert await kept(store, "a") == "a"
    clock.seconds = 11
    assert await kept(store, "ab") == "a"
    clock.seconds = 21
    assert await kept(store, "a") == ""


async def test_a_replaced_or_deleted_value_frees_its_bytes():
    store = MemoryStore(max_bytes=ROOM, ttl_s=10)
    for _ in range(5):
        await store.set("me", {"a": VALUE})
    await store.set("me", {"b": VALUE, "c": VALUE})
    await store.delete(["b", "unknown"])
    await store.set("me", {"d": VALUE})
    assert await kept(store, "abcd") == "acd"
    await store.aclose()
    assert await kept(store, "acd") == ""


@pytest.mark.parametrize(("stored", "kept"), SHARES)
async def test_the_owner_with_the_most_bytes_makes_room(stored: str, kept: str):
    assert await left(MemoryStore(max_bytes=ROOM + 3, ttl_s=10), stored) == kept


async def test_a_value_larger_than_the_rest_is_not_evicted_by_itself():
    store = MemoryStore(max_bytes=ROOM, ttl_s=10)
    await store.set("me", {"a": VALUE})
    await store.set("flood", {"b": VALUE, "c": b"x" * (ROOM // 2)})
    assert await kept(store, "bc") == "bc"
    assert store._bytes.total() == store._size <= ROOM
    await store.delete("bc")
    assert (store._owned, store._bytes, store._size) == ({}, {}, 0)
