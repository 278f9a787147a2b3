"""A bounded socket reads within its allowance, and is otherwise the socket that it wraps."""

import socket

import pytest

from cache.bounded_connection import Allowance, _BoundedSocket


def test_a_read_leaves_the_time_out_for_what_is_sent_next() -> None:
    one, other = socket.socketpair()
    with one, other:
        one.settimeout(7.0)
        bounded = _BoundedSocket(one, Allowance(reply_bytes=10, reply_seconds=0.2))
        other.sendall(b"ab")
        assert bounded.recv(1) == b"a"
        assert bounded.recv_into(bytearray(1)) == 1
        assert one.gettimeout() == 7.0
        with pytest.raises(TimeoutError):
            bounded.recv(1)
        assert one.gettimeout() == 7.0
