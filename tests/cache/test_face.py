"""Every store has one face: the same cases against memory, a host's file, Redis, and the tiers."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from cache import HostStore, Layer, MemoryStore, RedisStore, TieredStore
from tests.cache.stores import BOUNDS, SECRET
from tests.cache.test_host import BOUNDS as HOST_BOUNDS
from tests.redis_server import PATIENCE_SECONDS

#: a face onto what one process sees; made twice over the same place, two processes
MakeStore = Callable[[], Layer]

NAMES = ("memory", "host", "redis", "memory+host", "memory+redis", "memory+host+redis")
#: where another process finds what one put
SHARED = tuple(name for name in NAMES if name != "memory")
LONG = 60.0


@pytest.fixture
def make(request: pytest.FixtureRequest, tmp_path: Path, redis_url: str) -> Iterator[MakeStore]:
    """Makes stores of the kind that the test names, all over one file and one namespace."""
    namespace = uuid.uuid4().hex
    made: list[Layer] = []

    def layer(name: str) -> Layer:
        if name == "memory":
            return MemoryStore(1 << 26)
        if name == "host":
            path = str(tmp_path / "cache.db")
            return HostStore(path, key=SECRET, max_bytes=1 << 26, bounds=HOST_BOUNDS)
        bounds = replace(BOUNDS, value_bytes=1 << 20)
        return RedisStore(redis_url, namespace=namespace, key=SECRET, bounds=bounds)

    def make_store() -> Layer:
        layers = [layer(name) for name in request.param.split("+")]
        made.append(layers[0] if len(layers) == 1 else TieredStore(layers))
        return made[-1]

    yield make_store
    for store in made:
        store.close()


every_store = pytest.mark.parametrize("make", NAMES, indirect=True)
every_shared_store = pytest.mark.parametrize("make", SHARED, indirect=True)


def written(store: Layer) -> None:
    """Wait until what was put is where others find it."""
    for layer in getattr(store, "_layers", (store,)):
        assert not hasattr(layer, "flush") or layer.flush(PATIENCE_SECONDS)


def stored(store: Layer, *pairs: tuple[bytes, bytes]) -> Layer:
    store.put_many(pairs)
    written(store)
    return store


@every_store
def test_gives_back_what_was_put_in_the_order_of_the_keys(make: MakeStore) -> None:
    binary = bytes(range(256)) * 40
    store = stored(make(), (b"a", b"1"), (b"\0\r\n\xff'", binary), (b"empty", b""))
    asked = [b"\0\r\n\xff'", b"x", b"a", b"empty", b"a"]
    assert store.get_many(asked) == [binary, None, b"1", b"", b"1"]
    assert store.get_many([]) == []


@every_store
def test_the_last_value_of_a_key_wins(make: MakeStore) -> None:
    store = make()
    for number in range(5):
        stored(store, *[(b"a", b"%d/%d" % (number, each)) for each in range(10)])
    assert store.get_many([b"a"]) == [b"4/9"]


@every_store
def test_a_value_is_a_copy_of_what_the_caller_may_change(make: MakeStore) -> None:
    store, value = make(), bytearray(b"before")
    store.put_many([(b"a", value)])  # type: ignore[list-item]
    value[:] = b"after!"
    written(store)
    assert store.get_many([b"a"]) == [b"before"]


@every_store
@pytest.mark.parametrize("size", [1, 4_000, 100_000, 1 << 20])
def test_values_of_any_size_up_to_the_bound_come_back(make: MakeStore, size: int) -> None:
    value = uuid.uuid4().bytes * (size // 16 + 1)
    store = stored(make(), (b"a", value[:size]))
    assert store.get_many([b"a"]) == [value[:size]]


@every_store
def test_many_threads_share_one_store(make: MakeStore) -> None:
    store = make()

    def work(number: int) -> list[bytes | None]:
        pairs = [(b"%d/%d" % (number, index), bytes([number]) * 1_000) for index in range(20)]
        stored(store, *pairs)
        return store.get_many([key for key, _ in pairs])

    with ThreadPoolExecutor(8) as pool:
        for number, values in enumerate(pool.map(work, range(8))):
            assert values == [bytes([number]) * 1_000] * 20


@pytest.mark.parametrize("make", [name for name in NAMES if "memory" in name], indirect=True)
def test_of_threads_one_may_make_a_value(make: MakeStore) -> None:
    """The others know processes only: the memory in front of them tells threads apart."""
    store = make()
    assert store.claim([b"a", b"b"], LONG) == [True, True]
    with ThreadPoolExecutor(1) as other:
        assert other.submit(store.claim, [b"b", b"c"], LONG).result() == [False, True]
        store.release([b"a", b"b"])
        written(store)
        assert other.submit(store.claim, [b"b"], LONG).result() == [True]


@every_store
def test_closed_it_keeps_nothing_and_grants_everything(make: MakeStore) -> None:
    store = stored(make(), (b"a", b"1"))
    store.close()
    store.put_many([(b"b", b"2")])
    assert store.get_many([b"a", b"b"]) == store.get_newest([b"a", b"b"]) == [None, None]
    assert store.hottest(b"a", 5) == []
    assert store.claim([b"a"], LONG) == [True]
    store.release([b"a"])
    store.close()


@every_shared_store
def test_one_process_reads_what_another_wrote(make: MakeStore) -> None:
    one, two = make(), make()
    stored(one, (b"a", b"1"))
    assert two.get_many([b"a", b"x"]) == two.get_newest([b"a", b"x"]) == [b"1", None]
    stored(two, (b"a", b"2"))
    assert one.get_newest([b"a"]) == [b"2"]


@every_shared_store
def test_of_processes_one_may_make_a_value(make: MakeStore) -> None:
    one, two = make(), make()
    assert one.claim([b"a", b"b", b"a"], LONG) == [True, True, True]
    assert one.claim([b"a"], LONG) == [True], "its own"
    assert two.claim([b"c", b"a", b"b"], LONG) == [True, False, False]
    two.release([b"a"])
    written(two)
    assert two.claim([b"a"], LONG) == [False], "only the holder can give it back"
    one.put_many([(b"a", b"made")])
    one.release([b"a"])
    written(one)
    assert two.claim([b"a", b"b"], LONG) == [True, False]
    assert two.get_many([b"a"]) == [b"made"]


@every_shared_store
def test_the_most_used_keys_of_a_group_come_first(make: MakeStore) -> None:
    store = make()
    stored(store, (b"g/h/one", b"1"), (b"g/h/two", b"2"), (b"g/x", b"3"), (b"alone", b"4"))
    for _ in range(3):
        assert make().get_many([b"g/h/two"]) == [b"2"]
    for _ in range(3):
        using = make()
        assert using.get_many([b"g/h/two"]) == [b"2"]
        written(using)
    assert make().hottest(b"g/h", 10) == [b"g/h/two", b"g/h/one"]
    assert make().hottest(b"g/h", 1) == [b"g/h/two"]
    assert make().hottest(b"g", 10) == [b"g/x"]
    assert make().hottest(b"nothing", 10) == []


@every_store
def test_what_is_there_may_be_there(make: MakeStore) -> None:
    store = stored(make(), (b"g/a", b"1"))
    assert store.may_have(b"g/a")
    store.used([b"g/a", b"g/nothing"])
    store.used([])
    written(store)
    assert store.get_many([b"g/a", b"g/nothing"]) == [b"1", None]


@every_shared_store
def test_a_use_without_a_reading_counts_and_a_reading_ahead_or_of_the_newest_does_not(
    make: MakeStore,
) -> None:
    store = stored(make(), (b"g/one", b"1"), (b"g/two", b"2"))
    for _ in range(3):
        reading = make()
        assert reading.get_newest([b"g/one"]) == [b"1"]
        assert reading.get_many([b"g/one"], urgent=False) == [b"1"]
        written(reading)
    for _ in range(2):
        store.used([b"g/two"])
        written(store)
    assert make().hottest(b"g", 10) == [b"g/two", b"g/one"]
