"""RedisStore against a server that means harm: bounded bytes, bounded waits, misses, no exception.

Each answer here would, unguarded, hold the caller for ever, fill its memory or raise: a hanging
test is a failed one.
"""

import socket
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from cache import RedisBounds, RedisStore, WriteBounds
from tests.cache.hostile_server import HostileServer, hostile_server

#: who failed once is left alone for the rest of a test
WRITES = WriteBounds(pause_seconds=3_600, max_pause_seconds=3_600)
BOUNDS = RedisBounds(
    value_bytes=1_000,
    batch_keys=4,
    connect_seconds=0.5,
    socket_seconds=0.5,
    reply_seconds=0.5,
    read_seconds=0.5,
    map_seconds=0,
    writes=WRITES,
)


def send(data: bytes) -> Callable[[socket.socket], None]:
    """Answers with these bytes, then keeps the connection open until the client leaves."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(data)
        while connection.recv(1 << 16):
            pass

    return answer


def flood(start: bytes, block: bytes) -> Callable[[socket.socket], None]:
    """Answers with ``start`` and then ``block`` for ever; ends when the client hangs up."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(block)

    return answer


def drip(connection: socket.socket) -> None:
    """A byte now and then: no single read ever times out."""
    connection.sendall(b"$900\r\n")
    while True:
        time.sleep(0.05)
        connection.sendall(b"x")


def hang_up(connection: socket.socket) -> None:
    """Closes without a word."""


ANSWERS = {
    "silence": send(b""),
    "hang up": hang_up,
    "drip": drip,
    "endless value": flood(b"$400000000\r\n", bytes(1 << 16)),
    "endless line": flood(b"+", b"x" * (1 << 16)),
    "endless array": flood(b"*2000000000\r\n", b":1\r\n" * 10_000),
    "deep nesting": flood(b"", b"*1\r\n" * 10_000),
    "negative length": send(b"$-7\r\n" * 20),
    "no number": send(b"$abc\r\n"),
    "huge number": send(b"$" + b"9" * 10_000 + b"\r\n"),
    "another protocol": send(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "an error": send(b"-ERR no\r\n" * 20),
    "still loading": send(b"-LOADING Redis is loading the dataset in memory\r\n" * 20),
    "a number": send(b"+OK\r\n" * 3 + b":1\r\n" * 20),
    "text that is no reply of ours": send(b"+OK\r\n" * 20),
}


def store_of(server: HostileServer, bounds: RedisBounds = BOUNDS) -> RedisStore:
    return RedisStore(server.url, namespace="test", key=bytes(16), bounds=bounds)


@pytest.mark.parametrize("polite", [True, False], ids=["to a read", "to a greeting"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_whatever_it_answers_is_a_miss(
    answer: Callable[[socket.socket], None], polite: bool
) -> None:
    with hostile_server(answer, polite=polite) as server:
        store = store_of(server)
        assert store.get_many([b"a", b"b"]) == [None, None]
        stats = store.stats()
        assert stats["misses"] == 2
        assert stats["failures"] + stats["invalid"] > 0, "what went wrong is counted"
        store.put_many([(b"a", b"1")])
        store.close()


def test_a_reply_beyond_all_bounds_is_not_read_to_its_end() -> None:
    """With all the time it wants: the bytes alone end it."""
    reply = b"$5000000\r\n" + bytes(5_000_000) + b"\r\n"
    patient = replace(BOUNDS, socket_seconds=60, reply_seconds=60)
    with hostile_server(send(reply * 20)) as server:
        store = store_of(server, patient)
        assert store.get_many([b"a", b"b"]) == [None, None]
        assert (store.stats()["failures"], store.stats()["oversized"]) == (1, 0)
        store.close()


def test_after_a_failure_it_is_left_alone() -> None:
    with hostile_server(hang_up) as server:
        store = store_of(server)
        assert store.get_many([b"a"]) == [None]
        seen = server.connections
        assert seen >= 1
        for _ in range(50):
            assert store.get_many([b"a", b"b"]) == [None, None]
        assert server.connections == seen
        assert (store.stats()["skipped"], store.stats()["failures"]) == (100, 1)
        store.close()


def test_a_failure_in_the_first_round_trip_saves_the_others() -> None:
    with hostile_server(hang_up) as server:
        store = store_of(server)
        assert store.get_many([b"%d" % number for number in range(40)]) == [None] * 40
        assert (store.stats()["skipped"], store.stats()["failures"]) == (36, 1)
        store.close()


def test_a_server_that_nobody_listens_at_is_a_miss() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    store = RedisStore(f"redis://127.0.0.1:{port}", namespace="test", key=bytes(16), bounds=BOUNDS)
    assert store.get_many([b"a"]) == [None]
    assert store.stats()["open"] == 1
    store.close()


def test_a_full_queue_drops_the_newest_and_counts_them() -> None:
    bounds = replace(BOUNDS, writes=replace(WRITES, queue_items=3, queue_bytes=10_000))
    with hostile_server(hang_up) as server:
        store = store_of(server, bounds)
        store.get_many([b"a"])  # opens the breaker, so that nothing leaves the queue
        for key in (b"a", b"b", b"c"):
            store.put_many([(key, b"1")])
        assert (store.stats()["queued"], store.stats()["dropped"]) == (3, 0)
        store.put_many([(b"d", b"1"), (b"a", b"newer")])
        assert (store.stats()["queued"], store.stats()["dropped"]) == (3, 1)
        store.close()
        assert store.stats()["queued_bytes"] == 0


@pytest.mark.parametrize(
    ("size", "dropped"), [(49, 0), (50, 1)], ids=["at the bound", "one byte past it"]
)
def test_the_queue_is_bounded_in_bytes_too(size: int, dropped: int) -> None:
    with hostile_server(hang_up) as server:
        store = store_of(server, replace(BOUNDS, writes=replace(WRITES, queue_bytes=100)))
        store.get_many([b"a"])
        store.put_many([(b"a", bytes(49)), (b"b", bytes(size))])
        assert store.stats()["dropped"] == dropped
        store.close()
