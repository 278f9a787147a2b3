"""However a Redis is set up, what was put comes back, a node that hangs holds nobody for long, and
what failed over is found again.
"""

import io
import re
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis

from cache import RedisBounds, RedisStore, WriteBounds, export_namespace, import_namespace
from tests.cache.stores import WRITES, until
from tests.redis_server import PATIENCE_SECONDS, RedisServer

from .deployments import (
    Cluster,
    Watched,
    certificates,
    cluster,
    lacks_tls,
    tls_server,
    watched,
)

ROOT = Path(__file__).parents[2]
#: as generous as a busy machine needs, with short pauses, so that recovery is soon
BOUNDS = RedisBounds(
    connect_seconds=PATIENCE_SECONDS,
    socket_seconds=PATIENCE_SECONDS,
    reply_seconds=PATIENCE_SECONDS,
    read_seconds=PATIENCE_SECONDS,
    map_seconds=0,
    writes=replace(WRITES, close_seconds=1),
)
#: with these only the deadline of a reading can end it in time
HURRIED = replace(
    BOUNDS,
    read_seconds=0.3,
    writes=WriteBounds(pause_seconds=3600, max_pause_seconds=3600),
)
PAIRS = [(b"group/%d" % number, b"value %d" % number) for number in range(100)]
KEYS = [key for key, _ in PAIRS]
VALUES = [value for _, value in PAIRS]

MakeStore = Callable[..., RedisStore]


@pytest.fixture
def make() -> Iterator[MakeStore]:
    """Makes stores of one fresh namespace; closes them."""
    namespace = uuid.uuid4().hex
    made: list[RedisStore] = []

    def make_store(url: str, **options: object) -> RedisStore:
        chosen = {"namespace": namespace, "key": bytes(16), "bounds": BOUNDS, **options}
        made.append(RedisStore(url, **chosen))  # type: ignore[arg-type]
        return made[-1]

    yield make_store
    for store in made:
        store.close()


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture
def sentinel() -> Iterator[Watched]:
    with watched() as found:
        yield found


def full_key(store: RedisStore, key: bytes) -> bytes:
    return store._prefix + key


def filled(store: RedisStore) -> RedisStore:
    store.put_many(PAIRS)
    assert store.flush(PATIENCE_SECONDS)
    return store


def ends_soon(store: RedisStore) -> None:
    start = time.monotonic()
    assert store.get_many(KEYS) == [None] * len(KEYS)
    assert time.monotonic() - start < PATIENCE_SECONDS / 2
    assert store.stats()["open"] == 1


# -- TLS, and a user with few rights --------------------------------------------------------------


def test_with_tls_only_a_server_that_the_authority_vouches_for_is_used(
    make: MakeStore, tmp_path: Path
) -> None:
    if why := lacks_tls():
        pytest.skip(why)
    made = certificates(tmp_path)
    with tls_server(made) as server:
        url = server.tls_url  # type: ignore[attr-defined]
        known = f"{url}?ssl_ca_certs={made.authority}"
        assert filled(make(known)).stats()["writes"] == len(PAIRS)
        assert make(known).get_many(KEYS) == VALUES
        for refused in (url, known.replace("127.0.0.1", "localhost")):
            stranger = make(refused, bounds=HURRIED)
            assert stranger.get_many(KEYS) == [None] * len(KEYS)
            assert stranger.stats()["failures"] == 1, refused
        unnamed = known.replace("127.0.0.1", "localhost") + "&ssl_check_hostname=false"
        assert make(unnamed).get_many(KEYS) == VALUES
        server.pause()
        try:
            ends_soon(make(known, bounds=HURRIED))
        finally:
            server.resume()


def claimed_and_released(store: RedisStore) -> None:
    assert store.claim(KEYS[:10], 60) == [True] * 10
    store.release(KEYS[:10])
    assert store.flush(PATIENCE_SECONDS)


