"""A TCP server that answers as a test tells it to: a Redis, or anything else, that means harm."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread

Answer = Callable[[socket.socket], None]

#: commands with which redis-py introduces itself or checks the connection
_GREETINGS = (b"CLIENT", b"SELECT", b"AUTH", b"HELLO", b"PING")


class HostileServer:
    """Serves one connection after the other. It says +OK while redis-py introduces itself, and
    calls ``answer`` for each later request.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            # an error: the client hung up, as it should
            with connection, suppress(OSError):
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        while request := connection.recv(1 << 16):
            commands = _commands(request)
            if commands and all(command in _GREETINGS for command in commands):
                connection.sendall(b"+OK\r\n" * len(commands))
            else:
                self._answer(connection)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(30)


def _commands(request: bytes) -> list[bytes]:
    """The names of the commands in a request."""
    lines = request.split(b"\r\n")
    return [lines[at + 2] for at, line in enumerate(lines[:-2]) if line.startswith(b"*")]


@contextmanager
def hostile_server(answer: Answer) -> Iterator[HostileServer]:
    """A server for the length of a with block."""
    server = HostileServer(answer)
    try:
        yield server
    finally:
        server.close()
