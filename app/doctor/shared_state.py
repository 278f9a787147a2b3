"""Redis: the cache, stored responses, keys and limits; and what happens without it."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

from cache import RedisAddress, connect_async, may_use_redis

from ..settings import PREFIX, GatewaySettings
from .finding import Finding

#: seconds for all questions to one Redis
ASKED_SECONDS = 5.0
#: a clock that differs by more makes expiry times and limits wrong
MAX_SKEW_S = 5.0
#: the log of the cache and the limits use its commands
OLDEST = (6, 2)


async def examine_redis(gateway: GatewaySettings) -> AsyncIterator[Finding]:
    """Yield the findings about each Redis that the settings name."""
    for finding in _unused(gateway):
        yield finding
    for name in ("redis_url", "access_redis_url"):
        url = getattr(gateway, name)
        if url is not None:
            async for finding in _one(gateway, f"{PREFIX}{name.upper()}", url.get_secret_value()):
                yield finding


def _unused(gateway: GatewaySettings) -> Iterator[Finding]:
    place = f"{PREFIX}REDIS_URL"
    if gateway.redis_url is None:
        if gateway.processes > 1:
            yield Finding(
                "warning",
                place,
                f"not set: each of the {gateway.processes} processes keeps its own stored "
                "responses and limits",
                "set it to a Redis",
            )
        else:
            yield Finding("ok", place, "not set: masks and responses stay in this process")
    elif not may_use_redis(gateway.secret, gateway.cache_trust):
        yield Finding(
            "error",
            place,
            f"Redis is not used without {PREFIX}CACHE_KEY",
            f"set {PREFIX}CACHE_KEY to the output of `openssl rand -hex 32`, or "
            f"{PREFIX}CACHE_TRUST=network",
        )


async def _one(gateway: GatewaySettings, place: str, url: str) -> AsyncIterator[Finding]:
    try:
        client = connect_async(RedisAddress.of(url))
    except ValueError as error:
        yield Finding("error", place, str(error))
        return
    try:
        async with asyncio.timeout(ASKED_SECONDS):
            start = time.perf_counter()
            await client.ping()
            took = time.perf_counter() - start
            server = await client.info("server")
            memory = await client.info("memory")
            seconds, _ = await client.time()
    except Exception as error:
        # redis-py raises its own classes, those of asyncio and of ssl
        reason = str(error) or type(error).__name__
        yield Finding(
            "error",
            place,
            f"no answer: {reason[:300]}",
            "check the address, the password and the network; requests work without it, but share "
            "no masks",
        )
        return
    finally:
        await client.aclose()
    for finding in _judged(gateway, place, server | memory, time.time() - float(seconds)):
        yield finding
    text = f"Redis {server.get('redis_version')} answers in {1000 * took:.1f} ms"
    yield Finding("ok", place, text)


def _judged(
    gateway: GatewaySettings, place: str, facts: dict[str, object], skew_s: float
) -> Iterator[Finding]:
    version = str(facts.get("redis_version", "0"))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        needed = ".".join(map(str, OLDEST))
        yield Finding("error", place, f"Redis {version} is too old", f"use {needed} or later")
    policy = str(facts.get("maxmemory_policy", "noeviction"))
    keeps_keys = gateway.keys_redis and gateway.access_redis_url in (None, gateway.redis_url)
    if policy.startswith("allkeys") and keeps_keys:
        yield Finding(
            "error",
            place,
            f"with maxmemory-policy {policy} Redis may delete API keys",
            f"set {PREFIX}ACCESS_REDIS_URL to a Redis with noeviction",
        )
    most, room = int(str(facts.get("maxmemory", 0))), gateway.responses_redis_bytes
    if 0 < most <= room and place == f"{PREFIX}REDIS_URL":
        yield Finding(
            "warning",
            place,
            f"maxmemory is {most:,} bytes, and stored responses may take {room:,}",
            f"raise maxmemory, or lower {PREFIX}RESPONSES_REDIS_BYTES",
        )
    if abs(skew_s) > MAX_SKEW_S:
        yield Finding(
            "warning",
            place,
            f"its clock differs from this machine's by {abs(skew_s):.0f} s",
            "synchronise both clocks (NTP)",
        )
