"""Shared servers: a request for an equal server returns the running one.

Representation   running servers by their arguments, the most recently used one last.
Invariants       I1 at most ``limit`` run at once; the least recently used one makes room.
                 I2 a server that has died is never handed out: it is started again.
Threads          one.
"""

from pathlib import Path

from .server import SGLangServer

#: 1.4 GB each; the server that one file of tests starts is there for the next
LIMIT = 4
#: a scheduler without work takes a whole processor otherwise, from the tests and from other starts
IDLE = "--sleep-on-idle"

_Key = tuple[str, Path, tuple[str, ...], frozenset[tuple[str, str]]]


class Servers:
    """``servers("xgrammar", "--random-seed", "1", SGLANG_SOMETHING="2")`` is a running server.

    Ask in each test instead of keeping one: another test may have needed its place.
    """

    def __init__(self, python: Path, model: Path, limit: int = LIMIT) -> None:
        self._python, self._model, self._limit = python, model, limit
        self._running: dict[_Key, SGLangServer] = {}

    def __call__(
        self, backend: str, *arguments: str, model: Path | None = None, **environment: str
    ) -> SGLangServer:
        """A healthy server. ``model``: another folder than the usual one.

        Raises:
            RuntimeError: it does not start; shows its log.
        """
        key = (backend, model or self._model, arguments, frozenset(environment.items()))
        server = self._running.pop(key, None)
        if server is None or not server.alive:
            server = self._started(key)
        self._running[key] = server
        return server

    def close(self) -> None:
        """Stop all."""
        while self._running:
            self._stop_oldest()

    def _started(self, key: _Key) -> SGLangServer:
        backend, model, arguments, environment = key
        while len(self._running) >= self._limit:
            self._stop_oldest()
        own = dict(environment)
        server = SGLangServer(self._python, model, backend, IDLE, *arguments, environment=own)
        server.start()
        return server

    def _stop_oldest(self) -> None:
        self._running.pop(next(iter(self._running))).stop()
