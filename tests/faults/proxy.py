"""A TCP proxy on a local port that delays, cuts and damages what passes through it.

``target``, ``harm`` and ``chunk`` (the bytes that pass at once) may be changed at any time; a
connection keeps the target it was made to.

Threads   two for each connection, one for each direction.
"""

import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from threading import Lock, Thread

#: what is done to some bytes on their way: those that go on, and whether the connection does.
#: ``reply`` says that they come from the server
Harm = Callable[[bytes, bool], tuple[bytes, bool]]
CHUNK = 1 << 16
#: what no Redis answers: another protocol, and replies that are long, deep or endless
NONSENSE = (
    b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b":5\r\n" * 100,
    b"*1\r\n" * 5_000 + b":1\r\n",
    b"*1000000000\r\n" + b":1\r\n" * 100_000,
    b"$500000000\r\n" + b"x" * (20 << 20),
)


class Proxy:
    """Passes everything on to ``127.0.0.1:target``; counts replies that met harm in ``harmed``."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.harm: Harm | None = None
        self.chunk = CHUNK
        self.harmed = 0
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed
            try:
                far = socket.create_connection(("127.0.0.1", self.target), timeout=10)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                self._open |= {near, far}
            for ends in ((near, far, False), (far, near, True)):
                Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, reply: bool) -> None:
        try:
            while data := source.recv(self.chunk):
                harm = self.harm
                self.harmed += harm is not None and reply
                changed, goes_on = harm(data, reply) if harm else (data, True)
                sink.sendall(changed)
                if not goes_on:
                    break
        except OSError:
            pass  # one of the two hung up
        finally:
            self._hang_up(source, sink)

    def _hang_up(self, *ends: socket.socket) -> None:
        for end in ends:
            with self._lock:
                self._open.discard(end)
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            left = list(self._open)
        self._hang_up(*left)
        self._thread.join(30)


@contextmanager
def proxy_to(target: int) -> Iterator[Proxy]:
    """A proxy for the length of a with block."""
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()


def cut_replies(chance: random.Random) -> Harm:
    """Ends the connection somewhere in a reply, now and then."""

    def harm(data: bytes, reply: bool) -> tuple[bytes, bool]:
        if not reply or chance.random() < 0.3:
            return data, True
        return data[: chance.randrange(len(data))], False

    return harm


def delay_replies(seconds: float) -> Harm:
    """Every reply comes late."""

    def harm(data: bytes, reply: bool) -> tuple[bytes, bool]:
        time.sleep(seconds if reply else 0)
        return data, True

    return harm


def talk_nonsense() -> Harm:
    """Other replies, by turns."""
    replies = cycle(NONSENSE)

    def harm(data: bytes, reply: bool) -> tuple[bytes, bool]:
        return (next(replies) if reply else data), True

    return harm


def flip_bits(chance: random.Random) -> Harm:
    """One bit of most chunks, in both directions."""

    def harm(data: bytes, reply: bool) -> tuple[bytes, bool]:
        if chance.random() < 0.3:
            return data, True
        damaged = bytearray(data)
        damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return bytes(damaged), True

    return harm