def documented_user() -> str:
    """The line of docs/cache.md that makes a user."""
    (found,) = re.findall(r"(?m)^    (ACL SETUSER .*)$", (ROOT / "docs/cache.md").read_text())
    return str(found)


def test_the_documented_user_may_do_all_that_a_store_does(
    make: MakeStore, redis_server: RedisServer
) -> None:
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command(documented_user())
        url = redis_server.url.replace("//", "//switchyard:PASSWORD@")
        store = filled(make(url, namespace="switchyard"))
        assert store.get_many(KEYS) == VALUES
        assert set(store.hottest(b"group", 1000)) == set(KEYS)
        claimed_and_released(store)
        assert admin.acl_log() == []
        assert not list(admin.scan_iter(b"switchyard:lease/*"))
        stats = store.stats()
    assert not any(stats[name] for name in ("failures", "write_failures", "invalid", "opened"))
    stranger = make(url, namespace="other")
    assert stranger.get_many(KEYS) == [None] * len(KEYS)
    assert stranger.stats()["failures"] > 0, "no other namespace is open to it"


def test_a_name_for_the_connections_takes_the_documented_right(
    make: MakeStore, redis_server: RedisServer
) -> None:
    (right,) = re.findall(r"the option `client_name` `(\S+)`", (ROOT / "docs/cache.md").read_text())
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command(documented_user())
        url = redis_server.url.replace("//", "//switchyard:PASSWORD@") + "?client_name=named"
        without = make(url, namespace="switchyard", bounds=HURRIED)
        assert without.get_many([b"a"]) == [None]
        assert without.stats()["failures"] == 1
        admin.execute_command(f"{documented_user()} {right}")
        store = filled(make(url, namespace="switchyard"))
        assert store.get_many(KEYS) == VALUES
        assert store.stats()["failures"] == 0
        assert "named" in {client["name"] for client in admin.client_list()}


def test_with_the_documented_rights_an_operator_may_do_what_he_does(
    make: MakeStore, redis_server: RedisServer
) -> None:
    (rights,) = re.findall(r"(?m)^    (\+scan .*)$", (ROOT / "docs/cache.md").read_text())
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command(f"{documented_user()} {rights}")
        url = redis_server.url.replace("//", "//switchyard:PASSWORD@")
        store = make(url, namespace="switchyard")
        store.put_many([(b"masks/1/aa/1", b"value")])
        assert store.flush(PATIENCE_SECONDS)
        found = store.namespace().survey(PATIENCE_SECONDS)
        assert (len(found.groups), found.is_whole, bool(found.server)) == (1, True, True)
        file = io.BytesIO()
        assert export_namespace(store, file, seconds=PATIENCE_SECONDS).entries == 1
        assert import_namespace(store, io.BytesIO(file.getvalue())).entries == 1
        assert admin.acl_log() == []


def test_in_a_cluster_the_documented_user_needs_one_right_more(
    make: MakeStore, three_nodes: Cluster
) -> None:
    for admin in three_nodes.admins:
        admin.execute_command(documented_user() + " +cluster|slots")
        admin.acl_log_reset()
    url = three_nodes.url.replace("//", "//switchyard:PASSWORD@")
    store = filled(make(url, namespace="switchyard"))
    assert store.get_many(KEYS) == VALUES
    claimed_and_released(store)
    assert [admin.acl_log() for admin in three_nodes.admins] == [[], [], []]
    stats = store.stats()
    assert not any(stats[name] for name in ("failures", "write_failures", "invalid", "opened"))


# -- a cluster ------------------------------------------------------------------------------------


def test_a_cluster_keeps_each_key_at_its_node(make: MakeStore, three_nodes: Cluster) -> None:
    store = filled(make(three_nodes.url))
    assert store.stats()["writes"] == len(PAIRS)
    assert all(int(admin.dbsize()) > 10 for admin in three_nodes.admins)
    reader = make(three_nodes.url)
    assert reader.get_many([*KEYS, b"x"]) == [*VALUES, None]
    assert set(reader.hottest(b"group", 1000)) == set(KEYS)


