"""Token buckets: the same in memory and in Redis, whatever the clocks and Redis do."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from app.access.client import Client
from app.admission import redis_limiter as module
from app.admission.rate_limits import (
    MAX_DEBT,
    Levels,
    Limiter,
    MemoryLimiter,
    duration,
    is_limited,
    limit_headers,
    wait_ms,
)
from app.admission.redis_limiter import RedisLimiter
from app.errors import ApiError
from cache import RedisAddress, connect_async
from tests.app.admission.frozen_buckets import frozen
from tests.app.gateway import PATIENCE
from tests.redis_server import RedisServer

HOUR_MS = 3_600_000


def client(name: str = "c", requests: int | None = None, tokens: int | None = None) -> Client:
    return Client(name, requests_per_minute=requests, tokens_per_minute=tokens)


def redis_limiter(server: RedisServer, on_failure: str = "open") -> RedisLimiter:
    assert on_failure in ("open", "closed")
    address = RedisAddress.of(server.url)
    return RedisLimiter(address, on_failure="open" if on_failure == "open" else "closed")


@pytest.fixture(params=["memory", "redis"])
async def limiter(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Limiter]:
    if request.param == "memory":
        yield MemoryLimiter(clock=lambda: 0.0)
        return
    # without a deadline and without refilling: no test depends on the machine's speed
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    monkeypatch.setattr(module, "SCRIPT", frozen(module.SCRIPT))
    server: RedisServer = request.getfixturevalue("redis_server")
    made = redis_limiter(server)
    yield made
    await made.aclose()


async def charges(limiter: Limiter, who: Client, *tokens: int) -> list[str | None]:
    return [(await limiter.charge(who, each)).refused for each in tokens]


@pytest.mark.parametrize(
    ("requests", "tokens", "charged", "refused"),
    [
        (2, None, [9, 9, 9], [None, None, "requests"]),
        (None, 100, [60, 60, 40, 1], [None, "tokens", None, "tokens"]),
        (9, 100, [100, 0, 1], [None, None, "tokens"]),
        (1, 100, [60, 60], [None, "requests"]),
        # larger than the bucket: it needs a full one
        (None, 100, [500, 1], [None, "tokens"]),
        (None, 100, [1, 500], [None, "tokens"]),
    ],
)
async def test_a_bucket_allows_its_limit_and_no_more(
    limiter: Limiter,
    requests: int | None,
    tokens: int | None,
    charged: list[int],
    refused: list[str | None],
) -> None:
    assert await charges(limiter, client("c", requests, tokens), *charged) == refused


async def test_a_refused_request_takes_nothing(limiter: Limiter) -> None:
    who = client("c", 5, 10)
    await limiter.charge(who, 8)
    found = [await limiter.charge(who, 3) for _ in range(3)]
    assert {(each.refused, round(each.requests), round(each.tokens)) for each in found} == {
        ("tokens", 4, 2)
    }


@pytest.mark.parametrize(
    ("settled", "left"), [(0, 50), (50, 0), (150, -100), (-50, 100), (-90, 100)]
)
async def test_settling_takes_or_gives_back_up_to_a_full_bucket(
    limiter: Limiter, settled: int, left: int
) -> None:
    who = client("c", 5, 100)
    await limiter.charge(who, 50)
    await limiter.settle(who, settled)
    found = await limiter.charge(who, 0)
    assert round(found.tokens) == left
    assert (found.refused == "tokens") is (left < 0)


async def test_a_new_limit_begins_with_a_full_bucket(limiter: Limiter) -> None:
    """REGRESSION: requests before the limit counted as a debt."""
    assert await charges(limiter, client("a", None, 100), *[1] * 10) == [None] * 10
    assert await charges(limiter, client("a", 1, 100), 1, 1) == [None, "requests"]


async def test_clients_do_not_share_buckets(limiter: Limiter) -> None:
    assert await charges(limiter, client("a", 1), 1, 1) == [None, "requests"]
    assert await charges(limiter, client("b", 1), 1, 1) == [None, "requests"]


async def test_a_thousand_keys_get_exactly_their_limits_from_two_gateways(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4,000 concurrent requests of 1,000 keys with a limit of 2: each key gets 2."""
    monkeypatch.setattr(module, "SECONDS", 10 * PATIENCE)
    monkeypatch.setattr(module, "SCRIPT", frozen(module.SCRIPT))
    gateways = [redis_limiter(redis_server) for _ in range(2)]
    keys = [client(f"key-{number}", 2) for number in range(1000)]
    at_once = asyncio.Semaphore(32)  # more would only wait for a connection

    async def charge(gateway: RedisLimiter, key: Client) -> bool:
        async with at_once:
            return (await gateway.charge(key, 1)).refused is None

    found = await asyncio.gather(
        *(charge(gateway, key) for key in keys for gateway in gateways for _ in range(2))
    )
    assert [gateway.stats()["failures"] for gateway in gateways] == [0, 0]
    assert [sum(found[n : n + 4]) for n in range(0, 4000, 4)] == [2] * 1000
    await asyncio.gather(*(gateway.aclose() for gateway in gateways))


