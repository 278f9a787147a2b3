"""RedisStore against a real Redis: only what it put comes back, and nothing raises."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from redis import Redis

from cache import MemoryStore, RedisStore, TieredStore, WriteBounds
from cache.seal import OVERHEAD, Seal
from tests.cache.stores import BOUNDS, SECRET, MakeStore, until
from tests.redis_server import PATIENCE_SECONDS, RedisServer


def full_key(store: RedisStore, key: bytes) -> bytes:
    return store._prefix + key


def stored(store: RedisStore, *pairs: tuple[bytes, bytes]) -> RedisStore:
    store.put_many(pairs)
    assert store.flush(PATIENCE_SECONDS)
    return store


# -- what was put comes back ----------------------------------------------------------------------


def test_one_process_reads_what_another_wrote(make: MakeStore) -> None:
    binary = bytes(range(256)) * 40
    stored(make(), (b"a", b"1"), (b"\0\r\n\xff", binary), (b"empty", b""))
    reader = make()
    assert reader.get_many([b"\0\r\n\xff", b"x", b"a", b"empty", b"a"]) == [
        binary,
        None,
        b"1",
        b"",
        b"1",
    ]
    assert reader.get_many([]) == []
    stats = reader.stats()
    assert (stats["hits"], stats["misses"]) == (4, 1)
    assert not any(stats[name] for name in ("failures", "invalid", "oversized", "skipped", "open"))


@pytest.mark.parametrize("count", [63, 64, 65, 200])
def test_reads_of_any_number_of_keys_keep_their_order(make: MakeStore, count: int) -> None:
    pairs = [(b"%d" % number, b"value %d" % number) for number in range(count)]
    store = stored(make(), *pairs)
    assert store.get_many([key for key, _ in pairs]) == [value for _, value in pairs]
    assert store.stats()["writes"] == count


def test_the_last_value_of_a_key_wins(make: MakeStore) -> None:
    store = stored(make(), *[(b"a", b"%d" % number) for number in range(50)])
    assert store.get_many([b"a"]) == [b"49"]


def test_entries_live_as_long_as_they_were_given(make: MakeStore, raw: Redis) -> None:
    store = stored(make(ttl_s=1_000), (b"a", b"1"))
    assert 0 < raw.ttl(full_key(store, b"a")) <= 1_000
    raw.delete(full_key(store, b"a"))
    assert store.get_many([b"a"]) == [None]


def test_a_unix_socket_reaches_the_same_server(make: MakeStore, redis_server: RedisServer) -> None:
    stored(make(redis_server.unix_url), (b"a", b"1"))
    assert make(redis_server.url).get_many([b"a"]) == [b"1"]


def test_namespaces_do_not_see_each_other(make: MakeStore) -> None:
    stored(make(namespace="one"), (b"a", b"1"))
    assert make(namespace="two").get_many([b"a"]) == [None]


def test_many_threads_share_one_store(make: MakeStore) -> None:
    store = make()

    def work(number: int) -> list[bytes | None]:
        pairs = [(b"%d/%d" % (number, index), bytes([number]) * 1_000) for index in range(20)]
        stored(store, *pairs)
        return store.get_many([key for key, _ in pairs])

    with ThreadPoolExecutor(8) as pool:
        for number, values in enumerate(pool.map(work, range(8))):
            assert values == [bytes([number]) * 1_000] * 20
    assert store.stats()["failures"] == 0


# -- what others touched does not -----------------------------------------------------------------


def flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda sealed: flipped(sealed, 0),
        lambda sealed: flipped(sealed, 4),
        lambda sealed: flipped(sealed, 5),
        lambda sealed: flipped(sealed, 9),
        lambda sealed: flipped(sealed, 10),
        lambda sealed: flipped(sealed, OVERHEAD),
        lambda sealed: flipped(sealed, len(sealed) - 1),
        lambda sealed: sealed[:-1],
        lambda sealed: sealed + b"\0",
        lambda sealed: sealed[:OVERHEAD],
        lambda sealed: b"\x80\x05cos\nsystem\n.",
        lambda sealed: b"1",
    ],
    ids=[
        "magic",
        "version",
        "kind",
        "length",
        "mac",
        "first byte",
        "last byte",
        "cut",
        "longer",
        "no value",
        "pickle",
        "short",
    ],
)
def test_a_tampered_value_is_a_miss_and_is_counted(
    make: MakeStore, raw: Redis, spoil: Callable[[bytes], bytes]
) -> None:
    store = stored(make(), (b"a", b"the value"), (b"b", b"untouched"))
    sealed = raw.get(full_key(store, b"a"))
    assert isinstance(sealed, bytes)
    raw.set(full_key(store, b"a"), spoil(sealed))
    assert store.get_many([b"a", b"b"]) == [None, b"untouched"]
    assert store.stats()["invalid"] == 1
    assert store.stats()["open"] == 0, "somebody else's value is no failure of Redis"
    assert stored(store, (b"a", b"again")).get_many([b"a"]) == [b"again"]


def test_a_value_moved_to_another_key_or_namespace_is_a_miss(make: MakeStore, raw: Redis) -> None:
    store, other = stored(make(), (b"a", b"1")), make(namespace="moved")
    for target in (full_key(store, b"b"), full_key(other, b"a")):
        raw.copy(full_key(store, b"a"), target, replace=True)
    assert store.get_many([b"b"]) == other.get_many([b"a"]) == [None]
    assert store.stats()["invalid"] == other.stats()["invalid"] == 1


def test_a_value_of_another_type_is_a_miss(make: MakeStore, raw: Redis) -> None:
    store = stored(make(), (b"a", b"1"))
    raw.rpush(full_key(store, b"list"), "x")
    assert store.get_many([b"list", b"a"]) == [None, b"1"]
    assert (store.stats()["invalid"], store.stats()["open"]) == (1, 0)


def test_a_wrong_key_reads_nothing(make: MakeStore) -> None:
    stored(make(), (b"a", b"1"))
    stranger = make(key=b"another secret, as long")
    assert stranger.get_many([b"a"]) == [None]
    assert stranger.stats()["invalid"] == 1


def test_without_a_key_it_needs_to_be_told_to_trust_the_network(
    make: MakeStore, raw: Redis
) -> None:
    with pytest.raises(ValueError, match="needs a key"):
        make(key=None)
    trusting = stored(make(key=None, trust="network"), (b"a", b"1"))
    assert trusting.get_many([b"a"]) == [b"1"]
    keyed = make(trust="network")
    assert keyed.get_many([b"a"]) == [None], "with a key, what was sealed without one is not taken"
    sealed = raw.get(full_key(trusting, b"a"))
    assert isinstance(sealed, bytes)
    raw.set(full_key(trusting, b"a"), flipped(sealed, len(sealed) - 1))
    assert trusting.get_many([b"a"]) == [None], "accidents are noticed all the same"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"key": b"too short"}, "at least 16 bytes"),
        ({"url": "http://localhost"}, "begins with redis://"),
        ({"ttl_s": 0}, "ttl_s"),
    ],
    ids=["short key", "other scheme", "no time to live"],
)
def test_what_can_never_work_is_refused_when_the_store_is_made(
    make: MakeStore, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


# -- bounds ---------------------------------------------------------------------------------------


def test_values_at_the_bound_are_kept_and_one_byte_past_it_are_not(make: MakeStore) -> None:
    store = stored(
        make(bounds=replace(BOUNDS, value_bytes=100)), (b"a", bytes(100)), (b"b", bytes(101))
    )
    assert store.get_many([b"a", b"b"]) == [bytes(100), None]
    assert (store.stats()["oversized"], store.stats()["writes"]) == (1, 1)


def test_a_larger_value_of_somebody_else_is_not_even_read_whole(
    make: MakeStore, raw: Redis
) -> None:
    store = stored(make(bounds=replace(BOUNDS, value_bytes=100)), (b"small", b"1"))
    key = full_key(store, b"a")
    for size in (101, 64 << 20):
        raw.set(key, Seal(SECRET).wrap(key, bytes(size)), ex=60)
        assert store.get_many([b"a", b"small"]) == [None, b"1"], size
    assert (store.stats()["oversized"], store.stats()["open"]) == (2, 0)
    raw.delete(key)


def test_keys_at_the_bound_are_kept_and_one_byte_past_it_are_not(make: MakeStore) -> None:
    store = stored(make(bounds=replace(BOUNDS, key_bytes=8)), (b"k" * 8, b"1"), (b"k" * 9, b"2"))
    assert store.get_many([b"k" * 8, b"k" * 9]) == [b"1", None]


# -- Redis fails ----------------------------------------------------------------------------------


def test_a_redis_that_is_killed_costs_misses_and_one_that_returns_is_used_again(
    make: MakeStore, redis_server: RedisServer
) -> None:
    store = stored(make(redis_server.url), (b"a", b"1"))
    assert store.get_many([b"a"]) == [b"1"]
    assert store.flush(PATIENCE_SECONDS)

    redis_server.kill()
    assert store.get_many([b"a"]) == [None]
    assert store.stats()["open"] == 1
    failures = store.stats()["failures"]
    for _ in range(100):
        assert store.get_many([b"a", b"b"]) == [None, None]
    store.put_many([(b"b", b"2")])
    knocks = store.stats()["knocks"]
    until(lambda: store.stats()["knocks"] >= knocks + 2)
    assert store.stats()["failures"] == failures == 1, "while left alone, no call may pay for it"
    assert store.stats()["skipped"] == 200

    redis_server.start()
    until(lambda: store.stats()["open"] == 0)
    assert store.flush(PATIENCE_SECONDS)
    assert store.get_many([b"a", b"b"]) == [None, b"2"], (
        "what was put meanwhile is written; the rest died with the server"
    )


def test_a_write_that_fails_is_counted_and_leaves_redis_alone(
    make: MakeStore, redis_server: RedisServer
) -> None:
    store = stored(make(redis_server.url), (b"a", b"1"))
    redis_server.kill()
    store.put_many([(b"b", b"2")])
    until(lambda: store.stats()["write_failures"] == 1)
    until(lambda: store.stats()["open"] == 1)


def test_a_redis_that_is_down_at_start_is_used_when_it_comes(
    make: MakeStore, redis_server: RedisServer
) -> None:
    redis_server.kill()
    store = make(redis_server.url)
    assert store.get_many([b"a"]) == [None]
    redis_server.start()
    until(lambda: store.stats()["open"] == 0)
    assert stored(store, (b"a", b"1")).get_many([b"a"]) == [b"1"]


def test_a_full_redis_refuses_writes_and_is_still_read(
    make: MakeStore, redis_server: RedisServer
) -> None:
    store = stored(make(redis_server.url), (b"a", b"1"))
    with Redis.from_url(redis_server.url) as admin:
        admin.config_set("maxmemory-policy", "noeviction")
        admin.config_set("maxmemory", "1")
    stored(store, (b"b", b"2"))
    assert store.get_many([b"a", b"b"]) == [b"1", None]
    assert (store.stats()["write_failures"], store.stats()["open"]) == (1, 0)


def test_a_refused_login_is_a_failure_and_not_an_error(
    make: MakeStore, redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    with Redis.from_url(redis_server.url) as admin:
        admin.config_set("requirepass", "right")
    with caplog.at_level(logging.DEBUG):
        store = make(redis_server.url.replace("//", "//:wrong-password@"))
        assert store.get_many([b"a"]) == [None]
    assert (store.stats()["failures"], store.stats()["open"]) == (1, 1)
    assert "Redis cache failed" in caplog.text
    assert "wrong-password" not in caplog.text
    right = stored(make(redis_server.url.replace("//", "//:right@")), (b"a", b"1"))
    assert right.get_many([b"a"]) == [b"1"]


def test_a_redis_that_lives_but_may_not_be_read_is_left_alone(
    make: MakeStore, redis_server: RedisServer
) -> None:
    store = stored(make(redis_server.url), (b"a", b"1"))
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command("ACL SETUSER default -@all +ping +acl")
        assert store.get_many([b"a"]) == [None]
        until(lambda: store.stats()["knocks"] >= 3)
        assert (store.stats()["open"], store.stats()["opened"]) == (1, 1)
        admin.execute_command("ACL SETUSER default +@all")
        until(lambda: not store.stats()["open"])
        assert store.get_many([b"a"]) == [b"1"]


def test_closed_it_writes_what_waits_and_then_only_misses(make: MakeStore) -> None:
    store = make()
    store.put_many([(b"%d" % number, b"x") for number in range(300)])
    store.close()
    assert store.stats()["writes"] == 300
    store.put_many([(b"late", b"x")])
    assert store.get_many([b"0"]) == [None]
    assert (store.stats()["dropped"], store.stats()["queued"]) == (1, 0)
    store.close()


def test_behind_a_memory_store_a_second_read_does_not_ask_redis(
    make: MakeStore, redis_server: RedisServer
) -> None:
    stored(make(redis_server.url), (b"a", b"1"))
    far = make(redis_server.url)
    tiered = TieredStore([MemoryStore(1 << 20), far])
    assert tiered.get_many([b"a", b"x"]) == [b"1", None]
    assert far.flush(PATIENCE_SECONDS)
    redis_server.kill()
    assert tiered.get_many([b"a", b"x"]) == [b"1", None]
    assert tiered.stats()["l1_hits"] == 1
    assert tiered.stats()["l2_failures"] == 1


# -- what is asked for -----------------------------------------------------------------------------


def test_what_the_map_does_not_have_is_not_asked_for(make: MakeStore) -> None:
    believing = replace(BOUNDS, map_seconds=3600)
    reader, writer = make(bounds=believing), make()
    assert reader.get_many([b"a"]) == [None]  # reads the map
    stored(writer, (b"a", b"1"), (b"b", b"2"))
    assert reader.get_many([b"a", b"b"]) == [None, None]
    assert reader.stats()["absent"] == 2
    stored(reader, (b"a", b"3"))
    assert reader.get_many([b"a", b"b"]) == [b"3", None]
    assert reader.stats()["absent"] == 3
    assert make(bounds=believing).get_many([b"a", b"b"]) == [b"3", b"2"]


def test_an_old_map_is_read_again_beside_the_answers(make: MakeStore) -> None:
    reader, writer = make(bounds=replace(BOUNDS, map_seconds=0.05)), make()
    assert reader.get_many([b"a"]) == [None]
    stored(writer, (b"a", b"1"))
    until(lambda: reader.get_many([b"a"]) == [b"1"])


@pytest.mark.parametrize("damage", ["missing", "another type", "too long", "too short"])
def test_a_damaged_map_costs_time_or_hits_and_nothing_else(
    make: MakeStore, raw: Redis, damage: str
) -> None:
    reader = stored(make(bounds=replace(BOUNDS, map_seconds=3600)), (b"a", b"1"))
    raw.delete(reader._entries.map_key)
    if damage == "another type":
        raw.lpush(reader._entries.map_key, b"x")
    elif damage != "missing":
        raw.set(reader._entries.map_key, b"\xff" * (1 << 20 if damage == "too long" else 3))
    for _ in range(2):
        value = reader.get_many([b"a"])[0]
        assert value == b"1" or (damage != "too long" and value is None)


def test_what_is_no_map_is_replaced_by_the_next_write(make: MakeStore, raw: Redis) -> None:
    """Until then readers do not ask for what no map tells of."""
    reader = stored(make(bounds=replace(BOUNDS, map_seconds=3600)), (b"a", b"1"))
    raw.delete(reader._entries.map_key)
    raw.lpush(reader._entries.map_key, b"x")
    late = make(bounds=replace(BOUNDS, map_seconds=3600))
    assert late.get_many([b"a"]) == [b"1"], "asked beside the map"
    assert not late.may_have(b"a") and late.stats()["failures"] == 0
    assert late.stats()["absent"] == 1
    stored(reader, (b"b", b"2"))
    stored(reader, (b"b", b"3"))
    after = make(bounds=replace(BOUNDS, map_seconds=3600))
    assert after.get_many([b"b"]) == [b"3"] and after.may_have(b"b")


def test_the_most_used_keys_of_a_group_come_first(make: MakeStore, raw: Redis) -> None:
    store = make()
    stored(store, (b"g/h/one", b"1"), (b"g/h/two", b"2"), (b"g/x", b"3"), (b"alone", b"4"))
    for _ in range(3):
        assert store.get_many([b"g/h/two"]) == [b"2"]
        assert store.flush(PATIENCE_SECONDS)
    assert make().hottest(b"g/h", 10) == [b"g/h/two", b"g/h/one"]
    assert make().hottest(b"g/h", 1) == [b"g/h/two"]
    assert make().hottest(b"nothing", 10) == []
    raw.delete(store._entries.hot_key(b"g/h"))
    raw.set(store._entries.hot_key(b"g/h"), b"not a sorted set")
    assert make().hottest(b"g/h", 10) == []


def test_of_a_group_so_many_names_are_kept(make: MakeStore) -> None:
    store = make(bounds=replace(BOUNDS, hot_names=5))
    stored(store, *[(b"g/%d" % number, b"x") for number in range(40)])
    assert len(store.hottest(b"g", 100)) == 5


def test_an_entry_that_is_used_lives_on(make: MakeStore, raw: Redis) -> None:
    store = make(ttl_s=1000)
    stored(store, (b"a", b"1"))
    raw.expire(full_key(store, b"a"), 10)
    assert store.get_many([b"a"]) == [b"1"]
    assert store.flush(PATIENCE_SECONDS)
    assert raw.ttl(full_key(store, b"a")) > 900


def test_a_reading_ends_at_its_deadline(make: MakeStore, redis_server: RedisServer) -> None:
    """A Redis that is paused, not gone: it takes what is sent and says nothing."""
    bounds = replace(BOUNDS, read_seconds=0.5, writes=WriteBounds(pause_seconds=3600))
    store = make(redis_server.url, bounds=bounds)
    stored(store, (b"a", b"1"))
    assert store.get_many([b"a"]) == [b"1"]
    redis_server.pause()
    try:
        start = time.monotonic()
        assert store.get_many([b"a"]) == [None]
        assert time.monotonic() - start < PATIENCE_SECONDS / 2
        assert store.stats()["open"] == 1
        assert store.get_many([b"a"]) == [None]
        assert store.stats()["skipped"] == 1
    finally:
        redis_server.resume()
