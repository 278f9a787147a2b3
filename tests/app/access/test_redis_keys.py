"""Keys in Redis: added, removed, sealed, and read only after a change."""

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from redis import Redis

from app.access import redis_keys
from app.access.followed_file import KeysUnreadable
from app.access.key_entry import KeyEntry, parse_entry
from app.access.redis_keys import RedisKeys
from app.admission import redis_limiter
from app.admission.redis_limiter import RedisLimiter
from cache import RedisAddress, Seal, connect_async
from tests.app.access.entries import entry
from tests.app.gateway import PATIENCE
from tests.cache.deployments import cluster
from tests.redis_server import RedisServer, known_rights

ROOT = Path(__file__).parents[3]
SECRET = b"k" * 16


@pytest.fixture
async def keys(redis_server: RedisServer) -> AsyncIterator[RedisKeys]:
    made = RedisKeys(RedisAddress.of(redis_server.url), Seal(SECRET))
    yield made
    await made.aclose()


async def test_entries_are_read_after_each_change_only(keys: RedisKeys) -> None:
    assert await keys.load() == []
    assert await keys.load() is None
    made = parse_entry(entry("a", max_running=3))
    await keys.add(made)
    assert await keys.load() == [made]
    assert await keys.load() is None
    with pytest.raises(KeysUnreadable, match="in use"):
        await keys.add(made)
    assert await keys.remove(made.name)
    assert not await keys.remove(made.name)
    assert await keys.load() == []


async def test_keys_are_read_in_a_cluster() -> None:
    """The entries and the version are on one node."""
    with cluster() as nodes:
        keys = RedisKeys(RedisAddress.of(nodes.url), Seal(SECRET))
        made = parse_entry(entry("a"))
        await keys.add(made)
        assert await keys.load() == [made]
        assert await keys.load() is None
        await keys.remove(made.name)
        assert await keys.load() == []
        await keys.aclose()


async def test_a_thousand_entries_are_read_in_batches(keys: RedisKeys) -> None:
    made = [parse_entry(entry(str(number))) for number in range(1000)]
    await asyncio.gather(*map(keys.add, made))
    found = await keys.load()
    assert {each.name for each in found or []} == {each.name for each in made}


async def test_only_entries_with_the_cache_key_count(redis_server: RedisServer) -> None:
    """An entry that another client of Redis wrote, or moved to another name, is not a key."""
    address, reasons = RedisAddress.of(redis_server.url), list[str]()
    ours = RedisKeys(address, Seal(SECRET), on_bad_entries=reasons.append)
    forged = RedisKeys(address, Seal(b"x" * 16))
    await ours.add(parse_entry(entry("a")))
    await forged.add(parse_entry(entry("b")))
    client = connect_async(address)
    await client.hset(
        "switchyard:{keys}", "moved", await client.hget("switchyard:{keys}", "name-of-a")
    )
    assert [each.name for each in await ours.load() or []] == ["name-of-a"]
    (reason,) = reasons
    assert reason.startswith("Redis: 2 entries do not count, ")
    assert sorted(reason.partition(", ")[2].split("; ")) == [
        "moved: not sealed with this cache key",
        "name-of-b: not sealed with this cache key",
    ]
    for each in (ours, forged, client):
        await each.aclose()