# -- clocks ----------------------------------------------------------------------------------------


async def test_a_bucket_refills_evenly() -> None:
    now = [0.0]
    limiter, who = MemoryLimiter(clock=lambda: now[0]), client("c", 60, 600)
    for _ in range(60):
        await limiter.charge(who, 10)
    assert (await limiter.charge(who, 10)).refused == "requests"
    now[0] = 2.0
    assert await charges(limiter, who, 10, 10, 10) == [None, None, "requests"]
    now[0] = 1e6
    assert await limiter.charge(who, 10) == Levels(59, 590)


async def test_a_gateways_clock_does_not_count(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    limiter, who = redis_limiter(redis_server), client("c", 1)
    assert await charges(limiter, who, 1) == [None]
    monkeypatch.setattr(time, "time", lambda: 4e9)
    assert await charges(limiter, who, 1) == ["requests"]
    await limiter.aclose()


@pytest.mark.parametrize(("jump_ms", "requests"), [(HOUR_MS, 0), (-HOUR_MS, 1)])
async def test_a_jump_of_redis_clock_neither_overfills_nor_freezes_a_bucket(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, jump_ms: int, requests: int
) -> None:
    """The hash is dated into the future (the clock went back), or into the past."""
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    limiter, who = redis_limiter(redis_server), client("c", 1)
    await limiter.charge(who, 1)
    redis = connect_async(RedisAddress.of(redis_server.url))
    name = "switchyard:limit:c"
    before = int(await redis.hget(name, "at"))
    await redis.hset(name, "at", before + jump_ms)
    levels = await limiter.charge(who, 1)
    assert (levels.refused is None) is bool(requests)
    assert levels.requests <= 1
    assert abs(int(await redis.hget(name, "at")) - before) < HOUR_MS / 2
    assert 0 < await redis.pttl(name) <= 61_000
    await redis.aclose()
    await limiter.aclose()


async def test_a_bucket_in_debt_lives_until_it_is_repaid(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    limiter, who = redis_limiter(redis_server), client("c", None, 1)
    await limiter.settle(who, 1_000_000_000)
    redis = connect_async(RedisAddress.of(redis_server.url))
    assert await redis.pttl("switchyard:limit:c") > 59_000 * 1_000_000_000
    assert await charges(limiter, who, 1) == ["tokens"]
    await redis.aclose()
    await limiter.aclose()


# -- failures --------------------------------------------------------------------------------------


UNAVAILABLE = (503, "limits_unavailable", {"Retry-After": "1"})


async def failure(limiter: Limiter, who: Client) -> tuple[int, str | None, dict[str, str]] | None:
    try:
        await limiter.charge(who, 1)
    except ApiError as error:
        return error.status, error.code, error.headers
    return None


@pytest.mark.parametrize("end", ["kill", "pause"])
@pytest.mark.parametrize("on_failure", ["open", "closed"])
async def test_without_redis_each_gateway_counts_or_refuses_until_redis_answers(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, on_failure: str, end: str
) -> None:
    """Redis ends, or hangs, in the middle of counting."""
    monkeypatch.setattr(module, "PROBE_SECONDS", 0.01)
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    limiter, who = redis_limiter(redis_server, on_failure), client("c", 2, 100)
    assert await failure(limiter, who) is None
    monkeypatch.setattr(module, "SECONDS", 0.05)
    getattr(redis_server, end)()
    if on_failure == "closed":
        assert [await failure(limiter, who) for _ in range(4)] == [UNAVAILABLE] * 4
    else:
        assert await charges(limiter, who, 1, 1, 1) == [None, None, "requests"]
    assert limiter.stats()["circuit_open"] == 1
    await limiter.settle(who, 5)
    if end == "kill":
        redis_server.start()
    else:
        redis_server.resume()
    async with asyncio.timeout(PATIENCE):
        while limiter.stats()["circuit_open"]:
            await asyncio.sleep(0.01)
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    assert await failure(limiter, who) is None
    await limiter.aclose()


async def test_a_redis_that_hangs_is_asked_once(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_SECONDS", PATIENCE)
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    limiter, who = redis_limiter(redis_server), client("c", 1000)
    await limiter.charge(who, 1)
    monkeypatch.setattr(module, "SECONDS", 0.05)
    redis_server.pause()
    for _ in range(100):
        await limiter.charge(who, 1)
    assert limiter.stats()["failures"] == 1
    redis_server.resume()
    await limiter.aclose()


@pytest.mark.parametrize("value", [b"text", b"nan"])
async def test_a_bucket_that_another_client_overwrote_is_a_failure_or_full(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, value: bytes
) -> None:
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    redis = connect_async(RedisAddress.of(redis_server.url))
    if value == b"text":
        await redis.set("switchyard:limit:c", value)
    else:
        await redis.hset("switchyard:limit:c", mapping={"r": value, "t": b"x", "at": b"-"})
    limiter = redis_limiter(redis_server)
    assert await charges(limiter, client("c", 5), 1) == [None]
    await redis.aclose()
    await limiter.aclose()


#: values of a bucket that no gateway wrote: fields, or a value of another type
ODD: list[tuple[str, dict[str, bytes] | None]] = [
    *((kind, None) for kind in ("string", "list", "set", "zset", "stream")),
    *(
        (f"{field} = {value!r}", {"r": b"5", "t": b"50", "at": b"1", field: value})
        for field in ("r", "t", "at")
        for value in (b"", b"x", b"nan", b"-nan", b"inf", b"-inf", b"1e999", b"-1e18", b"1e18")
    ),
    *((f"no {field}", {"r": b"5", "t": b"50", "at": b"1"}) for field in ("r", "t", "at")),
    ("only other fields", {"x": b"1"}),
]


@pytest.mark.parametrize(("name", "fields"), ODD, ids=[name for name, _ in ODD])
async def test_an_odd_value_affects_no_other_client_and_locks_none_out(
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    fields: dict[str, bytes] | None,
) -> None:
    """REGRESSION: one value in Redis stopped the counts of all clients, or refused one for ever."""
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    redis, key = connect_async(RedisAddress.of(redis_server.url)), "switchyard:limit:c"
    if fields is not None:
        fields = {kind: value for kind, value in fields.items() if name != f"no {kind}"}
        await redis.hset(key, mapping=fields)
    elif name == "string":
        await redis.set(key, b"1")
    elif name == "list":
        await redis.rpush(key, b"1")
    elif name == "set":
        await redis.sadd(key, b"1")
    elif name == "zset":
        await redis.zadd(key, {b"1": 1})
    else:
        await redis.xadd(key, {b"r": b"1"})
    limiter, who = redis_limiter(redis_server, "closed"), client("c", 5, 50)
    found = await limiter.charge(who, 10)
    assert found.refused is None
    assert 3.9 < found.requests <= 4.1 and 39 < found.tokens <= 41
    await limiter.settle(who, 5)
    again = await limiter.charge(who, 5)
    assert 2.9 < again.requests < 3.5 and 29 < again.tokens < 35
    assert limiter.stats() == {"failures": 0, "circuit_open": 0}
    assert 0 < await redis.pttl(key) <= 61_000
    await redis.aclose()
    await limiter.aclose()


async def test_without_the_right_to_delete_one_client_is_counted_elsewhere(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SECONDS", PATIENCE)
    monkeypatch.setattr(module, "SCRIPT", module.SCRIPT.replace("'DEL'", "'DENIED'"))
    redis = connect_async(RedisAddress.of(redis_server.url))
    await redis.set("switchyard:limit:c", b"1")
    limiter = redis_limiter(redis_server)
    assert await charges(limiter, client("c", 2), 1, 1, 1) == [None, None, "requests"]
    assert await charges(limiter, client("other", 2), 1, 1, 1) == [None, None, "requests"]
    assert limiter.stats() == {"failures": 3, "circuit_open": 0}
    await redis.aclose()
    await limiter.aclose()


async def test_a_debt_is_bounded(limiter: Limiter) -> None:
    who = client("c", None, 100)
    for _ in range(3):
        await limiter.settle(who, 10**18)
    assert (await limiter.charge(who, 0)).tokens == -MAX_DEBT


async def test_memory_forgets_full_buckets_but_no_debt() -> None:
    now = [0.0]
    limiter = MemoryLimiter(clock=lambda: now[0])
    debtor = client("debtor", None, 10)
    await limiter.settle(debtor, 10_000)
    for number in range(3000):
        now[0] += 1
        await limiter.charge(client(str(number), 1), 1)
    assert len(limiter._buckets) < 2000
    assert (await limiter.charge(debtor, 1)).refused == "tokens"


# -- headers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0ms"),
        (-5, "0ms"),
        (19.2, "20ms"),
        (999, "999ms"),
        (1000, "1s"),
        (1500, "1.5s"),
        (59_999, "59.999s"),
        (60_000, "1m0s"),
        (360_000, "6m0s"),
        (3_661_500, "61m1.5s"),
    ],
)
def test_a_duration_is_written_as_openai_does(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_headers_name_the_limits_that_the_client_has() -> None:
    assert limit_headers(client("c", 60, None), Levels(58.5, 0)) == {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "58",
        "x-ratelimit-reset-requests": "1.5s",
    }
    found = limit_headers(client("c", None, 600), Levels(0, -600))
    assert found["x-ratelimit-remaining-tokens"] == "0"
    assert found["x-ratelimit-reset-tokens"] == "2m0s"
    assert not is_limited(client())


@pytest.mark.parametrize(
    ("levels", "tokens", "ms"),
    [
        (Levels(0, 100), 1, 1000),
        (Levels(1, 0), 10, 1000),
        (Levels(0.5, 0), 10_000, 60_000),
        (Levels(60, -600), 0, 60_000),
    ],
)
def test_the_wait_ends_when_the_request_fits(levels: Levels, tokens: int, ms: int) -> None:
    assert wait_ms(client("c", 60, 600), levels, tokens) == ms
