"""The connections to one server: new ones, and idle ones that are kept for the next request.

Invariants       I1 an idle connection is closed after KEEPALIVE_S; the last one used is the first
                    one used again.
                 I2 a transport keeps the context in which it was made, so connections are made in
                    an empty one: what they call sees no context variables.
Not here         requests (http_exchange), answers (http_connection).
"""

import asyncio
import ssl
from contextvars import Context

from .base import WorkerError
from .http_connection import Connection

#: seconds for a connection by default; a lost SYN is sent again after one second
CONNECT_S = 2.0
#: seconds that an idle connection is kept; servers close theirs after 5
KEEPALIVE_S = 2.0


class ConnectionPool:
    """See the head of this file. Event loop only.

    Args:
        connect_seconds: for a new connection, with name resolution and TLS.
        tls: None: no TLS.
    """

    def __init__(
        self, host: str, port: int, *, connect_seconds: float, tls: ssl.SSLContext | None
    ) -> None:
        self._host, self._port = host, port
        self._connect_seconds = connect_seconds
        self._tls = tls
        self._open: set[Connection] = set()
        #: in the order of their last use
        self._idle: dict[Connection, None] = {}
        self._sweep: asyncio.TimerHandle | None = None
        self._is_closed = False

    def kept(self) -> Connection | None:
        """Take the idle connection that was used last."""
        now = asyncio.get_running_loop().time()
        while self._idle:
            connection, _ = self._idle.popitem()
            if connection.is_open and now - connection.idle_since < KEEPALIVE_S:
                return connection
            connection.close()
        return None

    async def connected(self) -> Connection:
        """Return a new connection. Raises WorkerError."""
        self._check_open()
        made: list[Connection] = []
        try:
            # no variable for the task: with an error it would be part of a cycle
            await asyncio.get_running_loop().create_task(self._connect(made), context=Context())
            return made.pop()
        finally:
            for connection in made:  # cancelled at the last moment
                connection.abort()

    async def _connect(self, made: list[Connection]) -> None:
        loop, where = asyncio.get_running_loop(), f"{self._host}:{self._port}"
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    lambda: Connection(self), self._host, self._port, ssl=self._tls
                )
        except (OSError, ValueError) as error:  # TLS's errors are OSErrors; a bad name: ValueError
            # the deadline's own error has no number; a variable for it would be part of a cycle
            is_late = isinstance(error, TimeoutError) and error.errno is None
            why = f"{type(error).__name__}: {error}"
            if is_late:
                why = f"it took more than {self._connect_seconds:g} s"
            message = f"cannot connect to {where}: {why}"
            raise WorkerError(502, message, reason="connection") from error
        if self._is_closed:
            connection.abort()
            self._check_open()
        self._open.add(connection)
        made.append(connection)

    def _check_open(self) -> None:
        if self._is_closed:
            raise WorkerError(502, "the client is closed", reason="connection")

    def on_idle(self, connection: Connection) -> None:
        """Keep a connection. Called by connections."""
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle[connection] = None
        if self._sweep is None:
            self._sweep = loop.call_later(KEEPALIVE_S, self._close_old)

    def on_lost(self, connection: Connection) -> None:
        """Forget a connection. Called by connections."""
        self._open.discard(connection)
        self._idle.pop(connection, None)

    def _close_old(self) -> None:
        """Close connections that were idle for too long, and come back for the next one."""
        self._sweep = None
        loop = asyncio.get_running_loop()
        for connection in list(self._idle):
            due = connection.idle_since + KEEPALIVE_S
            if due > loop.time():
                self._sweep = loop.call_at(due, self._close_old)
                return
            del self._idle[connection]
            connection.close()

    async def aclose(self) -> None:
        """Break all connections, those of running requests as well."""
        self._is_closed = True
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._open):
            connection.fail("the client is closed")
        await asyncio.sleep(0)  # transports close in the next round of the loop
