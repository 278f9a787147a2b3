"""A request to a server, and its answer, which is passed on by plain calls.

Invariants       I1 a request is sent once more, on a new connection, if a kept one breaks before
                    any byte of the answer: even a healthy server may close it at that moment.
                 I2 a body is not kept while its answer streams.
                 I3 no error is kept, and none that is raised refers to itself: the cycle would keep
                    all that their frames do.
Not here         connections (http_pool), bytes (http_connection).
"""

import asyncio

from .base import TextPath, WorkerError
from .http_connection import Connection, Receiver
from .http_pool import ConnectionPool


class Exchange:
    """A request and its answer. ``text_path``: takes what it can from the body, which does not
    count as a byte for ``read_s``; set it before ``wait``.
    """

    text_path: TextPath | None = None

    def __init__(
        self,
        pool: ConnectionPool,
        head: bytes,
        content: bytes,
        receiver: Receiver,
        read_s: float | None,
    ) -> None:
        self._pool = pool
        self._head = head
        self._content: bytes | None = content
        self._receiver = receiver
        #: called by the connection
        self.on_data = receiver.on_data if read_s is None else self._on_timed_data
        self._read_s = read_s
        self._deadline: asyncio.Timeout | None = None
        self._connection: Connection | None = None
        self._is_paused = False
        self._error: BaseException | None = None

    async def wait(self) -> None:
        """Send the request, and return after the last byte of the answer, or after ``stop``.
        Call it once; cancelling it ends the exchange.

        Raises:
            WorkerError: no connection, no answer, or no HTTP.
        """
        try:
            connection = self._pool.kept()
            if connection is None or not await self._is_answered(connection):
                await self._is_answered(await self._pool.connected())
        finally:
            self._content = self._connection = self._error = self._deadline = None
            self.text_path = None
            del self.on_data, self._receiver  # parts of cycles

    async def _is_answered(self, connection: Connection) -> bool:
        """Return whether there was an answer; False: a kept connection broke before."""
        is_kept = connection.is_reused
        self._done = asyncio.get_running_loop().create_future()
        self._connection = connection
        connection.ask(self, self._head, self._body(is_kept))
        if self._is_paused:
            connection.pause()
        try:
            if self._read_s is None:
                await self._done
            else:
                async with asyncio.timeout(self._read_s) as self._deadline:
                    await self._done
        except TimeoutError as late:
            message = f"no byte of an answer for {self._read_s:g} s"
            raise WorkerError(504, message, reason="timeout") from late
        finally:
            connection.leave(self)
        error, self._error = self._error, None
        try:
            if error is None:
                return True
            if is_kept and not connection.is_answered and _is_broken(error):
                return False
            raise error
        finally:
            del error  # its traceback refers to this frame

    def _body(self, is_kept: bool) -> bytes:
        """Return the body, and keep it only for a second attempt."""
        content = self._content or b""
        if not is_kept:
            self._content = None
        return content

    def pause(self) -> None:
        """Ask for no data for a while. Some that is on its way still comes."""
        self._is_paused = True
        if self._connection is not None:
            self._connection.pause()

    def resume(self) -> None:
        self._is_paused = False
        if self._connection is not None:
            self._connection.resume()

    def stop(self, *, is_ending: bool) -> None:
        """Take nothing more. For receivers. ``is_ending``: see Connection.stop."""
        if self._connection is not None:
            self._connection.stop(self, is_ending=is_ending)
            self.on_end(None)

    # -- called by the connection

    def on_head(self, status: int) -> None:
        self._content = None
        if self._deadline is not None:
            self._reschedule()
        self._receiver.on_head(status)

    def _on_timed_data(self, data: bytes) -> None:
        self._reschedule()
        self._receiver.on_data(data)

    def _reschedule(self) -> None:
        if self._deadline is not None and self._read_s is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time() + self._read_s)

    def on_end(self, error: BaseException | None) -> None:
        # it may belong to another exchange before ``wait`` goes on
        self._connection = None
        if not self._done.done():
            self._error = error
            self._done.set_result(None)


class WholeAnswer:
    """A receiver that keeps an answer of at most ``most_bytes``."""

    def __init__(self, most_bytes: int) -> None:
        self.status = 0
        self._pieces: list[bytes] = []
        self._left = most_bytes
        self._most = most_bytes

    @property
    def body(self) -> bytes:
        return b"".join(self._pieces)

    def on_head(self, status: int) -> None:
        self.status = status

    def on_data(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            message = f"an answer of more than {self._most:,} bytes"
            raise WorkerError(502, message, reason="protocol")
        self._pieces.append(data)


def _is_broken(error: BaseException) -> bool:
    return isinstance(error, WorkerError) and error.reason == "connection"
