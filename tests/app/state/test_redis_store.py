"""The store in a real Redis, and in ones that fail: every failure ends in time, with one error."""

import asyncio
import io
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from redis.asyncio import Redis

from app.composition.state import make_bytes
from app.observability.logs import make_logger
from app.settings import GatewaySettings, SettingError
from app.state.byte_store import StateUnavailable
from app.state.redis_store import MAX_CALLS, REPLY_OVERHEAD, RedisStore
from cache import open_store
from tests.app.state.shares import ROOM, left
from tests.cache.deployments import certificates, cluster, lacks_tls, tls_server, watched
from tests.cache.hostile_server import hostile_server
from tests.redis_server import RedisServer, known_rights

ROOT = Path(__file__).parents[3]
SECRET = b"0123456789abcdef"
MOST = 1 << 20
Make = Callable[..., RedisStore]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """Makes stores and closes them."""
    made: list[RedisStore] = []

    def make_store(
        url: str, *, secret: bytes | None = SECRET, ttl_s: int = 100, room_bytes: int = 64 * MOST
    ) -> RedisStore:
        bounds = {"max_bytes": MOST, "room_bytes": room_bytes}
        logger = make_logger("info", io.StringIO())
        made.append(RedisStore(url, secret=secret, ttl_s=ttl_s, **bounds, logger=logger))
        return made[-1]

    yield make_store
    for store in made:
        await store.aclose()


async def round_trip(store: RedisStore, other: RedisStore) -> None:
    """A replica reads and deletes the values of another one."""
    values = {f"name/{number}": b"%d" % number for number in range(50)}
    await store.set("me", values)
    assert await other.get([*values, "unknown"]) == [*values.values(), None]
    assert await other.sizes(["unknown"]) == [0]
    assert all(await other.sizes(list(values)))
    await other.delete(["name/1", "unknown"])
    assert await store.get(["name/0", "name/1"]) == [b"0", None]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancellation_is_never_lost(make: Make, fails: bool) -> None:
    """REGRESSION: asyncio.wait_for, which redis-py uses, lost one, and a shutdown never ended."""
    store, begun = make("redis://127.0.0.1:1"), asyncio.Event()

    async def lose(pipe: object) -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        if fails:
            raise ConnectionError

    call = asyncio.create_task(store._call(lose))
    await begun.wait()
    call.cancel()
    await asyncio.wait([call])
    assert call.cancelled()


async def test_replicas_share_values(make: Make, redis_server: RedisServer):
    await round_trip(make(redis_server.url), make(redis_server.unix_url))


async def test_a_value_of_another_type_counts_as_missing(make: Make, redis_server: RedisServer):
    """REGRESSION: it made the values beside it unavailable."""
    store = make(redis_server.url)
    await store.set("client", {"a": b"1", "b": b"2"})
    async with Redis.from_url(redis_server.url) as redis:
        await redis.delete("switchyard-state:b")
        await redis.rpush("switchyard-state:b", b"x")
    assert await store.get(["a", "b"]) == [b"1", None]
    assert [size > 0 for size in await store.sizes(["a", "b"])] == [True, False]
    await store.set("client", {"b": b"3"})
    assert await store.get(["a", "b"]) == [b"1", b"3"]


async def test_replicas_share_values_in_a_cluster(make: Make):
    with cluster() as nodes:
        # the account is on one node, the values are on all
        assert await left(make(nodes.url, room_bytes=ROOM), "a1 b1 b2 b3 b4") == "a1 b3 b4"
        await round_trip(make(nodes.url), make(nodes.url))


async def test_replicas_share_values_behind_a_sentinel(make: Make):
    with watched() as found:
        await round_trip(make(found.url), make(found.url))


async def test_replicas_share_values_over_tls(make: Make, tmp_path: Path):
    if why := lacks_tls():
        pytest.skip(why)
    made = certificates(tmp_path)
    with tls_server(made) as server:
        url = server.tls_url  # type: ignore[attr-defined]
        known = f"{url}?ssl_ca_certs={made.authority}"
        await round_trip(make(known), make(known))
        with pytest.raises(StateUnavailable):
            await make(url).get(["a"])


@pytest.mark.parametrize("option", ["ssl_ca_path", "ssl_password"])
def test_an_option_that_clients_lack_is_refused_at_the_start(option: str):
    url = f"rediss+cluster://127.0.0.1?{option}=a"
    settings = GatewaySettings(redis_url=url, cache_trust="network")
    with pytest.raises(SettingError, match=f"^SWITCHYARD_REDIS_URL: .* {option}"):
        make_bytes(settings, make_logger("info", io.StringIO()))


async def test_a_use_extends_the_time_to_live(make: Make, redis_server: RedisServer):
    await make(redis_server.url, ttl_s=10).set("me", {"a": b"1"})
    client = Redis.from_url(redis_server.url)
    key = "switchyard-state:a"
    assert 0 < await client.ttl(key) <= 10
    assert await make(redis_server.url, ttl_s=1000).get(["a"]) == [b"1"]
    assert 10 < await client.ttl(key) <= 1000
    await client.aclose()


