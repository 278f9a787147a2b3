"""TieredStore: asks far layers only for what near ones missed, and fills the near ones."""

from collections.abc import Sequence

import pytest

from cache import MemoryStore, TieredStore


class SharedLayer(MemoryStore):
    """A layer in which others write."""

    def __init__(self) -> None:
        super().__init__(1 << 20)
        self.names: list[bytes] = []
        self.asked_for = 0

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        self.asked_for += 1
        return self.names[:most]

    def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]:
        return self.get_many(keys)


class Recorder(MemoryStore):
    """A memory store that remembers what it was asked for."""

    def __init__(self, **held: bytes) -> None:
        super().__init__(1 << 20)
        self.put_many([(key.encode(), value) for key, value in held.items()])
        self.asked: list[list[bytes]] = []
        self.given: list[tuple[bytes, bytes]] = []

    def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]:
        self.asked.append(list(keys))
        return super().get_many(keys)

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        super().put_many(items)
        if hasattr(self, "given"):
            self.given += items


def test_the_newest_is_what_the_farthest_layer_has() -> None:
    near, far = MemoryStore(1 << 20), SharedLayer()
    store = TieredStore([near, far])
    store.put_many([(b"a", b"ours")])
    far.put_many([(b"a", b"theirs")])
    assert store.get_many([b"a", b"x"]) == [b"ours", None]
    assert store.get_newest([b"a", b"x"]) == [b"theirs", None]
    assert near.get_newest([b"a"]) == [None]


def test_what_the_farthest_lost_or_does_not_tell_is_asked_of_the_next() -> None:
    memory, host, redis = MemoryStore(1 << 20), SharedLayer(), SharedLayer()
    store = TieredStore([memory, host, redis])
    memory.put_many([(b"a", b"ours"), (b"c", b"ours")])
    host.put_many([(b"a", b"the host's"), (b"b", b"the host's")])
    redis.put_many([(b"a", b"everybody's")])
    assert store.get_newest([b"b", b"a", b"c", b"b"]) == [
        b"the host's",
        b"everybody's",
        None,
        b"the host's",
    ]
    redis.names, host.names = [b"g/1", b"g/2"], [b"g/2", b"g/3", b"g/4"]
    assert store.hottest(b"g", 9) == [b"g/1", b"g/2", b"g/3", b"g/4"]
    assert store.hottest(b"g", 3) == [b"g/1", b"g/2", b"g/3"]
    redis.names = []
    assert store.hottest(b"g", 9) == [b"g/2", b"g/3", b"g/4"]
    assert host.asked_for == 3, "what is near is not asked when the far one tells enough"
    redis.names = [b"g/1"]
    assert store.hottest(b"g", 1) == [b"g/1"]
    assert host.asked_for == 3


def test_a_far_hit_fills_the_near_layers_and_is_not_asked_for_again() -> None:
    near, middle, far = Recorder(a=b"1"), Recorder(b=b"2"), Recorder(c=b"3", a=b"old")
    store = TieredStore([near, middle, far])
    for _ in range(2):
        assert store.get_many([b"c", b"a", b"b", b"x", b"c"]) == [b"3", b"1", b"2", None, b"3"]
    assert near.asked == [[b"c", b"a", b"b", b"x"]] * 2
    assert middle.asked == [[b"c", b"b", b"x"], [b"x"]]
    assert far.asked == [[b"c", b"x"], [b"x"]]
    assert near.given == [(b"b", b"2"), (b"c", b"3")]
    assert middle.given == [(b"c", b"3")]
    assert far.given == []


def test_nothing_far_is_asked_when_the_near_layer_has_all() -> None:
    near, far = Recorder(a=b"1"), Recorder()
    assert TieredStore([near, far]).get_many([b"a"]) == [b"1"]
    assert TieredStore([near, far]).get_many([]) == []
    assert far.asked == []


def test_puts_go_to_every_layer_and_stats_name_theirs() -> None:
    near, far = MemoryStore(0), MemoryStore(1 << 20)
    store = TieredStore([near, far])
    store.put_many([(b"a", b"1")])
    assert store.get_many([b"a"]) == [b"1"]
    stats = store.stats()
    assert (stats["l1_entries"], stats["l2_entries"], stats["l1_misses"], stats["l2_hits"]) == (
        0,
        1,
        1,
        1,
    )
    store.close()
    assert store.get_many([b"a"]) == [None]


def test_no_layers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one layer"):
        TieredStore([])


class SlowLayer(MemoryStore):
    """A layer that is never done writing."""

    def __init__(self) -> None:
        super().__init__(1 << 20)
        self.waited: list[float] = []

    def flush(self, timeout_s: float) -> bool:
        self.waited.append(timeout_s)
        return False


def test_tiers_are_named_nearest_first() -> None:
    store = TieredStore([MemoryStore(1 << 10), MemoryStore(1 << 20)])
    assert [(name, stats["max_bytes"]) for name, stats in store.tiers()] == [
        ("memory", 1 << 10),
        ("memory", 1 << 20),
    ]


def test_a_flush_waits_for_every_layer_and_says_whether_all_were_in_time() -> None:
    slow, other = SlowLayer(), SlowLayer()
    assert TieredStore([MemoryStore(0), MemoryStore(0)]).flush(0)
    assert not TieredStore([MemoryStore(0), slow, other, MemoryStore(0)]).flush(5)
    assert 0 < slow.waited[0] <= 5
    assert 0 < other.waited[0] <= 5
