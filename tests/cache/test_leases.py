"""Leases: one thread and one process at a time makes a value; whatever fails, somebody may."""

import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
from redis import Redis

from cache import MemoryStore, RedisStore, TieredStore, WriteBounds
from cache.leases import MOST_LEASES, MOST_SECONDS, ThreadLeases
from cache.seal import OVERHEAD, Seal
from tests.cache.hostile_server import hostile_server
from tests.cache.stores import BOUNDS, SECRET, MakeStore, until
from tests.cache.test_redis_store_hostile import ANSWERS
from tests.cache.test_redis_store_hostile import BOUNDS as SHORT
from tests.redis_server import PATIENCE_SECONDS, RedisServer

#: long enough that no lease of a test runs out by itself
LONG = MOST_SECONDS

Claim = Callable[[list[bytes], float], list[bool]]


def elsewhere(work: Callable[..., object], *arguments: object) -> object:
    """What ``work`` gives on a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *arguments).result()


class Clock:
    """Time that goes when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


# -- threads ---------------------------------------------------------------------------------------


def test_one_thread_holds_a_key_until_it_gives_it_back() -> None:
    store = MemoryStore(1 << 20)
    assert store.claim([b"a", b"b", b"a"], LONG) == [True, True, True]
    assert elsewhere(store.claim, [b"a", b"c"], LONG) == [False, True]
    assert store.stats()["denied"] == 1
    elsewhere(store.release, [b"a"])
    assert elsewhere(store.claim, [b"a"], LONG) == [False], "only the holder can give it back"
    store.release([b"a", b"never claimed"])
    assert elsewhere(store.claim, [b"a", b"b"], LONG) == [True, False]


def test_a_threads_lease_runs_out() -> None:
    clock = Clock()
    leases = ThreadLeases(clock)
    assert leases.claim([b"a"], 5) == [True]
    clock.now += 4.9
    assert elsewhere(leases.claim, [b"a"], 5) == [False]
    clock.now += 0.1
    assert elsewhere(leases.claim, [b"a"], 5) == [True]
    assert leases.claim([b"a"], 5) == [False]


def test_no_lease_is_longer_than_the_bound() -> None:
    clock = Clock()
    leases = ThreadLeases(clock)
    assert leases.claim([b"a"], 10 * MOST_SECONDS) == [True]
    clock.now += MOST_SECONDS
    assert elsewhere(leases.claim, [b"a"], 1) == [True]


def test_beyond_the_bound_of_leases_everybody_may_make_everything() -> None:
    clock = Clock()
    leases = ThreadLeases(clock)
    leases.claim([b"%d" % number for number in range(MOST_LEASES + 1)], 5)
    last, beyond = b"%d" % (MOST_LEASES - 1), b"%d" % MOST_LEASES
    assert elsewhere(leases.claim, [last, beyond], 5) == [False, True]
    clock.now += 5
    assert leases.claim([beyond], 5) == [True]
    assert elsewhere(leases.claim, [beyond], 5) == [False], "those that ran out make room"


def test_of_many_threads_at_once_one_is_granted() -> None:
    store, together = MemoryStore(1 << 20), Barrier(8)

    def work(_: int) -> list[bool]:
        together.wait(PATIENCE_SECONDS)
        return store.claim([b"%d" % number for number in range(100)], LONG)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(work, range(8)))
    assert [sum(each) for each in zip(*answers, strict=True)] == [1] * 100


# -- tiers -----------------------------------------------------------------------------------------


def test_a_key_that_a_far_layer_denies_is_given_back_to_the_near_ones() -> None:
    near, far = MemoryStore(1 << 20), MemoryStore(1 << 20)
    store = TieredStore([near, far])
    elsewhere(far.claim, [b"a"], LONG)
    assert store.claim([b"a", b"b", b"a"], LONG) == [False, True, False]
    assert elsewhere(near.claim, [b"a", b"b"], LONG) == [True, False]
    assert elsewhere(far.claim, [b"b"], LONG) == [False]
    store.release([b"b"])
    assert elsewhere(store.claim, [b"b"], LONG) == [True]


def test_a_far_layer_is_not_asked_for_what_a_near_one_denies() -> None:
    near, far = MemoryStore(1 << 20), MemoryStore(1 << 20)
    elsewhere(near.claim, [b"a"], LONG)
    assert TieredStore([near, far]).claim([b"a"], LONG) == [False]
    assert elsewhere(far.claim, [b"a"], LONG) == [True]


# -- Redis -----------------------------------------------------------------------------------------


def lease_name(store: RedisStore, key: bytes) -> bytes:
    return store._prefix + b"lease/" + key