def test_the_first_reading_of_a_cluster_finds_what_is_there(
    make: MakeStore, three_nodes: Cluster
) -> None:
    filled(make(three_nodes.url))
    store = make(three_nodes.url)
    assert store.get_many(KEYS) == VALUES
    assert (store.stats()["failures"], store.stats()["opened"]) == (0, 0)


def test_the_first_reading_of_a_cluster_ends_at_its_deadline(
    make: MakeStore, three_nodes: Cluster
) -> None:
    three_nodes.nodes[0].pause()
    try:
        store = make(three_nodes.url, bounds=HURRIED)
        ends_soon(store)
        assert store.stats()["failures"] == 1
    finally:
        three_nodes.nodes[0].resume()


def test_a_cluster_is_surveyed_and_exported_whole(make: MakeStore, three_nodes: Cluster) -> None:
    pairs = [(b"masks/1/aa/%d" % number, b"value") for number in range(100)]
    store = make(three_nodes.url)
    store.put_many(pairs)
    assert store.flush(PATIENCE_SECONDS)
    found = store.namespace().survey(PATIENCE_SECONDS)
    (group,) = found.groups
    assert (group.entries, group.used, group.most_uses, found.is_whole) == (100, 100, 1, True)
    assert found.server["redis_version"]
    done = export_namespace(store, io.BytesIO(), seconds=PATIENCE_SECONDS)
    assert (done.entries, done.left_out) == (100, 0)


def test_a_node_that_hangs_ends_a_reading_at_its_deadline(
    make: MakeStore, three_nodes: Cluster
) -> None:
    filled(make(three_nodes.url))
    store = make(three_nodes.url, bounds=HURRIED)
    assert set(store.hottest(b"group", 1000)) == set(KEYS)
    assert store.get_many(KEYS) == VALUES
    three_nodes.nodes[2].pause()
    try:
        ends_soon(store)
    finally:
        three_nodes.nodes[2].resume()


def test_slots_that_move_are_found(make: MakeStore, three_nodes: Cluster) -> None:
    reader = make(three_nodes.url)
    writer = filled(make(three_nodes.url))
    assert reader.get_many(KEYS) == VALUES
    assert reader.flush(PATIENCE_SECONDS)
    for admin in three_nodes.admins:
        admin.flushall()
    for node in range(3):
        three_nodes.move((full_key(reader, key) for key in KEYS[node * 20 :][:20]), to=node)
    for _ in range(2):  # what goes to the wrong node is lost once
        filled(writer)
    until(lambda: reader.get_many(KEYS) == VALUES)


# -- behind a Sentinel ----------------------------------------------------------------------------


def test_after_a_failover_the_new_primary_is_found(make: MakeStore, sentinel: Watched) -> None:
    store = filled(make(sentinel.url))
    assert store.get_many(KEYS) == VALUES
    assert store.flush(PATIENCE_SECONDS)
    with Redis.from_url(sentinel.replica.url) as replica:
        until(lambda: replica.dbsize() >= len(PAIRS))
        sentinel.primary.kill()
        assert store.get_many(KEYS) == [None] * len(KEYS)
        until(lambda: store.get_many(KEYS) == VALUES)
        store.put_many([(b"new", b"1")])
        until(lambda: store.get_many([b"new"]) == [b"1"])
        assert replica.role()[0] == b"master"


@pytest.mark.parametrize("who", ["primary", "sentinel"])
def test_whoever_hangs_behind_a_sentinel_holds_nobody(
    make: MakeStore, sentinel: Watched, who: str
) -> None:
    server: RedisServer = getattr(sentinel, who)
    server.pause()
    try:
        ends_soon(make(sentinel.url, bounds=HURRIED))
    finally:
        server.resume()


def test_a_primary_that_no_sentinel_knows_is_a_miss(make: MakeStore, sentinel: Watched) -> None:
    store = make(sentinel.url.replace("/ours", "/another"), bounds=HURRIED)
    ends_soon(store)
