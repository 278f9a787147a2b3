"""The share of each client in a full Redis: the same as in memory, exact with several gateways, and
unharmed by values that no gateway wrote.
"""

import asyncio
import io
import random
from collections.abc import AsyncIterator, Callable

import pytest
from redis import Redis

from app.observability.logs import make_logger
from app.state import byte_store, redis_store
from app.state.byte_store import MemoryStore, StateUnavailable
from app.state.redis_store import RedisStore
from cache import Seal
from tests.app.state.shares import ROOM, SHARES, VALUE, left
from tests.redis_server import RedisServer

KEYS = {
    name: f"switchyard-state:{{account}}:{name}"
    for name in ("expiries", "owners", "entries", "total", "leaving")
}


@pytest.fixture
def redis(redis_server: RedisServer) -> Redis:
    return Redis.from_url(redis_server.url)


@pytest.fixture
async def stores(redis_server: RedisServer) -> AsyncIterator[list[RedisStore]]:
    """The stores of two gateways, which have room for three values."""
    bounds = {"ttl_s": 100, "max_bytes": 1 << 20, "room_bytes": ROOM}
    logger = make_logger("info", io.StringIO())
    made = [RedisStore(redis_server.url, secret=None, **bounds, logger=logger) for _ in "ab"]
    yield made
    for store in made:
        await store.aclose()


def held(redis: Redis) -> set[str]:
    """The names of all values, which no account hides."""
    names = {key.decode().removeprefix("switchyard-state:") for key in redis.scan_iter()}
    return {name for name in names if not name.startswith("{")}


def check(redis: Redis) -> None:
    """The account is that of the values."""
    entries = redis.hgetall(KEYS["entries"])
    assert {name.decode() for name in entries} == held(redis)
    assert set(redis.zrange(KEYS["expiries"], 0, -1)) == set(entries)
    sizes = [int(entry.split()[0]) for entry in entries.values()]
    assert int(redis.get(KEYS["total"]) or 0) == sum(sizes) <= ROOM
    assert sum(score for _, score in redis.zrange(KEYS["owners"], 0, -1, withscores=True)) == sum(
        sizes
    )
    assert redis.scard(KEYS["leaving"]) == 0
    assert all(redis.ttl(key) > 0 for key in redis.scan_iter())


@pytest.mark.parametrize(("stored", "kept"), SHARES)
async def test_the_owner_with_the_most_bytes_makes_room(
    stores: list[RedisStore], redis: Redis, stored: str, kept: str
):
    """REGRESSION: no client had a share in Redis."""
    assert await left(stores[0], stored) == kept
    assert held(redis) == set(kept.split())
    check(redis)


async def test_floods_at_two_gateways_leave_the_values_of_others(
    stores: list[RedisStore], redis: Redis
):
    await stores[0].set("a", {"a1": VALUE})
    floods = [stores[n % 2].set("b", {f"b{chr(65 + n)}": VALUE}) for n in range(26)]
    await asyncio.gather(*floods)
    assert len(held(redis)) == 3
    assert await stores[1].get(["a1"]) == [VALUE]
    check(redis)


async def test_a_use_saves_a_value(stores: list[RedisStore], redis: Redis):
    for name in "abc":
        await stores[0].set("me", {name: VALUE})
    await stores[1].get(["a"])
    await stores[0].set("me", {"d": VALUE})
    assert held(redis) == {"a", "c", "d"}


async def test_values_are_never_evicted_for_their_own_sake(stores: list[RedisStore], redis: Redis):
    await stores[0].set("a", {"a1": VALUE})
    await stores[0].set("me", {"b": VALUE, "c": VALUE * 2})
    assert held(redis) == {"b", "c"}
    with pytest.raises(StateUnavailable):
        await stores[0].set("me", {"d": VALUE * 6})
    assert held(redis) == {"b", "c"}
    check(redis)


