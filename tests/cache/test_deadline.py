"""What a thread waits for ends at its deadline: reading and sending, a connection made or not."""

import math
import socket
from threading import Thread

import pytest

from cache import deadline
from cache.bounded_connection import Allowance, _BoundedSocket

HOUR = 3600.0


def test_without_one_there_is_no_end() -> None:
    assert deadline.left() == math.inf
    assert not deadline.is_set()


def test_it_holds_inside_and_what_held_before_holds_again() -> None:
    with deadline.within(2 * HOUR):
        with deadline.within(HOUR):
            assert deadline.is_set()
            assert 0 < deadline.left() <= HOUR
        assert HOUR < deadline.left() <= 2 * HOUR
    assert deadline.left() == math.inf


def test_one_inside_of_another_ends_no_later_whether_connecting_or_not() -> None:
    with deadline.within(HOUR):
        with deadline.within(2 * HOUR):
            deadline.connecting()
            assert 0 < deadline.left() <= HOUR
        with deadline.within(HOUR / 2):
            assert deadline.left() <= HOUR / 2
            deadline.connecting()
            assert HOUR / 2 < deadline.left() <= HOUR
        deadline.connecting()
        assert HOUR < deadline.left() <= 2 * HOUR


def test_connecting_adds_as_much_again_but_once() -> None:
    with deadline.within(HOUR):
        for _ in range(3):
            deadline.connecting()
        assert HOUR < deadline.left() <= 2 * HOUR
    deadline.connecting()
    assert deadline.left() == math.inf


def test_other_threads_have_their_own() -> None:
    found: list[float] = []
    with deadline.within(HOUR):
        thread = Thread(target=lambda: found.append(deadline.left()))
        thread.start()
        thread.join()
    assert found == [math.inf]


def test_a_socket_waits_no_longer_whatever_its_own_bounds_are() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(HOUR)
        bounded = _BoundedSocket(one, Allowance(reply_bytes=10, reply_seconds=HOUR))
        with deadline.within(0.1), pytest.raises(TimeoutError):
            bounded.recv(1)
        with deadline.within(0.1), pytest.raises(TimeoutError):
            bounded.recv_into(bytearray(1))
        with deadline.within(0.1), pytest.raises(TimeoutError):
            bounded.sendall(bytes(1 << 24))  # nobody reads it
        with deadline.within(0), pytest.raises(TimeoutError):
            bounded.sendall(b"x")
        assert one.gettimeout() == HOUR
