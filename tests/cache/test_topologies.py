"""However a Redis is set up, published entries come back, after a failover, too."""

import io
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from cache import RedisLog, StoreUnusable, clients, export_namespace, import_namespace
from tests.cache.stores import new_log
from tests.redis_server import PATIENCE_SECONDS, RedisServer, known_rights
from tests.waiting import until

from .deployments import (
    Cluster,
    Watched,
    certificates,
    cluster,
    lacks_tls,
    tls_server,
    watched,
)

pytestmark = pytest.mark.program

ROOT = Path(__file__).parents[2]
PAIRS = [(b"masks/1/aa/%d" % number, b"value %d" % number) for number in range(100)]
KEYS = [key for key, _ in PAIRS]
VALUES = [value for _, value in PAIRS]
GROUP = b"masks/1/aa/"

MakeLog = Callable[..., RedisLog]


@pytest.fixture
def make() -> Iterator[MakeLog]:
    """Makes logs of one fresh namespace; closes them."""
    fresh = uuid.uuid4().hex
    made: list[RedisLog] = []

    def make_log(url: str, *, namespace: str = fresh) -> RedisLog:
        made.append(new_log(url, namespace))
        return made[-1]

    yield make_log
    for log in made:
        log.close()


@pytest.fixture(scope="module")
def three_nodes() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture
def sentinel() -> Iterator[Watched]:
    with watched() as found:
        yield found


def filled(log: RedisLog) -> RedisLog:
    assert log.publish(PAIRS) == len(PAIRS)
    return log


def follows(make: MakeLog, url: str, **options: str) -> RedisLog:
    """Everything that a replica does."""
    log, other = make(url, **options), make(url, **options)
    other.position()
    filled(log)
    found: list[bytes] = []
    until(lambda: len(found.__iadd__(other.follow(0.05))) >= len(KEYS))
    assert found == KEYS
    assert other.read([*KEYS, b"masks/1/aa/x"]) == [*VALUES, None]
    other.used(KEYS[:1])
    assert set(other.hottest(GROUP, 1_000)) == set(KEYS)
    return other


# -- TLS, and a user with few rights --------------------------------------------------------------


def test_with_tls_only_a_server_that_the_authority_vouches_for_is_used(
    make: MakeLog, tmp_path: Path
) -> None:
    if why := lacks_tls():
        pytest.skip(why)
    made = certificates(tmp_path)
    with tls_server(made) as server:
        url = server.tls_url  # type: ignore[attr-defined]
        known = f"{url}?ssl_ca_certs={made.authority}"
        follows(make, known)
        for refused in (url, known.replace("127.0.0.1", "localhost")):
            with pytest.raises(StoreUnusable):
                make(refused).read(KEYS)
        unnamed = known.replace("127.0.0.1", "localhost") + "&ssl_check_hostname=false"
        assert make(unnamed).read(KEYS) == VALUES


def documented_user(admin: Redis) -> str:
    """Return the command in docs/cache.md that creates a user, for the version of this server."""
    text = (ROOT / "docs/cache.md").read_text()
    (found,) = re.findall(r"(?m)^    (ACL SETUSER .*)$", text)
    return known_rights(found, admin.info("server"))


def test_the_documented_user_may_do_all_that_a_log_does(
    make: MakeLog, redis_server: RedisServer
) -> None:
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command(documented_user(admin))
        url = redis_server.url.replace("//", "//switchyard:PASSWORD@")
        log = follows(make, url, namespace="switchyard")
        assert admin.acl_log() == []
        assert log.stats()["failures"] == 0
    with pytest.raises(StoreUnusable):
        make(url, namespace="other").position()


def test_a_name_for_the_connections_takes_the_documented_right(
    make: MakeLog, redis_server: RedisServer
) -> None:
    (right,) = re.findall(r"the option `client_name` `(\S+)`", (ROOT / "docs/cache.md").read_text())
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command(f"{documented_user(admin)} {right}")
        url = redis_server.url.replace("//", "//switchyard:PASSWORD@") + "?client_name=named"
        follows(make, url, namespace="switchyard")
        assert "named" in {client["name"] for client in admin.client_list()}


