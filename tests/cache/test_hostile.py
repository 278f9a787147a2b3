"""A server that means harm makes a log unusable, within the time-outs and a bound of memory."""

import socket
import time
import tracemalloc
from collections.abc import Callable

import pytest

from cache import RedisLog, StoreUnusable, clients
from tests.cache.hostile_server import Answer, hostile_server
from tests.cache.stores import new_log

KEYS = [b"masks/5/aa/%03d" % number for number in range(40)]

CALLS: dict[str, Callable[[RedisLog], object]] = {
    "position": lambda log: log.position(),
    "follow": lambda log: log.follow(0.05),
    "hottest": lambda log: log.hottest(b"masks/5/aa/", 10),
    "read": lambda log: log.read(KEYS),
    "publish": lambda log: log.publish([(key, b"value") for key in KEYS]),
    "used": lambda log: log.used(KEYS),
    "survey": lambda log: log.namespace().survey(2),
    "keys": lambda log: list(log.namespace().keys(2)),
}

#: to each request, so often that a pipeline has all its replies
REPLIES = {
    "an error": b"-ERR no\r\n",
    "a number": b":5\r\n",
    "no number": b":five\r\n",
    "a text": b"$2\r\nno\r\n",
    "nothing there": b"$-1\r\n",
    "no reply": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "lists": b"*1\r\n" * 50 + b":1\r\n",
    "deep lists": b"*1\r\n" * 5_000 + b":1\r\n",
    "an empty list": b"*0\r\n",
    "numbers": b"*2\r\n:1\r\n:2\r\n",
    "a list of nothing": b"*1\r\n*-1\r\n",
    "a message without fields": b"*1\r\n*2\r\n$1\r\nx\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*-1\r\n",
    "half a reply": b"*2\r\n$4\r\nab",
    "a negative length": b"$-7\r\n",
}
MAX_REPLIES = 200


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "SOCKET_SECONDS", 0.3)
    monkeypatch.setattr(clients, "REPLY_SECONDS", 0.6)


def asked(answer: Answer, call: Callable[[RedisLog], object]) -> object:
    """Return a call's result or its StoreUnusable; any other exception is a failure."""
    with hostile_server(answer) as server:
        log = new_log(server.url, "test")
        try:
            return call(log)
        except StoreUnusable as error:
            return error
        finally:
            log.close()


def is_unusable(answer: Answer, call: Callable[[RedisLog], object]) -> bool:
    return isinstance(asked(answer, call), StoreUnusable)


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("call", CALLS)
def test_replies_of_another_shape_raise_nothing_but_unusable(call: str, reply: str) -> None:
    def answer(at: socket.socket) -> None:
        at.sendall(REPLIES[reply] * MAX_REPLIES)

    returned = asked(answer, CALLS[call])
    # what may be believed of such a server: that nothing is there, and nothing was taken
    if isinstance(returned, StoreUnusable):
        assert "127.0.0.1" not in str(returned)
    elif call == "read":
        assert returned == [None] * len(KEYS)
    elif call == "publish":
        assert returned == 0
    elif call in ("follow", "hottest", "keys"):
        assert isinstance(returned, list)
        assert all(isinstance(key, bytes) for key in returned)


def test_a_server_that_hangs_up_is_unusable() -> None:
    for call in CALLS.values():
        assert is_unusable(lambda at: at.shutdown(socket.SHUT_RDWR), call)


def send_without_end(at: socket.socket, head: bytes, piece: bytes) -> None:
    at.sendall(head)
    while True:
        at.sendall(piece)


ENDLESS = {
    "a huge value": (b"$4000000000\r\n", b"x" * 65_536),
    "a line": (b"+", b"x" * 65_536),
    "a list": (b"*1000000000\r\n", b"$9\r\nsomething\r\n" * 1_000),
    "errors": (b"", b"-ERR no\r\n" * 1_000),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_an_endless_reply_is_cut_off_before_it_fills_the_memory(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "REPLY_BYTES", 1 << 20)
    monkeypatch.setattr(clients, "REPLY_SECONDS", 60)
    for name in ("hottest", "read", "follow"):
        tracemalloc.start()
        try:
            cut = is_unusable(lambda at: send_without_end(at, *ENDLESS[what]), CALLS[name])
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert cut
        assert peak < 24 << 20


def test_a_reply_that_drips_ends_at_the_time_out() -> None:
    over: list[bool] = []

    def drip(at: socket.socket) -> None:
        at.sendall(b"$100000\r\n")
        try:
            while True:
                at.sendall(b"x")
                time.sleep(0.05)
        except OSError:
            over.append(True)
            raise

    # without a bound this call returns never: a byte comes before each time-out
    assert is_unusable(drip, CALLS["read"])
    assert over


def test_a_listing_without_an_end_is_cut_off() -> None:
    def answer(at: socket.socket) -> None:
        at.sendall(b"*2\r\n$1\r\n7\r\n*0\r\n")

    assert is_unusable(answer, CALLS["keys"])
