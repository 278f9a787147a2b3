"""A namespace as operators see it: listed, surveyed, exported and imported, with a real Redis."""

import io
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from cache import (
    DumpRefused,
    RedisLog,
    Seal,
    StoreUnusable,
    entries,
    export_namespace,
    import_namespace,
    namespace,
)
from tests.cache.stores import SECRET, MakeLog, new_log
from tests.redis_server import PATIENCE_SECONDS, RedisServer

OTHER_SECRET = b"the other site's secret"
GROUP = b"masks/5/aa"
PAIRS = {
    b"order/1/aa": b"the order",
    **{GROUP + b"/%04d" % n: b"%d " % n * n for n in range(100)},
    b"masks/6/bb/0001": b"",
}


@pytest.fixture
def make(redis_url: str) -> Iterator[MakeLog]:
    """Makes logs, each of a namespace of its own unless one is named; closes them."""
    made: list[RedisLog] = []

    def make_log(
        url: str = redis_url, *, namespace: str | None = None, **options: object
    ) -> RedisLog:
        chosen = namespace or uuid.uuid4().hex
        made.append(new_log(url, chosen, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make_log
    for log in made:
        log.close()


def filled(log: RedisLog, pairs: dict[bytes, bytes] = PAIRS) -> RedisLog:
    assert log.publish(list(pairs.items())) == len(pairs)
    return log


def exported(store: RedisLog) -> bytes:
    file = io.BytesIO()
    export_namespace(store, file, seconds=PATIENCE_SECONDS)
    return file.getvalue()


def held(store: RedisLog) -> dict[bytes, bytes | None]:
    keys = list(store.namespace().keys(PATIENCE_SECONDS))
    return dict(zip(keys, store.read(keys), strict=True))


# -- listing --------------------------------------------------------------------------------------


def test_the_entries_of_one_namespace_are_listed_and_nothing_else(
    make: MakeLog, raw: Redis
) -> None:
    store = filled(make(namespace="a[b]*?\\c"))
    filled(make(namespace="a[b]*?\\cd"), {b"masks/5/aa/other": b"1"})
    filled(make(namespace="abxx\\c"), {b"masks/5/aa/another": b"1"})
    raw.set(store._prefix + b"hot/5/aa", b"not an entry")
    assert sorted(store.namespace().keys(PATIENCE_SECONDS)) == sorted(PAIRS)


def test_a_listing_beyond_its_bounds_says_so(
    make: MakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(make())
    monkeypatch.setattr(namespace, "SCANNED_AT_ONCE", 1)
    with pytest.raises(StoreUnusable, match="longer than 0 seconds"):
        list(store.namespace().keys(0))
    monkeypatch.setattr(namespace, "MAX_ENTRIES", 10)
    with pytest.raises(StoreUnusable, match="more than 10 entries"):
        list(store.namespace().keys(PATIENCE_SECONDS))
    assert not store.namespace().survey(PATIENCE_SECONDS).is_whole


def test_a_survey_counts_by_kind_version_and_vocabulary(make: MakeLog) -> None:
    store = filled(make(ttl_s=1_000))
    store.used([GROUP + b"/0007"])
    found = store.namespace().survey(PATIENCE_SECONDS)
    assert found.is_whole
    assert [(group.kind, group.version, group.vocabulary) for group in found.groups] == [
        ("masks", "5", "aa"),
        ("masks", "6", "bb"),
        ("order", "1", "aa"),
    ]
    masks = found.groups[0]
    assert (masks.entries, masks.used, masks.most_uses) == (100, 100, 2)
    assert masks.bytes > sum(map(len, PAIRS.values()))
    assert masks.least_ttl is not None
    assert masks.most_ttl is not None
    assert 0 < masks.least_ttl <= masks.most_ttl <= 1_000
    assert "maxmemory_policy" in found.server


def test_keys_longer_than_a_store_writes_are_no_entries(make: MakeLog, raw: Redis) -> None:
    store = make()
    longest = GROUP + b"/" + b"x" * (entries.MAX_KEY_BYTES - len(GROUP) - 1)
    for key in (longest, longest + b"x"):
        raw.set(store._prefix + key, b"planted", ex=60)
    assert list(store.namespace().keys(PATIENCE_SECONDS)) == [longest]


def test_a_survey_takes_so_many_groups_and_is_not_whole_beyond(
    make: MakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(make())
    for most, is_whole in ((3, True), (2, False)):
        monkeypatch.setattr(namespace, "MAX_GROUPS", most)
        found = store.namespace().survey(PATIENCE_SECONDS)
        assert (len(found.groups), found.is_whole) == (most, is_whole)


def test_an_empty_namespace_is_a_whole_survey_of_nothing(make: MakeLog) -> None:
    found = make().namespace().survey(PATIENCE_SECONDS)
    assert (found.groups, found.is_whole) == ([], True)
    assert held(make()) == {}


# -- export and import ----------------------------------------------------------------------------


def test_what_one_site_exports_another_imports_under_its_own_secret(make: MakeLog) -> None:
    data = exported(filled(make()))
    there = make(key=OTHER_SECRET)
    done = import_namespace(there, io.BytesIO(data), file_key=SECRET)
    assert (done.entries, done.bytes) == (len(PAIRS), sum(map(len, PAIRS.values())))
    assert held(there) == PAIRS


def test_imported_entries_age(make: MakeLog, raw: Redis) -> None:
    data = exported(filled(make()))
    there = make(ttl_s=1_000)
    import_namespace(there, io.BytesIO(data))
    assert all(0 < raw.ttl(there._prefix + key) <= 1_000 for key in PAIRS)


def most_uses(store: RedisLog) -> int:
    return store.namespace().survey(PATIENCE_SECONDS).groups[0].most_uses


def test_the_order_of_use_travels_and_importing_again_is_one_use_more(make: MakeLog) -> None:
    here = filled(make())
    hottest = [GROUP + b"/0042", GROUP + b"/0007", GROUP + b"/0099"]
    for times, key in enumerate(reversed(hottest), start=2):
        for _ in range(times):
            here.used([key])
    data = exported(here)
    there = make()
    for _ in range(2):
        import_namespace(there, io.BytesIO(data))
        assert there.hottest(GROUP + b"/", 3) == hottest
    assert most_uses(here) <= most_uses(there) <= most_uses(here) + 3
    assert held(there) == PAIRS


def test_what_is_not_sealed_for_its_key_is_not_exported(make: MakeLog, raw: Redis) -> None:
    store = filled(make())
    first, second, third, fourth = list(PAIRS)[:4]
    raw.set(store._prefix + first, b"forged")
    raw.copy(store._prefix + second, store._prefix + third, replace=True)
    raw.delete(store._prefix + fourth)
    raw.rpush(store._prefix + fourth, b"a list")
    file = io.BytesIO()
    done = export_namespace(store, file, seconds=PATIENCE_SECONDS)
    assert (done.entries, done.left_out) == (len(PAIRS) - 3, 3)
    there = make()
    import_namespace(there, io.BytesIO(file.getvalue()))
    assert held(there) == {k: v for k, v in PAIRS.items() if k not in (first, third, fourth)}


@pytest.mark.parametrize("spoil", ["cut", "flipped", "extended", "other secret", "no secret"])
def test_a_file_that_is_refused_writes_nothing(make: MakeLog, spoil: str) -> None:
    data = exported(filled(make(key=OTHER_SECRET if spoil == "other secret" else SECRET)))
    if spoil == "no secret":
        data = exported(filled(make(key=None)))
    spoilt = {
        "cut": data[:-1],
        "flipped": data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
        "extended": data + b"\0",
    }.get(spoil, data)
    there = make()
    with pytest.raises(DumpRefused):
        import_namespace(there, io.BytesIO(spoilt))
    assert held(there) == {}
    assert there.stats()["written"] == 0


def test_a_file_that_changes_while_it_is_imported_is_not_written_on(
    make: MakeLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = exported(filled(make()))
    path = tmp_path / "cache"
    path.write_bytes(data)
    there = make()
    checked = namespace.Namespace.check

    def change_then_check(self: namespace.Namespace) -> None:
        at = data.index(b"99 99 ")
        path.write_bytes(data[:at] + b"66 66 " + data[at + 6 :])
        checked(self)

    monkeypatch.setattr(namespace.Namespace, "check", change_then_check)
    with path.open("rb") as file, pytest.raises(DumpRefused):
        import_namespace(there, file)
    assert all(PAIRS[key] == value for key, value in held(there).items())


def test_without_a_secret_a_file_guards_against_accidents(make: MakeLog) -> None:
    data = exported(filled(make(key=None)))
    there = make(key=None)
    import_namespace(there, io.BytesIO(data))
    assert held(there) == PAIRS
    assert Seal(None).stream()[0] == data[5] == 0


@pytest.mark.parametrize("score", ["+inf", "-inf", "-1", "1e40"])
def test_a_number_of_uses_that_is_none_counts_as_none(
    make: MakeLog, raw: Redis, score: str
) -> None:
    store = filled(make())
    raw.execute_command("ZADD", store._prefix + b"hot/" + GROUP, score, b"0042")
    raw.execute_command("ZREMRANGEBYRANK", store._prefix + b"hot/order/1", 0, -1)
    found = store.namespace().survey(PATIENCE_SECONDS).groups
    assert [group.most_uses for group in found] == [0 if score in ("+inf", "1e40") else 1, 1, 0]
    assert store.namespace().read([GROUP + b"/0042"])[0][0].uses == 0
    assert exported(store)


def test_a_list_of_uses_of_another_type_is_no_uses(make: MakeLog, raw: Redis) -> None:
    store = filled(make())
    raw.set(store._prefix + b"hot/" + GROUP, b"a string")
    masks = store.namespace().survey(PATIENCE_SECONDS).groups[0]
    assert (masks.entries, masks.used, masks.most_uses) == (100, 0, 0)
    data = exported(store)
    import_namespace(store, io.BytesIO(data))
    assert held(store) == PAIRS


# -- a Redis that does not do its part ------------------------------------------------------------


def test_a_redis_that_is_down_is_an_error_that_names_no_address(
    make: MakeLog, redis_server: RedisServer
) -> None:
    data = exported(filled(make()))
    store = make(redis_server.url.replace("127.0.0.1", "user:hidden@127.0.0.1"))
    redis_server.kill()
    for act in (
        lambda: store.namespace().survey(PATIENCE_SECONDS),
        lambda: exported(store),
        lambda: import_namespace(store, io.BytesIO(data)),
    ):
        with pytest.raises(StoreUnusable) as caught:
            act()
        assert "hidden" not in str(caught.value)
        assert "127.0.0.1" not in str(caught.value)


ACTS: dict[str, tuple[str, Callable[[RedisLog], object]]] = {
    "sizes": ("memory|usage", lambda store: store.namespace().survey(PATIENCE_SECONDS)),
    "times": ("ttl", lambda store: store.namespace().survey(PATIENCE_SECONDS)),
    "uses": ("zcard", lambda store: store.namespace().survey(PATIENCE_SECONDS)),
    "most uses": ("zrevrange", lambda store: store.namespace().survey(PATIENCE_SECONDS)),
    "keys": ("scan", exported),
    "values": ("getrange", exported),
    "scores": ("zscore", exported),
    "noting uses": ("zadd", lambda store: import_namespace(store, io.BytesIO(exported(store)))),
}


@pytest.mark.parametrize("what", ACTS)
def test_what_is_not_permitted_is_an_error_and_not_an_empty_cache(
    make: MakeLog, redis_server: RedisServer, what: str
) -> None:
    command, act = ACTS[what]
    store = filled(make(redis_server.url))
    with Redis.from_url(redis_server.url) as admin:
        assert store.namespace().survey(PATIENCE_SECONDS).server
        admin.execute_command("ACL", "SETUSER", "default", f"-{command}")
        with pytest.raises(StoreUnusable, match="NoPermissionError"):
            act(store)


def test_without_the_right_to_info_a_survey_tells_of_entries_only(
    make: MakeLog, redis_server: RedisServer
) -> None:
    store = filled(make(redis_server.url))
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "default", "-info")
        found = store.namespace().survey(PATIENCE_SECONDS)
    assert (found.server, len(found.groups), found.is_whole) == ({}, 3, True)


def test_a_redis_without_room_is_an_error_of_the_import(
    make: MakeLog, redis_server: RedisServer
) -> None:
    data = exported(filled(make()))
    with Redis.from_url(redis_server.url) as client:
        client.config_set("maxmemory", 1)
        with pytest.raises(StoreUnusable, match=r"only 0 of 16 entries"):
            import_namespace(make(redis_server.url), io.BytesIO(data))