def test_one_process_holds_a_key_until_it_gives_it_back(make: MakeStore) -> None:
    one, two = make(), make()
    assert one.claim([b"a", b"b"], LONG) == [True, True]
    assert one.claim([b"a"], LONG) == [True], "its own"
    assert two.claim([b"c", b"a", b"b"], LONG) == [True, False, False]
    assert two.stats()["denied"] == 2
    two.release([b"a"])
    assert two.flush(PATIENCE_SECONDS)
    assert two.claim([b"a"], LONG) == [False], "only the holder can give it back"
    one.release([b"a"])
    assert one.flush(PATIENCE_SECONDS)
    assert two.claim([b"a", b"b"], LONG) == [True, False]
    assert one.claim([], LONG) == []


def test_who_is_granted_a_lease_after_another_finds_his_value(make: MakeStore) -> None:
    """Released leases wait behind the values in the queue, whatever else waits."""
    one, two = make(), make()
    assert one.claim([b"a"], LONG) == [True]
    one.put_many([(b"%d" % number, bytes(10_000)) for number in range(200)])
    one.put_many([(b"a", b"made")])
    one.release([b"a"])
    until(lambda: two.claim([b"a"], LONG) == [True])
    assert two.get_many([b"a"]) == [b"made"]


def test_who_was_denied_can_ask_redis_whatever_the_map_says(make: MakeStore) -> None:
    one, two = make(), make(bounds=replace(BOUNDS, map_seconds=3600))
    assert two.get_many([b"a"]) == [None]  # reads the map
    assert one.claim([b"a"], LONG) == [True]
    assert two.claim([b"a"], LONG) == [False]
    one.put_many([(b"a", b"made")])
    assert one.flush(PATIENCE_SECONDS)
    assert two.get_many([b"a"]) == [None] and not two.may_have(b"a")
    assert two.get_newest([b"a"]) == [b"made"]


def test_a_lease_has_a_time_to_live(make: MakeStore, redis_url: str) -> None:
    store = make()
    assert store.claim([b"a"], 7) == [True]
    with Redis.from_url(redis_url) as raw:
        assert 0 < raw.pttl(lease_name(store, b"a")) <= 7000
        assert store.claim([b"b"], 10 * MOST_SECONDS) == [True]
        assert 0 < raw.pttl(lease_name(store, b"b")) <= 1000 * MOST_SECONDS


def _claim_and_hang(url: str, namespace: str, granted: object) -> None:
    store = RedisStore(url, namespace=namespace, key=SECRET, bounds=BOUNDS)
    granted.put(store.claim([b"a"], 2))  # type: ignore[attr-defined]
    time.sleep(600)


def test_the_lease_of_a_killed_process_runs_out(make: MakeStore, redis_url: str) -> None:
    spawning = multiprocessing.get_context("spawn")
    granted = spawning.Queue()
    store = make()
    namespace = store._prefix[:-1].decode()
    child = spawning.Process(target=_claim_and_hang, args=(redis_url, namespace, granted))
    child.start()
    try:
        assert granted.get(timeout=2 * PATIENCE_SECONDS) == [True]
    finally:
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join(PATIENCE_SECONDS)
    until(lambda: store.claim([b"a"], 2) == [True])


def test_beyond_one_round_trip_of_keys_all_are_granted(make: MakeStore) -> None:
    small = replace(BOUNDS, batch_keys=3)
    keys = [b"%d" % number for number in range(5)]
    assert make(bounds=small).claim(keys, LONG) == [True] * 5
    assert make(bounds=small).claim(keys, LONG) == [False] * 3 + [True] * 2
    assert make().claim(keys, LONG) == [False] * 3 + [True] * 2


def sealed(store: RedisStore, key: bytes, body: bytes, secret: bytes = SECRET) -> bytes:
    return Seal(secret).wrap(lease_name(store, key), body)


def ends(seconds: float) -> bytes:
    return int(1000 * (time.time() + seconds)).to_bytes(8, "big")


#: what somebody else has put in a lease's place, and whether it denies
PLANTED: dict[str, tuple[Callable[[RedisStore], bytes], bool]] = {
    "a lease": (lambda store: sealed(store, b"a", bytes(16) + ends(30)), True),
    "one that ran out": (lambda store: sealed(store, b"a", bytes(16) + ends(-1)), False),
    "one without end": (lambda store: sealed(store, b"a", bytes(16) + ends(10**6)), False),
    "another key's": (lambda store: sealed(store, b"b", bytes(16) + ends(30)), False),
    "another secret's": (
        lambda store: sealed(store, b"a", bytes(16) + ends(30), b"another secret, as long"),
        False,
    ),
    "another length": (lambda store: sealed(store, b"a", bytes(17) + ends(30)), False),
    "not sealed": (lambda store: bytes(OVERHEAD + 16) + ends(30), False),
    "nothing": (lambda store: b"", False),
    "64 MB": (lambda store: bytes(64 << 20), False),
}


