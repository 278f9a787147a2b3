"""One request of a WebSocket to the app, and the messages that wait meanwhile."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic_core import from_json, to_json
from starlette.types import ASGIApp, Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import ApiError, internal_error

#: headers of the handshake that are not those of its requests
_OWN = frozenset(
    (
        *(b"connection", b"upgrade", b"content-type", b"content-length", b"content-encoding"),
        *(b"transfer-encoding", b"expect", b"x-request-id"),
    )
)
#: the last events of responses that can be continued
_ENDED = (b"response.completed", b"response.incomplete")
#: bytes of a part of a body
PART_BYTES = 256 << 10


class Inbox:
    """The messages of a connection."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._waiting: Message | None = None

    async def next(self) -> Message:
        """Return the next message."""
        waiting, self._waiting = self._waiting, None
        return waiting or await self._socket.receive()

    async def until_client_leaves(self) -> None:
        """Return when the client has left; not if another message waits."""
        if self._waiting is None:
            self._waiting = await self._socket.receive()
        if self._waiting["type"] != "websocket.disconnect":
            await asyncio.Event().wait()


class SocketRequest:
    """One request to the app, whose answer goes to the socket. ``body``: JSON."""

    def __init__(self, app: ASGIApp, socket: WebSocket, inbox: Inbox, body: bytes) -> None:
        self._app = app
        self._socket = socket
        self._inbox = inbox
        self._size = len(body)
        self._parts: Iterator[bytes] = _parts(body)
        self._is_read = False
        self._status = 0
        self._number = ""
        self._arrived = bytearray()
        self._is_whole = False
        self._ended: dict[str, Any] | None = None

    async def run(self) -> dict[str, Any] | None:
        """Send the events; return the response, unless it has failed.

        Raises:
            WebSocketDisconnect: the client has left.
        """
        await self._app(self._scope(), self._receive, self._send)
        if self._status != 200:
            error = from_json(bytes(self._arrived))["error"]
            await send_event(
                self._socket, {"type": "error", "status": self._status, "error": error}
            )
        elif not self._is_whole:
            await send_event(self._socket, error_event(internal_error(self._number)))
        return self._ended

    def _scope(self) -> dict[str, Any]:
        given = self._socket.scope
        headers = [
            (name, value)
            for name, value in given["headers"]
            if name not in _OWN and not name.startswith(b"sec-websocket")
        ]
        headers += [
            (b"content-type", b"application/json"),
            (b"content-length", str(self._size).encode()),
        ]
        kept = ("asgi", "root_path", "client", "server", "path", "raw_path")
        return {
            **{name: given[name] for name in kept if name in given},
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "https" if given["scheme"] == "wss" else "http",
            "query_string": b"",
            "headers": headers,
            "state": {},
        }

    async def _receive(self) -> Message:
        """Return the parts of the body, then the end of the connection."""
        for part in self._parts:
            # as a socket would: the event loop runs between two parts
            await asyncio.sleep(0)
            return {"type": "http.request", "body": part, "more_body": True}
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._inbox.until_client_leaves()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._number = dict(message["headers"])[b"x-request-id"].decode()
            return
        self._is_whole = not message.get("more_body", False)
        self._arrived += message.get("body", b"")
        if self._status != 200:
            return
        *events, rest = self._arrived.split(b"\n\n")
        self._arrived = bytearray(rest)
        for event in events:
            await self._pass_on(bytes(event))

    async def _pass_on(self, event: bytes) -> None:
        """Send an event. Raises OSError: the client has left."""
        name, _, data = event.partition(b"\ndata: ")
        if not data:
            return  # a comment
        if name.removeprefix(b"event: ") in _ENDED:
            self._ended = from_json(data)["response"]
        try:
            await self._socket.send_text(data.decode())
        except (WebSocketDisconnect, RuntimeError):
            raise OSError("the client has left") from None


def _parts(body: bytes) -> Iterator[bytes]:
    """Yield a body in parts, and let it go."""
    yield from (body[at : at + PART_BYTES] for at in range(0, len(body), PART_BYTES))


async def send_event(socket: WebSocket, event: Mapping[str, Any]) -> None:
    """Send an event, unless the connection is closed. Raises WebSocketDisconnect."""
    with suppress(RuntimeError):
        await socket.send_text(to_json(event).decode())


def error_event(error: ApiError) -> dict[str, Any]:
    """Return the event of an error."""
    return {"type": "error", "status": error.status, "error": error.body()["error"]}
