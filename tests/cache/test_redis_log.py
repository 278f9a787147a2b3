"""The log in a real Redis: replicas see each other's entries, and nothing that is not sealed."""

import time

import pytest
from redis import Redis

from cache import RedisLog, StoreUnusable, clients, entries, redis_log
from tests.cache.stores import MakeLog, new_log
from tests.redis_server import RedisServer
from tests.waiting import until

GROUP = b"masks/5/aa/"
PAIRS = [(GROUP + b"%03d" % number, b"value %d" % number) for number in range(40)]
KEYS = [key for key, _ in PAIRS]
VALUES = [value for _, value in PAIRS]


def followed(log: RedisLog, count: int) -> list[bytes]:
    """So many announced keys."""
    found: list[bytes] = []
    until(lambda: len(found.__iadd__(log.follow(0.05))) >= count)
    return found


# -- following ------------------------------------------------------------------------------------


def test_replicas_see_each_others_announcements_and_not_their_own(make: MakeLog) -> None:
    one, other = make(), make()
    for log in (one, other):
        log.position()
    assert one.publish(PAIRS) == len(PAIRS)
    assert followed(other, len(PAIRS)) == KEYS
    assert other.read(KEYS) == VALUES
    assert one.follow(0.01) == other.follow(0.01) == []
    assert other.stats()["announced"] == len(KEYS)


def test_following_begins_at_the_position(make: MakeLog) -> None:
    one, other = make(), make()
    one.publish(PAIRS[:10])
    other.position()
    one.publish(PAIRS[10:20])
    assert other.hottest(GROUP, 100) != []
    assert followed(other, 10) == KEYS[10:20]


def test_what_was_trimmed_is_passed_over(make: MakeLog, raw: Redis) -> None:
    one, other = make(), make()
    other.position()
    one.publish(PAIRS[:10])
    raw.xtrim(one._log, maxlen=0, approximate=False)
    one.publish(PAIRS[10:20])
    assert followed(other, 10) == KEYS[10:20]


