"""uvicorn's WebSockets, without a line in the log for each handshake that is refused."""

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One connection."""

    async def send(self, message: ASGISendEvent) -> None:
        """Send a message; a whole refusal completes the handshake."""
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True
