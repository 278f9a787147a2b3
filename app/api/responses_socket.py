"""The Responses API over a WebSocket: each ``response.create`` is a request whose events are
messages.

Each is answered by the whole app as POST /v1/responses with ``stream``: so keys, limits, admission,
errors, log lines and metrics are the same, and the events, too.

Invariants   I1 responses of a connection follow each other. Meanwhile one more message is read, so
                that a client that leaves ends its response; others wait in the connection.
             I2 the last response is kept here if it is not stored, so that the next one can
                continue it; a failed continuation drops it.
             I3 a connection lasts ``MAX_SECONDS``, and a client has at most ``MAX_OF_CLIENT``.
             I4 a kept response has the bytes of a body at most, and all of them together those of
                as many bodies without images as there may be connections.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import from_json, to_json
from starlette.types import ASGIApp, Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..access import Client
from ..errors import ApiError, bad_request, unavailable
from ..protocol import write_json
from .body import BodyReader
from .body_limit import BodyLimit
from .error_responses import refuse_socket
from .socket_request import Inbox, SocketRequest, error_event, send_event

PATH = "/v1/responses"
#: OpenAI's bound on the life of a connection
MAX_SECONDS = 3600.0
#: connections of one client in this process
MAX_OF_CLIENT = 32
#: fields of the message that a request lacks
_ENVELOPE = ("type", "stream", "stream_id", "background")
_RESULTS = ("function_call_output", "custom_tool_call_output")


@dataclass(frozen=True, slots=True)
class _Kept:
    """A response that is not stored: ``items`` of its input and output, as JSON, after those of the
    stored response ``before``.
    """

    number: str
    before: str | None
    items: bytes


class ResponsesSocket:
    """See the file's header.

    Args:
        app: answers requests.
        identify: returns the client of a handshake; raises ApiError.
        bodies: read messages.
        most: connections of all clients.
        limit: of bodies.
    """

    def __init__(
        self,
        app: ASGIApp,
        identify: Callable[[WebSocket], Client],
        bodies: BodyReader,
        *,
        most: int,
        limit: BodyLimit,
    ) -> None:
        self._app = app
        self._identify = identify
        self._bodies = bodies
        self._most = most
        self._limit = limit
        self._open: Counter[str] = Counter()
        self._kept_bytes = 0

    @property
    def open(self) -> int:
        """Number of connections."""
        return self._open.total()

    async def serve(self, socket: WebSocket) -> None:
        """Serve a connection, or refuse it."""
        try:
            client = self._identify(socket).id
            with self._place(client):
                await socket.accept()
                with suppress(WebSocketDisconnect):
                    await self._bounded(socket, client)
        except ApiError as error:
            await refuse_socket(error, socket.send)

    async def _bounded(self, socket: WebSocket, client: str) -> None:
        inbox, kept = Inbox(socket), None
        try:
            async with asyncio.timeout(MAX_SECONDS):
                while (message := await inbox.next())["type"] != "websocket.disconnect":
                    # no local name holds a request while the connection is idle
                    ended = await self._answered(message, kept, socket, inbox, client)
                    kept = self._replaced(kept, ended)
                    del message, ended
        except TimeoutError:
            await send_event(socket, error_event(_too_old()))
            await socket.close(1000)
        finally:
            self._replaced(kept, None)

    def _replaced(self, kept: _Kept | None, ended: _Kept | None) -> _Kept | None:
        """Return the response that is kept from now on; None: all have too many bytes."""
        before = 0 if kept is None else len(kept.items)
        after = 0 if ended is None else len(ended.items)
        if self._kept_bytes - before + after > self._most * self._limit.text:
            ended, after = None, 0
        self._kept_bytes += after - before
        return ended

    @contextmanager
    def _place(self, client: str) -> Iterator[None]:
        if self._open[client] >= MAX_OF_CLIENT:
            raise ApiError(
                429,
                f"Too many WebSockets: at most {MAX_OF_CLIENT} are allowed for one client.",
                code="too_many_websockets",
            )
        if self.open >= self._most:
            message = f"Too many WebSockets: at most {self._most:,} are allowed."
            raise unavailable(message, "too_many_websockets")
        self._open[client] += 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    async def _answered(
        self, message: Message, kept: _Kept | None, socket: WebSocket, inbox: Inbox, client: str
    ) -> _Kept | None:
        """Answer a message; return the response that is kept after it."""
        continued, text = False, _text(message)
        # with images, each form of a request has megabytes: none outlives its use
        message.clear()
        size = len(text)
        try:
            body = _body(await self._bodies.value(text, client))
            del text
            if kept is not None and body.get("previous_response_id") == kept.number:
                continued, size = True, size + len(kept.items)
                items = await self._bodies.run(client, size, partial(_continued, kept, body))
                body |= {"previous_response_id": kept.before, "input": items}
            step = partial(self._json, {**body, "stream": True}, size)
            request = SocketRequest(
                self._app, socket, inbox, await self._bodies.run(client, size, step)
            )
        except ApiError as error:
            await send_event(socket, error_event(error))
            return None if continued else kept
        ended = await request.run()
        if ended is not None:
            return await self._kept(body, ended, size, client)
        return None if continued else kept

    async def _kept(
        self, body: Mapping[str, Any], response: Mapping[str, Any], size: int, client: str
    ) -> _Kept | None:
        """Return a response that only this connection has. ``size``: bytes of its request."""
        if response["store"] or body.get("conversation"):
            return None
        step = partial(self._json, [*_items(body), *response["output"]], size)
        try:
            items = await self._bodies.run(client, size, step)
        except ApiError:
            return None
        if len(items) > self._limit.whole:
            return None
        return _Kept(response["id"], body.get("previous_response_id"), items)

    def _json(self, value: Any, size: int) -> bytes:
        """Write JSON. ``size``: about its bytes."""
        return to_json(value) if size <= self._limit.text else write_json(value)


def _text(message: Message) -> bytes:
    text = message.get("text")
    return message.get("bytes") or b"" if text is None else text.encode()


def _body(body: Any) -> dict[str, Any]:
    """Return the request of a message. Raises ApiError 400."""
    kind = body.get("type") if isinstance(body, dict) else None
    if kind != "response.create":
        shown = kind[:100] if isinstance(kind, str) else kind
        raise bad_request(
            f"Invalid value for 'type': this server reads 'response.create', got {shown!r}.",
            "type",
            "unsupported_value",
        )
    if body.get("stream_id") is not None:
        raise bad_request(
            "Unsupported parameter: 'stream_id' is not supported by this server. Responses of a "
            "connection follow each other.",
            "stream_id",
            "unsupported_parameter",
        )
    if body.get("background"):
        raise bad_request(
            "Unsupported parameter: 'background' is not supported over a WebSocket.",
            "background",
            "unsupported_parameter",
        )
    return {name: each for name, each in body.items() if name not in _ENVELOPE}


def _items(body: Mapping[str, Any]) -> list[Any]:
    """Return the input as items."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return given if isinstance(given, list) else []


def _continued(kept: _Kept, body: Mapping[str, Any]) -> list[Any]:
    """Return the items of a response that is kept, and those that continue it.

    Raises:
        ApiError: 400, a result is of no call: it cannot be one of a history that was cut.
    """
    items: list[Any] = from_json(kept.items)
    first, calls = len(items), set()
    items += _items(body)
    for at, item in enumerate(items, -first):
        call_id = item.get("call_id") if isinstance(item, dict) else None
        if not isinstance(call_id, str):
            continue
        if item.get("type") not in _RESULTS:
            calls.add(call_id)
        elif at >= 0 and call_id not in calls and kept.before is None:
            raise bad_request(
                f"No tool call found for the output with call_id '{call_id[:100]}'.",
                f"input[{at}].call_id",
                "invalid_value",
            )
    return items


def _too_old() -> ApiError:
    minutes = int(MAX_SECONDS // 60)
    return bad_request(
        f"A WebSocket lasts {minutes} minutes. Open a new one to go on.",
        code="websocket_connection_limit_reached",
    )