@pytest.mark.parametrize("planted", PLANTED, ids=PLANTED)
def test_only_a_sealed_lease_that_has_not_run_out_denies(
    make: MakeStore, redis_url: str, planted: str
) -> None:
    store = make()
    value, denies = PLANTED[planted]
    with Redis.from_url(redis_url) as raw:
        raw.set(lease_name(store, b"a"), value(store), ex=60)
        assert store.claim([b"a", b"b"], LONG) == [not denies, True]
        assert store.stats()["open"] == 0
        store.release([b"a"])
        assert store.flush(PATIENCE_SECONDS)
        assert raw.exists(lease_name(store, b"a")), "another's is not taken away"
        raw.delete(lease_name(store, b"a"))


def test_a_value_of_another_type_denies_nothing(make: MakeStore, redis_url: str) -> None:
    store = make()
    with Redis.from_url(redis_url) as raw:
        raw.rpush(lease_name(store, b"a"), "x")
        assert store.claim([b"a"], LONG) == [True]
        assert store.stats()["write_failures"] == 0
        raw.expire(lease_name(store, b"a"), 60)


# -- Redis fails -----------------------------------------------------------------------------------


def test_a_redis_that_hangs_costs_a_deadline_and_grants_all(
    make: MakeStore, redis_server: RedisServer
) -> None:
    bounds = replace(BOUNDS, read_seconds=0.5, writes=WriteBounds(pause_seconds=3600))
    holder, store = make(redis_server.url, bounds=bounds), make(redis_server.url, bounds=bounds)
    assert holder.claim([b"a"], LONG) == [True]
    assert store.claim([b"a"], LONG) == [False]
    redis_server.pause()
    try:
        start = time.monotonic()
        assert store.claim([b"a", b"b"], LONG) == [True, True]
        assert time.monotonic() - start < PATIENCE_SECONDS / 2
        assert (store.stats()["open"], store.stats()["failures"]) == (1, 1)
        assert store.claim([b"a"], LONG) == [True]
        assert store.stats()["failures"] == 1, "left alone, it is not asked"
    finally:
        redis_server.resume()


def test_a_redis_that_is_gone_grants_all(make: MakeStore, redis_server: RedisServer) -> None:
    store = make(redis_server.url)
    assert store.claim([b"a"], LONG) == [True]
    store.release([b"a"])
    assert store.flush(PATIENCE_SECONDS)
    redis_server.kill()
    assert store.claim([b"a"], LONG) == [True]
    store.release([b"a"])
    redis_server.start()
    until(lambda: store.stats()["open"] == 0)
    assert make(redis_server.url).claim([b"a"], LONG) == [True]


def test_a_full_redis_grants_all(make: MakeStore, redis_server: RedisServer) -> None:
    with Redis.from_url(redis_server.url) as admin:
        admin.config_set("maxmemory-policy", "noeviction")
        admin.config_set("maxmemory", "1")
    for store in (make(redis_server.url), make(redis_server.url)):
        assert store.claim([b"a"], LONG) == [True]
        assert (store.stats()["open"], store.stats()["write_failures"]) == (0, 1)


@pytest.mark.parametrize("command", ["set", "getrange", "del"])
def test_what_redis_refuses_of_a_lease_is_counted(
    make: MakeStore, redis_server: RedisServer, command: str
) -> None:
    store = make(redis_server.url)
    with Redis.from_url(redis_server.url) as admin:
        admin.execute_command("ACL", "SETUSER", "default", f"-{command}")
        assert store.claim([b"a"], LONG) == [True]
        store.release([b"a"])
        assert store.flush(PATIENCE_SECONDS)
    assert store.stats()["write_failures"] == {"set": 1, "getrange": 2, "del": 1}[command]


def test_closed_it_grants_all(make: MakeStore) -> None:
    holder, store = make(), make()
    assert holder.claim([b"a"], LONG) == [True]
    store.close()
    assert store.claim([b"a"], LONG) == [True]
    store.release([b"a"])


@pytest.mark.parametrize("polite", [True, False], ids=["to a read", "to a greeting"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_whatever_redis_answers_all_are_granted(
    answer: Callable[[socket.socket], None], polite: bool
) -> None:
    with hostile_server(answer, polite=polite) as server:
        store = RedisStore(server.url, namespace="test", key=bytes(16), bounds=SHORT)
        assert store.claim([b"a", b"b"], LONG) == [True, True]
        store.release([b"a", b"b"])
        store.close()
