"""asyncio clients: every kind of Redis, and replies without an end."""

import asyncio
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis

from cache import RedisAddress, async_clients, connect_async
from tests.cache.deployments import certificates, cluster, lacks_tls, tls_server, watched
from tests.cache.hostile_server import hostile_server
from tests.redis_server import PATIENCE_SECONDS, RedisServer

SCRIPT = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])"


async def call(url: str) -> bytes:
    """Return the reply of a script that writes and reads a key."""
    client = connect_async(RedisAddress.of(url))
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reply: bytes = await client.register_script(SCRIPT)(keys=["name"], args=["value"])
            return reply
    finally:
        await client.aclose()


@contextmanager
def single() -> Iterator[str]:
    server = RedisServer()
    server.start()
    with Redis.from_url(server.url) as admin:
        admin.config_set("requirepass", "secret word")
    yield server.url.replace("//", "//:secret%20word@")
    server.close()


@contextmanager
def unix() -> Iterator[str]:
    server = RedisServer()
    server.start()
    yield server.unix_url
    server.close()


@contextmanager
def sentinel() -> Iterator[str]:
    with watched() as found:
        yield found.url


@contextmanager
def three_nodes() -> Iterator[str]:
    with cluster() as found:
        yield found.url


@pytest.mark.parametrize("kind", [single, unix, sentinel, three_nodes])
async def test_a_script_runs_on_every_kind_of_redis_with_bounded_replies(
    kind: Callable[[], Iterator[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with kind() as url:  # type: ignore[attr-defined]
        assert await call(url) == b"value"
        monkeypatch.setattr(async_clients, "REPLY_BYTES", 1)
        with pytest.raises(Exception, match=r"larger than|Redis Cluster|MasterNotFound|No master"):
            await call(url)


async def test_tls_trusts_only_the_given_authority(tmp_path: Path) -> None:
    if why := lacks_tls():
        pytest.skip(why)
    made = certificates(tmp_path)
    with tls_server(made) as server:
        url = server.tls_url  # type: ignore[attr-defined]
        assert await call(f"{url}?ssl_ca_certs={made.authority}") == b"value"
        with pytest.raises(Exception, match="CERTIFICATE_VERIFY_FAILED"):
            await call(url)


async def test_many_calls_share_a_few_connections(redis_server: RedisServer) -> None:
    client = connect_async(RedisAddress.of(redis_server.url))
    found = await asyncio.gather(*(client.incr("count") for _ in range(500)))
    assert sorted(found) == list(range(1, 501))
    assert len(await client.client_list()) <= async_clients.MAX_CONNECTIONS
    await client.aclose()


async def test_a_call_that_is_given_up_leaves_no_reply_for_the_next_one(
    redis_server: RedisServer,
) -> None:
    client = connect_async(RedisAddress.of(redis_server.url))
    await client.set("first", 1)
    redis_server.pause()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await client.get("first")
    redis_server.resume()
    assert await client.get("second") is None
    await client.aclose()


ENDLESS = {
    "a huge value": (b"$4000000000\r\n", b"x" * 65_536),
    "a line": (b"+", b"x" * 65_536),
    "a list": (b"*1000000000\r\n", b"$9\r\nsomething\r\n" * 1_000),
}


@pytest.mark.parametrize("what", sorted(ENDLESS))
async def test_an_endless_reply_is_cut_off_before_it_fills_the_memory(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_clients, "REPLY_BYTES", 1 << 20)

    def answer(at: socket.socket) -> None:
        head, piece = ENDLESS[what]
        at.sendall(head)
        while True:
            at.sendall(piece)

    with hostile_server(answer) as server:
        client = connect_async(RedisAddress.of(server.url))
        tracemalloc.start()
        try:
            with pytest.raises(Exception, match=r"."):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await client.get("name")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await client.aclose()
        assert peak < 24 << 20
