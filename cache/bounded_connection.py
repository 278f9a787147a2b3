"""Redis connections that no reply can fill the memory through, or hold for long.

redis-py reads as many bytes as a reply claims to have, and its time-out is per read: a server that
sends a byte now and then holds the caller for ever. Here every request starts an allowance of bytes
and seconds for all of its replies; whoever passes it finds the connection broken. A caller without
such a guard would have to trust the server, and a shared Redis is not to be trusted with a compile.

Invariants  I1 after ``send_packed_command`` at most ``reply_bytes`` bytes are read before the next
               one.
            I2 none of these reads ends later than ``reply_seconds`` after it.
Threads     as redis-py: one thread per connection at a time.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from redis.connection import (
    Connection,
    SSLConnection,
    UnixDomainSocketConnection,
)


class Allowance:
    """What the replies to one request may still take."""

    def __init__(self, reply_bytes: int, reply_seconds: float) -> None:
        self._reply_bytes = reply_bytes
        self._reply_seconds = reply_seconds
        self.renew()

    def renew(self) -> None:
        """A new request begins."""
        self._left = self._reply_bytes
        self._until = monotonic() + self._reply_seconds

    def left_seconds(self) -> float:
        """What a read may still take; raises if that is nothing."""
        left = self._until - monotonic()
        if left <= 0:
            raise TimeoutError("the reply took too long")
        return left

    def spend(self, count: int) -> None:
        """Count bytes that came; raise if they are more than the request may take."""
        self._left -= count
        if self._left < 0:
            raise OSError(f"the reply is larger than {self._reply_bytes:,} bytes")


class _BoundedSocket:
    """A socket whose blocking reads draw on an allowance.

    Reads with time-out 0 are redis-py asking whether the connection lives; they pass.
    """

    def __init__(self, inner: socket.socket, allowance: Allowance) -> None:
        self._inner = inner
        self._allowance = allowance

    def recv(self, size: int, flags: int = 0) -> bytes:
        if self._inner.gettimeout() == 0:
            return self._inner.recv(size, flags)
        with self._deadline():
            data = self._inner.recv(size, flags)
        self._allowance.spend(len(data))
        return data

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        if self._inner.gettimeout() == 0:
            return self._inner.recv_into(buffer, size, flags)
        with self._deadline():
            count = self._inner.recv_into(buffer, size, flags)
        self._allowance.spend(count)
        return count

    @contextmanager
    def _deadline(self) -> Iterator[None]:
        """For one read; what is sent next has the socket's own time-out again."""
        usual = self._inner.gettimeout()
        self._inner.settimeout(self._allowance.left_seconds())
        try:
            yield
        finally:
            self._inner.settimeout(usual)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Bounded:
    """Mix-in: wraps the socket that the connection class behind it opens."""

    def __init__(self, *, reply_bytes: int, reply_seconds: float, **kwargs: Any) -> None:
        self._allowance = Allowance(reply_bytes, reply_seconds)
        super().__init__(**kwargs)

    def _connect(self) -> Any:
        return _BoundedSocket(super()._connect(), self._allowance)  # type: ignore[misc]

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        self._allowance.renew()
        super().send_packed_command(command, check_health)  # type: ignore[misc]


class BoundedConnection(_Bounded, Connection):
    """redis://"""


class BoundedSSLConnection(_Bounded, SSLConnection):
    """rediss://"""


class BoundedUnixConnection(_Bounded, UnixDomainSocketConnection):
    """unix://"""


def connection_class(url: str) -> type[Connection | UnixDomainSocketConnection]:
    """The class for a URL's scheme; any other scheme is a ValueError."""
    scheme = url.partition("://")[0]
    classes: dict[str, type[Connection | UnixDomainSocketConnection]] = {
        "redis": BoundedConnection,
        "rediss": BoundedSSLConnection,
        "unix": BoundedUnixConnection,
    }
    if scheme not in classes:
        raise ValueError("a Redis URL begins with redis://, rediss:// or unix://")
    return classes[scheme]