async def test_deleted_and_expired_values_leave_the_account(stores: list[RedisStore], redis: Redis):
    for name in "abc":
        await stores[0].set(name, {name: VALUE})
    await stores[1].delete(["a", "unknown"])
    check(redis)
    # expired: by the clock of Redis its time is over
    redis.delete("switchyard-state:b")
    redis.zadd(KEYS["expiries"], {"b": 1})
    await stores[0].set("d", {"d": VALUE})
    await stores[0].set("d", {"e": VALUE})
    assert held(redis) == {"c", "d", "e"}
    check(redis)


async def test_the_next_call_deletes_what_a_gateway_left_behind(
    stores: list[RedisStore], redis: Redis
):
    """A gateway died after its values had left the account."""
    redis.set("switchyard-state:old", "x", ex=100)
    redis.sadd(KEYS["leaving"], "old")
    await stores[0].set("me", {"a": VALUE})
    assert held(redis) == {"a"}
    check(redis)


def _strings(redis: Redis, key: str) -> None:
    redis.set(key, "x")


def _lists(redis: Redis, key: str) -> None:
    redis.rpush(key, "x")


def _lost(redis: Redis, key: str) -> None:
    """Redis has evicted it."""


def _numbers(redis: Redis, key: str) -> None:
    """Of the right type, and out of range."""
    owned = f"{'9' * 15} {'0' * 32}"
    if key.endswith("total"):
        redis.set(key, "1e999")
    elif key.endswith("entries"):
        redis.hset(key, mapping={"a1": owned, "b1": "-5 x", "z": b"\xff"})
    elif key.endswith("leaving"):
        redis.sadd(key, b"\xff\x00", "b1")
    else:
        redis.zadd(key, {"a1": "-inf", b"\xff": "inf", "0" * 32: 1e300})


@pytest.mark.parametrize("broken", [_strings, _lists, _lost, _numbers])
@pytest.mark.parametrize("name", [*KEYS, "expiries:*"])
async def test_what_no_gateway_wrote_stops_no_client(
    stores: list[RedisStore], redis: Redis, name: str, broken: Callable[[Redis, str], None]
):
    """Values are stored, read and deleted, and the bound holds for all that are stored later."""
    for each in ("a1", "b1"):
        await stores[0].set(each[0], {each: VALUE})
    found = [key.decode() for key in redis.scan_iter("*expiries:*")]
    for key in [KEYS[name]] if name in KEYS else found:
        redis.delete(key)
        broken(redis, key)
    await stores[0].set("c", {"c0": VALUE})
    assert await stores[1].get(["c0"]) == [VALUE]
    await stores[1].delete(["c0", "b1"])
    # a minute later the bytes of all are added up again
    redis.delete(KEYS["total"])
    for stored in ("c1 c2 d1 d2 e1", "f1 g1 h1"):
        await left(stores[1], stored)
    # those that the account has lost live for their time
    kept = held(redis) - {"a1", "b1"}
    assert "h1" in kept
    assert len(kept) <= 3


@pytest.mark.parametrize("seed", range(3))
async def test_random_calls_leave_the_values_that_the_memory_keeps(
    stores: list[RedisStore], redis: Redis, seed: int, monkeypatch: pytest.MonkeyPatch
):
    """Two gateways, four clients; where two clients have equal bytes, either may make room."""

    def weight(name: str, value: bytes) -> int:
        return redis_store._weight(name, Seal(None).wrap(b"", value))

    monkeypatch.setattr(byte_store, "_weight", weight)
    memory, drawn, names = MemoryStore(max_bytes=ROOM, ttl_s=100), random.Random(seed), [""]
    for step in range(80):
        store, name = drawn.choice(stores), drawn.choice(names)
        if (act := drawn.random()) < 0.6:
            owner = drawn.choice("abcd")
            parts = range(drawn.randrange(1, 3))
            values = {f"{owner}{step}/{part}": bytes(drawn.randrange(900)) for part in parts}
            await store.set(owner, values)
            await memory.set(owner, values)
            names += values
        elif act < 0.85:
            assert await store.get([name]) == await memory.get([name])
        else:
            await store.delete([name])
            await memory.delete([name])
        assert held(redis) == set(memory._held)
    check(redis)
