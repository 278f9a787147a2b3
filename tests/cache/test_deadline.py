"""What a thread waits for ends at its deadline: reading and sending, a connection made or not."""

import math
import socket
from threading import Thread

import pytest

from cache import deadline
from cache.bounded_connection import Allowance, _BoundedSocket, _time_out

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


def test_something_is_left_for_what_follows_a_wait() -> None:
    with deadline.within(HOUR):
        assert deadline.left() <= HOUR - deadline.AFTERWARDS
    with deadline.within(0):
        assert deadline.left() <= 0


@pytest.mark.parametrize("left", [0.0011, 0.0019999, 0.067, 0.134, 0.0195, 1.0, 3600.0005])
def test_a_socket_waits_whole_milliseconds_and_no_more_than_are_left(left: float) -> None:
    """As the system counts them: rounded up."""
    waits = math.ceil(1000 * _time_out(left))
    assert left - 0.001 < waits / 1000 <= left


def test_a_socket_waits_at_least_a_millisecond_and_without_a_deadline_for_ever() -> None:
    assert [math.ceil(1000 * _time_out(left)) for left in (1e-9, 0.0005, 0.001)] == [1, 1, 1]
    assert _time_out(math.inf) is None


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
