"""MemoryStore: never above its bound, the least recently used goes first, safe with threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from cache import MemoryStore
from cache.memory import ENTRY_BYTES


def room_for(count: int, size: int = 10) -> int:
    """Bytes that ``count`` entries of a one-byte key and ``size`` bytes of value take."""
    return count * (1 + size + ENTRY_BYTES)


def test_gives_back_what_was_put_in_the_order_of_the_keys() -> None:
    store = MemoryStore(1 << 20)
    store.put_many([(b"a", b"1"), (b"b", b"2")])
    assert store.get_many([b"b", b"x", b"a", b"b"]) == [b"2", None, b"1", b"2"]
    assert store.get_many([]) == []
    stats = store.stats()
    assert (stats["hits"], stats["misses"], stats["puts"], stats["entries"]) == (3, 1, 2, 2)


@pytest.mark.parametrize(
    ("slack", "evicted"), [(0, 0), (-1, 1)], ids=["at the bound", "one byte past it"]
)
def test_evicts_only_past_the_bound(slack: int, evicted: int) -> None:
    store = MemoryStore(room_for(3) + slack)
    store.put_many([(key, bytes(10)) for key in (b"a", b"b", b"c")])
    assert store.stats()["evictions"] == evicted
    assert store.stats()["bytes"] == room_for(3 - evicted)
    assert store.get_many([b"a", b"b", b"c"]).count(None) == evicted


def test_the_least_recently_used_goes_first() -> None:
    store = MemoryStore(room_for(2))
    store.put_many([(b"a", bytes(10)), (b"b", bytes(10))])
    store.get_many([b"a"])
    store.put_many([(b"c", bytes(10))])
    assert store.get_many([b"a", b"b", b"c"]) == [bytes(10), None, bytes(10)]


def test_a_large_entry_evicts_as_many_as_it_needs() -> None:
    store = MemoryStore(room_for(4))
    store.put_many([(key, bytes(10)) for key in (b"a", b"b", b"c", b"d")])
    store.put_many([(b"e", bytes(10 + room_for(2)))])
    assert store.stats()["evictions"] == 3
    assert store.get_many([b"d", b"e"]) == [bytes(10), bytes(10 + room_for(2))]


@pytest.mark.parametrize(
    ("size", "kept"), [(10, True), (11, False)], ids=["just fits", "one byte too large"]
)
def test_what_can_never_fit_is_not_kept_and_evicts_nobody(size: int, kept: bool) -> None:
    store = MemoryStore(room_for(1))
    store.put_many([(b"a", bytes(5)), (b"b", bytes(size))])
    assert store.get_many([b"b"]) == [bytes(size) if kept else None]
    assert store.get_many([b"a"]) == [None if kept else bytes(5)]
    assert store.stats()["oversized"] == (0 if kept else 1)


def test_putting_again_replaces_and_does_not_count_twice() -> None:
    store = MemoryStore(room_for(2))
    for size in (10, 3, 10):
        store.put_many([(b"a", bytes(size))])
        assert store.stats()["bytes"] == room_for(1, size)
    store.put_many([(b"a", bytes(room_for(2)))])
    assert store.get_many([b"a"]) == [None], (
        "an old value must not outlive a newer one that did not fit"
    )


def test_an_empty_value_is_a_hit_and_a_store_of_nothing_works() -> None:
    store = MemoryStore(room_for(1))
    store.put_many([(b"a", b"")])
    assert store.get_many([b"a"]) == [b""]
    nothing = MemoryStore(0)
    nothing.put_many([(b"", b"")])
    assert nothing.get_many([b""]) == [None]
    with pytest.raises(ValueError, match="-1"):
        MemoryStore(-1)


def test_a_value_is_a_copy_of_what_the_caller_may_change() -> None:
    store = MemoryStore(1 << 20)
    value = bytearray(b"before")
    store.put_many([(b"a", value)])  # type: ignore[list-item]
    value[:] = b"after!"
    assert store.get_many([b"a"]) == [b"before"]


def test_closed_it_forgets_and_keeps_nothing() -> None:
    store = MemoryStore(1 << 20)
    store.put_many([(b"a", b"1")])
    store.close()
    store.put_many([(b"b", b"2")])
    assert store.get_many([b"a", b"b"]) == [None, None]
    assert store.stats()["bytes"] == 0


def test_threads_see_whole_values_and_leave_exact_sums() -> None:
    store = MemoryStore(room_for(20, 8))

    def work(seed: int) -> bool:
        for step in range(500):
            key = bytes([(seed + step) % 50])
            store.put_many([(key, key * 8)])
            value = store.get_many([key])[0]
            if value not in (None, key * 8):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
    stats = store.stats()
    assert stats["bytes"] == room_for(stats["entries"], 8) == room_for(20, 8)
    assert stats["puts"] == 4_000
    assert stats["hits"] + stats["misses"] == 4_000
