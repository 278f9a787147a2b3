"""A TCP server that speaks Redis' protocol and answers each command as a table says: what a real
Redis can't be made to say.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread


class _Server(ThreadingTCPServer):
    daemon_threads = True
    answers: Mapping[bytes, bytes]


class _Handler(StreamRequestHandler):
    server: _Server
    disable_nagle_algorithm = True

    def handle(self) -> None:
        while command := self._command():
            self.wfile.write(self.server.answers.get(command, b"-ERR unknown command\r\n"))

    def _command(self) -> bytes:
        """Its name in capital letters; nothing when the client leaves."""
        words = [self._word() for _ in range(int(self.rfile.readline()[1:] or 0))]
        return words[0].upper() if words else b""

    def _word(self) -> bytes:
        length = int(self.rfile.readline()[1:])
        return self.rfile.read(length + 2)[:-2]


@contextmanager
def answering_server(answers: Mapping[bytes, bytes]) -> Iterator[str]:
    """Its URL, for the length of a with block. ``answers``: by command, as they are sent."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.answers = answers
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"redis://127.0.0.1:{server.server_address[1]}/0"
        finally:
            server.shutdown()
            thread.join()


def bulk(data: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(data), data)


def array(*items: bytes) -> bytes:
    return b"*%d\r\n%b" % (len(items), b"".join(items))