def test_with_the_documented_rights_an_operator_may_do_everything(
    make: MakeLog, redis_server: RedisServer
) -> None:
    (rights,) = re.findall(r"(?m)^    (\+scan .*)$", (ROOT / "docs/cache.md").read_text())
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command(f"{documented_user(admin)} {rights}")
        url = redis_server.url.replace("//", "//switchyard:PASSWORD@")
        log = filled(make(url, namespace="switchyard"))
        found = log.namespace().survey(PATIENCE_SECONDS)
        assert (len(found.groups), found.is_whole, bool(found.server)) == (1, True, True)
        file = io.BytesIO()
        assert export_namespace(log, file, seconds=PATIENCE_SECONDS).entries == len(PAIRS)
        assert import_namespace(log, io.BytesIO(file.getvalue())).entries == len(PAIRS)
        assert admin.acl_log() == []


# -- a cluster ------------------------------------------------------------------------------------


def test_a_cluster_is_followed(make: MakeLog, three_nodes: Cluster) -> None:
    follows(make, three_nodes.url)
    assert all(int(admin.dbsize()) > 10 for admin in three_nodes.admins)


def test_in_a_cluster_the_documented_user_needs_the_documented_rights_more(
    make: MakeLog, three_nodes: Cluster
) -> None:
    (rights,) = re.findall(r"a cluster\s`(\+[^`]+)`", (ROOT / "docs/cache.md").read_text())
    for admin in three_nodes.admins:
        admin.execute_command(f"{documented_user(admin)} {rights}")
        admin.acl_log_reset()
    url = three_nodes.url.replace("//", "//switchyard:PASSWORD@")
    follows(make, url, namespace="switchyard")
    assert [admin.acl_log() for admin in three_nodes.admins] == [[], [], []]


def test_a_cluster_is_surveyed_and_exported_whole(make: MakeLog, three_nodes: Cluster) -> None:
    log = filled(make(three_nodes.url))
    found = log.namespace().survey(PATIENCE_SECONDS)
    (group,) = found.groups
    assert (group.entries, group.used, group.most_uses, found.is_whole) == (100, 100, 1, True)
    assert found.server["redis_version"]
    done = export_namespace(log, io.BytesIO(), seconds=PATIENCE_SECONDS)
    assert (done.entries, done.left_out) == (100, 0)


def test_a_node_that_hangs_ends_at_the_time_out(
    make: MakeLog, three_nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "SOCKET_SECONDS", 0.3)
    log = filled(make(three_nodes.url))
    three_nodes.nodes[2].pause()
    try:
        with pytest.raises(StoreUnusable):
            log.read(KEYS)
    finally:
        three_nodes.nodes[2].resume()
    until(lambda: reads(log))


def reads(log: RedisLog) -> bool:
    try:
        return log.read(KEYS) == VALUES
    except StoreUnusable:
        return False


def test_slots_that_move_are_found(make: MakeLog, three_nodes: Cluster) -> None:
    log = filled(make(three_nodes.url))
    for admin in three_nodes.admins:
        admin.flushall()
    for node in range(3):
        three_nodes.move((log._prefix + key for key in KEYS[node * 20 :][:20]), to=node)
    until(lambda: log.publish(PAIRS) == len(PAIRS))
    assert log.read(KEYS) == VALUES


# -- behind a Sentinel ----------------------------------------------------------------------------


def test_after_a_failover_the_new_primary_is_found(make: MakeLog, sentinel: Watched) -> None:
    log = follows(make, sentinel.url)
    with Redis.from_url(sentinel.replica.url) as replica:
        until(lambda: replica.dbsize() >= len(PAIRS))
        sentinel.primary.kill()
        with pytest.raises(StoreUnusable):
            log.read(KEYS)
        until(lambda: reads(log))
        assert log.publish([(b"masks/1/aa/new", b"1")]) == 1
        assert replica.role()[0] == b"master"


def test_a_primary_that_no_sentinel_knows_is_unusable(make: MakeLog, sentinel: Watched) -> None:
    with pytest.raises(StoreUnusable, match="MasterNotFound"):
        make(sentinel.url.replace("/ours", "/another")).read(KEYS)