def test_a_replica_hears_again_after_a_large_id_is_gone(
    make: MakeLog, raw: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write to Redis can add a message with the largest id: no other may follow it."""
    monkeypatch.setattr(redis_log, "MAX_SILENT", 3)
    one, other = make(), make()
    other.position()
    raw.xadd(one._log, {b"by": b"x", b"keys": b"y"}, id=f"{2**64 - 1}-{2**64 - 1}")
    assert followed(other, 1) == [b"y"]
    raw.delete(one._log)
    for _ in range(3):
        assert other.follow(0.01) == []
    one.publish(PAIRS[:10])
    assert followed(other, 10) == KEYS[:10]


def test_the_stream_is_capped(make: MakeLog, raw: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_log, "LOG_MESSAGES", 100)
    one = make()
    for _ in range(400):
        one.publish(PAIRS[:1])
    assert raw.xlen(one._log) < 300


def test_announcements_that_are_none_are_unusable_or_passed_over(make: MakeLog, raw: Redis) -> None:
    log = make()
    log.position()
    raw.xadd(log._log, {b"by": b"x", b"keys": b"\n\n" + b"k" * 600 + b"\nmasks/1/a/1"})
    assert followed(log, 1) == [b"masks/1/a/1"]
    raw.xadd(log._log, {b"else": b"x"})
    with pytest.raises(StoreUnusable, match="KeyError"):
        log.follow(1)
    raw.delete(log._log)
    raw.set(log._log, b"no stream")
    with pytest.raises(StoreUnusable):
        log.position()


# -- values ---------------------------------------------------------------------------------------


def test_only_values_sealed_for_this_namespace_key_and_secret_are_read(
    make: MakeLog, raw: Redis
) -> None:
    log = make()
    log.publish(PAIRS[:4])
    first, second, third, fourth = (log._prefix + key for key in KEYS[:4])
    raw.set(first, b"forged")
    raw.copy(second, third, replace=True)
    raw.delete(fourth)
    raw.rpush(fourth, b"a list")
    assert log.read([*KEYS[:4], b"masks/5/aa/none"]) == [None, VALUES[1], None, None, None]
    assert (log.stats()["invalid"], log.stats()["missing"]) == (2, 2)
    assert make(key=b"another secret of 16").read(KEYS[1:2]) == [None]
    elsewhere = make(namespace="elsewhere")
    raw.copy(second, elsewhere._prefix + KEYS[1], replace=True)
    assert elsewhere.read(KEYS[1:2]) == [None]
    raw.delete(elsewhere._prefix + KEYS[1])


@pytest.mark.parametrize("past", [0, 1])
def test_the_largest_value_and_one_byte_more(make: MakeLog, raw: Redis, past: int) -> None:
    log, value = make(), b"x" * (entries.MAX_VALUE_BYTES + past)
    assert log.publish([(KEYS[0], value)]) == 1 - past
    raw.set(log._prefix + KEYS[0], log._seal.wrap(log._prefix + KEYS[0], value))
    assert log.read(KEYS[:1]) == [None if past else value]


@pytest.mark.parametrize("past", [0, 1])
def test_the_longest_key_and_one_byte_more(make: MakeLog, past: int) -> None:
    key = GROUP + b"k" * (entries.MAX_KEY_BYTES - len(GROUP) + past)
    assert make().publish([(key, b"value")]) == 1 - past


# -- popularity -----------------------------------------------------------------------------------


def test_uses_count_and_renew_the_time_to_live(make: MakeLog, raw: Redis) -> None:
    log = make()
    log.publish(PAIRS)
    for key in (KEYS[7], KEYS[7], KEYS[3]):
        log.used([key])
    assert log.hottest(GROUP, 2) == [KEYS[7], KEYS[3]]
    raw.expire(log._prefix + KEYS[7], 10)
    log.used([KEYS[7]])
    assert raw.ttl(log._prefix + KEYS[7]) > 100


def test_a_use_of_what_is_not_there_makes_it_no_entry(make: MakeLog) -> None:
    log = make()
    log.publish(PAIRS[:1])
    log.used([GROUP + b"other", b"masks/9/none/1"])
    assert log.hottest(GROUP, 10) == KEYS[:1]
    assert log.hottest(b"masks/9/none/", 10) == []


def test_old_uses_count_less(make: MakeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log, now = make(), [time.time()]
    monkeypatch.setattr(entries.time, "time", lambda: now[0])
    log.publish(PAIRS[:2])
    for _ in range(3):
        log.used(KEYS[:1])
    now[0] += 3 * entries.HALF_LIFE
    log.used(KEYS[1:2])
    assert log.hottest(GROUP, 2) == [KEYS[1], KEYS[0]]
    now[0] += 100 * 365 * 86_400
    log.used(KEYS[:1])
    assert log.hottest(GROUP, 1) == KEYS[:1]


def test_a_group_keeps_so_many_names(make: MakeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_log, "MAX_NAMES", 10)
    log = make()
    log.publish(PAIRS[:5])
    log.used(KEYS[:5])
    log.publish(PAIRS[5:])
    found = log.hottest(GROUP, 100)
    assert len(found) == 10
    assert set(found) >= set(KEYS[:5])


# -- faults ---------------------------------------------------------------------------------------


def test_a_server_that_was_away_is_followed_again(make: MakeLog, redis_server: RedisServer) -> None:
    one, other = make(redis_server.url), make(redis_server.url)
    other.position()
    one.publish(PAIRS[:5])
    redis_server.kill()
    with pytest.raises(StoreUnusable) as caught:
        other.follow(0.05)
    assert "127.0.0.1" not in str(caught.value)
    redis_server.start()
    other.position()
    assert one.publish(PAIRS) == len(PAIRS)
    assert followed(other, len(PAIRS)) == KEYS


def test_a_full_redis_takes_nothing_and_is_still_read(
    make: MakeLog, redis_server: RedisServer
) -> None:
    log = make(redis_server.url)
    log.publish(PAIRS[:5])
    with Redis.from_url(redis_server.url) as admin:
        admin.config_set("maxmemory", 1)
    assert log.publish(PAIRS[5:]) == 0
    assert log.stats()["refused"] == len(PAIRS) - 5
    assert log.read(KEYS[:5]) == VALUES[:5]


def test_a_replica_takes_nothing(make: MakeLog, redis_server: RedisServer) -> None:
    replica = RedisServer("--replicaof", "127.0.0.1", str(redis_server.port))
    replica.start()
    try:
        assert make(replica.url).publish(PAIRS) == 0
    finally:
        replica.close()


def test_a_server_that_hangs_ends_at_the_time_out(
    make: MakeLog, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "SOCKET_SECONDS", 0.3)
    log = make(redis_server.url)
    log.position()
    redis_server.pause()
    try:
        with pytest.raises(StoreUnusable, match="TimeoutError"):
            log.read(KEYS)
    finally:
        redis_server.resume()
    assert log.publish(PAIRS) == len(PAIRS)


def test_a_time_to_live_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="ttl_s must be at least 1, got 0"):
        new_log("redis://127.0.0.1", "test", ttl_s=0)
