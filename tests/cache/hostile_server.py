"""A TCP server that answers as a test tells it to: it stands in for a Redis that means harm."""

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

Answer = Callable[[socket.socket], None]


class HostileServer:
    """Takes one connection after the other; ``answer`` gets each once a request came.

    ``polite`` says +OK to every command until one reads, so that the harm is not done while the
    client still introduces itself.
    """

    def __init__(self, answer: Answer, *, polite: bool) -> None:
        self._answer = answer
        self._polite = polite
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self.connections = 0
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            self.connections += 1
            with connection:
                try:
                    connection.settimeout(30)
                    request = connection.recv(1 << 16)
                    while self._polite and request and b"GETRANGE" not in request:
                        connection.sendall(b"+OK\r\n" * len(re.findall(rb"(?m)^\*\d", request)))
                        request = connection.recv(1 << 16)
                    self._answer(connection)
                except OSError:
                    pass  # the client hung up, as it should

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(30)


@contextmanager
def hostile_server(answer: Answer, *, polite: bool = True) -> Iterator[HostileServer]:
    """A server for the length of a with block."""
    server = HostileServer(answer, polite=polite)
    try:
        yield server
    finally:
        server.close()