async def test_ten_thousand_bad_entries_are_one_short_line(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: each was a line of the log; 90,000 of them took 18 MB, and the loop stood."""
    messages: list[str] = []
    address = RedisAddress.of(redis_server.url)
    keys = RedisKeys(address, Seal(SECRET), on_bad_entries=messages.append)
    made = parse_entry(entry("a"))
    await keys.add(made)
    with Redis.from_url(redis_server.url) as client:
        # more than the bounds of good entries
        monkeypatch.setattr(redis_keys, "MAX_KEYS", 2)
        monkeypatch.setattr(redis_keys, "MAX_BYTES", 1000)
        garbage = {b"\x1b[2J\n%d" % number + b"x" * 500: b"y" * 9 for number in range(10_000)}
        client.hset("switchyard:{keys}", mapping=garbage)
        client.incr("switchyard:{keys}:version")
    assert await keys.load() == [made]
    (message,) = messages
    assert message.startswith("Redis: 10,000 entries do not count, ")
    assert len(message) < 600
    assert message.isascii()
    assert message.isprintable()
    await keys.aclose()


async def test_only_changed_entries_are_parsed_and_not_in_the_loop(
    keys: RedisKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: each change parsed all entries in the event loop."""
    parsed: list[tuple[str, bool]] = []

    def parse(text: bytes) -> KeyEntry:
        found = parse_entry(text)
        parsed.append((found.name, threading.current_thread() is threading.main_thread()))
        return found

    monkeypatch.setattr(redis_keys, "parse_entry", parse)
    made = {name: parse_entry(entry(name)) for name in "abc"}
    for each in made.values():
        await keys.add(each)
    assert len(await keys.load() or []) == 3
    assert sorted(parsed) == [(each.name, False) for each in made.values()]
    parsed.clear()
    await keys.remove(made["a"].name)
    await keys.add(parse_entry(entry("d")))
    assert len(await keys.load() or []) == 3
    assert parsed == [("name-of-d", False)]
    await keys.remove("name-of-d")
    changed = parse_entry(entry("d", max_running=2))
    await keys.add(changed)
    assert changed in (await keys.load() or [])


KEYS, VERSION = "switchyard:{keys}", "switchyard:{keys}:version"


def _text(redis: Redis) -> None:
    redis.set(VERSION, "many")


def _list(redis: Redis) -> None:
    redis.delete(VERSION)
    redis.rpush(VERSION, "1")


def _largest(redis: Redis) -> None:
    redis.set(VERSION, (1 << 63) - 1)


def _huge(redis: Redis) -> None:
    redis.setrange(VERSION, 20 << 20, "1")


@pytest.mark.parametrize("spoil", [_text, _list, _largest, _huge])
async def test_a_bad_version_hides_no_change(
    redis_server: RedisServer, spoil: Callable[[Redis], None]
) -> None:
    """REGRESSION: no change was taken any more, and the command that made it failed."""
    messages: list[str] = []
    address = RedisAddress.of(redis_server.url)
    gateway = RedisKeys(address, Seal(SECRET), on_bad_entries=messages.append)
    command = RedisKeys(address, Seal(SECRET))
    made = [parse_entry(entry(name)) for name in "abc"]
    await command.add(made[0])
    assert await gateway.load() == made[:1]
    with Redis.from_url(redis_server.url) as redis:
        spoil(redis)
        # a change without the command
        redis.hset(KEYS, "name-of-b", command._sealed(made[1]))
    assert {each.name for each in await gateway.load() or []} == {"name-of-a", "name-of-b"}
    # said once, and unchanged entries are no change
    for _ in range(3):
        gateway._rest_until = 0
        assert await gateway.load() is None
    is_bad = spoil is not _largest
    assert gateway.stats() == {"bad_entries": 0, "bad_version": int(is_bad)}
    said = ["Redis: the version of the keys is not a number, so the keys are read at each look"]
    assert messages == said * is_bad
    # the command repairs it
    await command.add(made[2])
    assert len(await gateway.load() or []) == 3
    assert await gateway.load() is None
    assert gateway.stats() == {"bad_entries": 0, "bad_version": 0}
    assert await command.remove("name-of-a")
    assert len(await gateway.load() or []) == 2
    for each in (gateway, command):
        await each.aclose()


async def test_with_a_bad_version_looks_take_a_tenth_of_the_time(
    keys: RedisKeys, redis_server: RedisServer
) -> None:
    with Redis.from_url(redis_server.url) as redis:
        _text(redis)
    assert await keys.load() == []
    keys._rest_until = float("inf")
    await keys.add(parse_entry(entry("a")))
    with Redis.from_url(redis_server.url) as redis:
        _text(redis)
    assert await keys.load() is None
    keys._rest_until = 0
    assert len(await keys.load() or []) == 1


async def test_a_hash_of_another_type_is_named_and_read_again_when_it_is_one(
    keys: RedisKeys, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = parse_entry(entry("a"))
    messages: list[str] = []
    monkeypatch.setattr(keys, "_on_bad_entries", messages.append)
    await keys.add(made)
    assert await keys.load() == [made]
    with Redis.from_url(redis_server.url) as redis:
        redis.set(KEYS, "x")
        redis.set(VERSION, "x")
        for _ in range(2):
            with pytest.raises(KeysUnreadable, match="the keys are not a hash"):
                await keys.load()
        redis.delete(KEYS)
    assert await keys.load() == []
    assert len(messages) == 1, "each bad value is said once"


async def test_a_huge_field_hides_no_other(redis_server: RedisServer) -> None:
    """REGRESSION: a value larger than a reply may be made all keys unreadable."""
    messages: list[str] = []
    address = RedisAddress.of(redis_server.url)
    keys = RedisKeys(address, Seal(SECRET), on_bad_entries=messages.append)
    made = parse_entry(entry("a"))
    await keys.add(made)
    with Redis.from_url(redis_server.url) as redis:
        redis.hset(KEYS, mapping={"huge": b"x" * (40 << 20), "n" * 100_000: "y", "empty": ""})
    assert await keys.load() == [made]
    (message,) = messages
    assert message.startswith("Redis: 3 entries do not count, ")
    assert "huge: empty, or larger than 65,664 bytes" in message
    assert len(message) < 500
    assert keys.stats() == {"bad_entries": 3, "bad_version": 0}
    await keys.aclose()


@pytest.mark.parametrize(("bound", "message"), [("MAX_KEYS", "2 keys"), ("MAX_BYTES", "2 bytes")])
async def test_what_is_read_is_bounded(
    keys: RedisKeys, monkeypatch: pytest.MonkeyPatch, bound: str, message: str
) -> None:
    monkeypatch.setattr(redis_keys, bound, 2)
    for name in "abc":
        await keys.add(parse_entry(entry(name)))
    with pytest.raises(KeysUnreadable, match=f"more than {message}"):
        await keys.load()


async def test_a_redis_that_is_gone_is_an_error_without_its_address(
    keys: RedisKeys, redis_server: RedisServer
) -> None:
    await keys.add(parse_entry(entry("a")))
    redis_server.kill()
    with pytest.raises(KeysUnreadable) as caught:
        await keys.load()
    assert str(redis_server.port) not in str(caught.value)
    redis_server.start()
    assert await keys.load() == []


async def test_the_documented_rights_suffice(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user with them may do all that gateways and commands do with keys and limits."""
    monkeypatch.setattr(redis_limiter, "SECONDS", PATIENCE)
    text = (ROOT / "docs" / "running.md").read_text()
    (sentence,) = re.findall(r"A Redis user needs rights [^.]*\.", text)
    rights = re.findall(r"\+[a-z|+ ]+", sentence)
    with Redis.from_url(redis_server.url) as admin:
        base = "ACL SETUSER user on >word ~switchyard:* -@all +ping +client|setinfo"
        command = f"{base} {' '.join(rights)}"
        admin.execute_command(known_rights(command, admin.info("server")))
        address = RedisAddress.of(redis_server.url.replace("//", "//user:word@"))
        keys = RedisKeys(address, Seal(SECRET))
        made = parse_entry(entry("a", requests_per_minute=1, tokens_per_minute=9))
        await keys.add(made)
        assert await keys.load() == [made]
        limiter = RedisLimiter(address, on_failure="closed")
        assert (await limiter.charge(made.client(), 1)).refused is None
        await limiter.settle(made.client(), 1)
        assert await keys.remove("name-of-a")
        assert limiter.stats() == {"failures": 0, "circuit_open": 0}
        assert admin.acl_log() == []
    await keys.aclose()
    await limiter.aclose()
