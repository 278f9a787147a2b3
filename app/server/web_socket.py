"""One client's WebSocket with limits, which uvicorn's protocol lacks.

handshake  a refused one has no line in the log
pings      a client that answers none is disconnected, unless its answer may wait behind
           messages that the app has not read
messages   a client that does not read for WRITE_S is disconnected
"""

import asyncio
from typing import Any

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from .connection import WRITE_S


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """See the file's header."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._writing: asyncio.TimerHandle | None = None

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
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
