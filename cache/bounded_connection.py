"""Redis connections that no reply can fill the memory through, or hold for long.

redis-py reads as many bytes as a reply claims to have, and its time-out is per read: a server that
sends a byte now and then holds the caller for ever. Here every request starts an allowance of bytes
and seconds for all of its replies; whoever passes it finds the connection broken. A caller without
such a guard would have to trust the server, and a shared Redis is not to be trusted with a compile.

Invariants  I1 after ``send_packed_command`` at most ``reply_bytes`` bytes are read before the next
               one.
            I2 none of these reads ends later than ``reply_seconds`` after it, and nothing at all
               later than the thread's deadline: connecting and sending neither, nor resolving a
               name.
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
from redis.exceptions import InvalidResponse
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from . import deadline
from .resolving import addresses_of


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
        return _positive(min(self._until - monotonic(), deadline.left()))

    def spend(self, count: int) -> None:
        """Count bytes that came; raise if they are more than the request may take."""
        self._left -= count
        if self._left < 0:
            raise OSError(f"the reply is larger than {self._reply_bytes:,} bytes")


def _time_out(seconds: float) -> float | None:
    """For a socket. The system counts milliseconds, and Python rounds up to these: what is left of
    a deadline must be rounded down before, to one at least, or all waits would end late.
    """
    if seconds == float("inf"):
        return None
    return (max(1, int(1000 * seconds)) - 0.5) / 1000


def _positive(seconds: float) -> float:
    if seconds <= 0:
        raise TimeoutError("the reply took too long")
    return seconds


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
        with self._for(self._allowance.left_seconds()):
            data = self._inner.recv(size, flags)
        self._allowance.spend(len(data))
        return data

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        if self._inner.gettimeout() == 0:
            return self._inner.recv_into(buffer, size, flags)
        with self._for(self._allowance.left_seconds()):
            count = self._inner.recv_into(buffer, size, flags)
        self._allowance.spend(count)
        return count

    def sendall(self, data: Any, flags: int = 0) -> None:
        usual = self._inner.gettimeout()
        left = _positive(deadline.left())
        with self._for(left if usual is None else min(usual, left)):
            self._inner.sendall(data, flags)

    @contextmanager
    def _for(self, seconds: float) -> Iterator[None]:
        """For one call; the next has the socket's own time-out again."""
        usual = self._inner.gettimeout()
        self._inner.settimeout(_time_out(seconds))
        try:
            yield
        finally:
            self._inner.settimeout(usual)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class _Bounded:
    """Mix-in: wraps the socket that the connection class behind it opens."""

    # redis-py's own, in seconds
    socket_connect_timeout: Any
    socket_timeout: Any
    driver_info: Any
    lib_name: Any
    lib_version: Any

    def __init__(self, *, reply_bytes: int, reply_seconds: float, **kwargs: Any) -> None:
        self._allowance = Allowance(reply_bytes, reply_seconds)
        super().__init__(**kwargs)
        # redis-py's name and version are not told to the server: it would be two more requests at
        # each connection, and a right more that a user needs
        self.driver_info = self.lib_name = self.lib_version = None
        self._connect_seconds: float = self.socket_connect_timeout
        self._socket_seconds: float = self.socket_timeout

    def _connect(self) -> Any:
        deadline.connecting()
        sock = self._dial()
        sock.settimeout(self._socket_seconds)
        return _BoundedSocket(sock, self._allowance)

    def _dial(self) -> Any:
        """A socket that is connected, in what is left of the deadline."""
        left = _positive(deadline.left())
        self.socket_connect_timeout = _time_out(min(self._connect_seconds, left))
        self.socket_timeout = _time_out(min(self._socket_seconds, left))  # of a TLS handshake
        try:
            return super()._connect()  # type: ignore[misc]
        finally:
            self.socket_timeout = self._socket_seconds

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        self._allowance.renew()
        super().send_packed_command(command, check_health)  # type: ignore[misc]

    def read_response(self, *arguments: Any, **options: Any) -> Any:
        """redis-py lets through what its parser meets in bytes that are no reply."""
        try:
            return super().read_response(*arguments, **options)  # type: ignore[misc]
        except (ValueError, RecursionError) as error:
            raise InvalidResponse(f"this is no reply ({type(error).__name__})") from None


class _Named(_Bounded):
    """Mix-in: a server is known by its name, which redis-py would resolve without a bound."""

    host: str
    port: int

    def _dial(self) -> Any:
        """At the first of the name's addresses where somebody answers."""
        name, refusal = self.host, OSError("a name without an address")
        seconds = _positive(min(self._connect_seconds, deadline.left()))
        self._name = name
        try:
            for address in addresses_of(name, self.port, seconds):
                self.host = address
                try:
                    return super()._dial()
                except OSError as error:
                    refusal = error
        finally:
            self.host = name
        raise refusal

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        """Certificates are of names."""
        self.host = self._name
        return super()._wrap_socket_with_ssl(sock)  # type: ignore[misc]


class BoundedConnection(_Named, Connection):
    """redis://"""


class BoundedSSLConnection(_Named, SSLConnection):
    """rediss://"""


class BoundedUnixConnection(_Bounded, UnixDomainSocketConnection):
    """unix://"""


class BoundedSentinelConnection(_Named, SentinelManagedConnection):
    """To the primary that Sentinels name."""


class BoundedSentinelSSLConnection(_Named, SentinelManagedSSLConnection):
    """The same with TLS."""


def connection_class(unix: bool, tls: bool) -> type[Connection | UnixDomainSocketConnection]:
    """For one server."""
    if unix:
        return BoundedUnixConnection
    return BoundedSSLConnection if tls else BoundedConnection


def sentinel_connection_class(tls: bool) -> type[SentinelManagedConnection]:
    """For a pool of redis-py that asks Sentinels."""
    return BoundedSentinelSSLConnection if tls else BoundedSentinelConnection