@pytest.mark.parametrize("secret", [None, b"another secret of 16"])
async def test_a_value_of_another_key_is_missing(
    make: Make, redis_server: RedisServer, secret: bytes | None
):
    await make(redis_server.url).set("me", {"a": b"1"})
    assert await make(redis_server.url, secret=secret).get(["a"]) == [None]


async def test_a_value_that_was_moved_or_changed_is_missing(make: Make, redis_server: RedisServer):
    store = make(redis_server.url)
    await store.set("me", {"a": b"1", "b": b"2"})
    client = Redis.from_url(redis_server.url)
    await client.rename("switchyard-state:a", "switchyard-state:b")
    await client.setrange("switchyard-state:c", 0, "3")
    assert await store.get(["a", "b", "c"]) == [None, None, None]
    await client.aclose()


async def test_the_documented_rights_are_enough(make: Make, redis_server: RedisServer):
    text = (ROOT / "docs/cache.md").read_text()
    (rights,) = re.findall(r"(?m)^    (~switchyard-state:\S+ .*)$", text)
    async with Redis.from_url(redis_server.url) as admin:
        command = f"ACL SETUSER switchyard on >PASSWORD -@all +ping +client|setinfo {rights}"
        await admin.execute_command(known_rights(command, await admin.info("server")))
        url = redis_server.url.replace("//", "//switchyard:PASSWORD@")
        await round_trip(make(url), make(url))
        await admin.flushall()
        assert await left(make(url, room_bytes=ROOM), "a1 b1 b2 b3 b4") == "a1 b3 b4"
        assert await admin.acl_log() == []


async def test_entries_of_the_cache_do_not_include_state(make: Make, redis_server: RedisServer):
    """An export of the cache contains no conversation."""
    await make(redis_server.url).set("me", {"a": b"1"})
    log = open_store(redis_url=redis_server.url, key=SECRET, ttl_s=100)
    assert log is not None
    assert log.namespace().survey(10).is_whole
    assert list(log.namespace().survey(10).groups) == []
    log.close()


async def test_after_a_restart_calls_work_again(make: Make, redis_server: RedisServer):
    store = make(redis_server.url)
    await store.set("me", {"a": b"1"})
    redis_server.kill()
    for call in (
        store.set("me", {"b": b"2"}),
        store.get(["a"]),
        store.sizes(["a"]),
        store.delete(["a"]),
    ):
        with pytest.raises(StateUnavailable):
            await call
    redis_server.start()
    assert await store.get(["a"]) == [None]
    await store.set("me", {"a": b"3"})
    assert await store.get(["a"]) == [b"3"]


async def test_a_restart_that_no_call_notices_fails_none(make: Make, redis_server: RedisServer):
    """Connections that the old server closed are replaced before their next use."""
    store = make(redis_server.url)
    await asyncio.gather(*(store.set("me", {f"{number}": b"1"}) for number in range(MAX_CALLS)))
    redis_server.kill()
    redis_server.start()
    found = await asyncio.gather(*(store.get([f"{number}"]) for number in range(MAX_CALLS)))
    assert found == [[None]] * MAX_CALLS


async def test_a_silent_server_ends_all_calls_in_time_and_mixes_no_replies(
    make: Make, redis_server: RedisServer
):
    """More calls than connections wait for a paused server, then each reads its own value."""
    store = make(redis_server.url)
    values = {f"{number}": b"%d" % number for number in range(2 * MAX_CALLS)}
    await store.set("me", values)
    redis_server.pause()
    calls = [store.get([name]) for name in values]
    failed = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, StateUnavailable) for each in failed)
    redis_server.resume()
    found = await asyncio.gather(*(store.get([name]) for name in values))
    assert found == [[value] for value in values.values()]


async def test_a_server_that_is_full_is_still_read(make: Make):
    server = RedisServer()
    server.start()
    try:
        store = make(server.url)
        await store.set("me", {"a": b"1"})
        client = Redis.from_url(server.url)
        await client.config_set("maxmemory", "1")
        with pytest.raises(StateUnavailable):
            await store.set("me", {"b": b"2"})
        assert await store.get(["a"]) == [b"1"]
        await client.aclose()
    finally:
        server.close()


def _large(connection: socket.socket) -> None:
    connection.sendall(b"$%d\r\n" % (MOST + REPLY_OVERHEAD + 1))


def _endless(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"+" + b"x" * (1 << 16))


def _nonsense(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")


def _many(connection: socket.socket) -> None:
    connection.sendall(b"*1000000000\r\n")


@pytest.mark.parametrize("answer", [_large, _endless, _nonsense, _many])
async def test_a_hostile_reply_is_a_failure(make: Make, answer: Callable[[socket.socket], None]):
    with hostile_server(answer) as server:
        store = make(server.url)
        with pytest.raises(StateUnavailable):
            await store.get(["a"])
        await store.aclose()
