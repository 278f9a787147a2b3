"""One client's WebSocket with limits, which uvicorn's protocol lacks.

handshake  a refused one has no line in the log
pings      a client that answers none is disconnected, unless its answer may wait behind
           messages that the app has not read
messages   a client that does not read for WRITE_S is disconnected; so is one whose message arrives
           while those of all connections exceed their bytes (1013), or in too many frames (1009)
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from .connection import WRITE_S

#: frames of a message: each takes about 100 bytes of memory beside its own
MAX_FRAMES = 32_768


@dataclass(slots=True)
class ArrivingMessages:
    """Bytes of the messages of all connections that are not whole yet."""

    max_bytes: int
    size: int = 0


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """See the file's header."""

    def __init__(self, *args: Any, arriving: ArrivingMessages, **options: Any) -> None:
        super().__init__(*args, **options)
        self._writing: asyncio.TimerHandle | None = None
        self._arriving = arriving
        self._size = 0

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        rest = len(self.conn.reader.buffer)
        # a message in several frames has left the buffer, but not arrived
        self._count(self._size + len(data) if self.frames else rest)
        if self._arriving.size > self._arriving.max_bytes:
            self._refuse(1013)
        elif len(self.frames) > MAX_FRAMES:
            self._refuse(1009)

    def _count(self, size: int) -> None:
        self._arriving.size += size - self._size
        self._size = size

    def _refuse(self, code: int) -> None:
        """Close the connection, and free what has arrived."""
        self.conn.send_close(code)
        self.handle_parser_exception()
        self.frames = []
        self.conn.reader.buffer.clear()
        self._count(0)

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message; a whole refusal completes the handshake."""
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True

    def keepalive_timeout(self) -> None:
        if self.read_paused:
            self.pong_timer = None
            self.schedule_ping()
            return
        super().keepalive_timeout()
        # closing would wait until the client reads
        self.transport.abort()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writing = self.loop.call_later(WRITE_S, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._count(0)
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
