"""The Responses API over a WebSocket: each ``response.create`` is a request whose events are
messages.

Each is answered by the whole app as POST /v1/responses with ``stream``: so keys, limits, admission,
errors, log lines and metrics are the same, and the events, too.

Invariants   I1 responses of a connection follow each other. Messages beyond one that runs wait in
                the connection, which is not read meanwhile.
             I2 the last response is kept here if it is not stored, so that the next one can
                continue it; a failed continuation drops it.
             I3 a connection lasts ``MAX_SECONDS``, and a client has at most ``MAX_OF_CLIENT``.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json, to_json
from starlette.types import ASGIApp, Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..access import Client
from ..errors import ApiError, bad_request, unavailable
from .error_responses import refuse_socket

PATH = "/v1/responses"
#: OpenAI's bound on the life of a connection
MAX_SECONDS = 3600.0
#: connections of one client in this process
MAX_OF_CLIENT = 32
#: headers of the handshake that are not those of its requests
_OWN = frozenset(
    (
        *(b"connection", b"upgrade", b"content-type", b"content-length", b"content-encoding"),
        *(b"transfer-encoding", b"expect", b"x-request-id"),
    )
)
#: fields of the message that a request lacks
_ENVELOPE = ("type", "stream", "stream_id", "background")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ENDED = (b"response.completed", b"response.incomplete")


@dataclass(frozen=True, slots=True)
class _Kept:
    """A response that is not stored, and the items that stand for it."""

    number: str
    items: list[Any]


class ResponsesSocket:
    """See the file's header.

    Args:
        app: answers requests.
        identify: returns the client of a handshake; raises ApiError.
        most: connections of all clients.
        max_bytes: of the items that are kept.
    """

    def __init__(
        self,
        app: ASGIApp,
        identify: Callable[[WebSocket], Client],
        *,
        most: int,
        max_bytes: int,
    ) -> None:
        self._app = app
        self._identify = identify
        self._most = most
        self._max_bytes = max_bytes
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        """Number of connections."""
        return self._open.total()

    async def serve(self, socket: WebSocket) -> None:
        """Serve a connection, or refuse it."""
        try:
            with self._place(self._identify(socket).id):
                await socket.accept()
                with suppress(WebSocketDisconnect):
                    await self._bounded(socket)
        except ApiError as error:
            await refuse_socket(error, socket.send)

    async def _bounded(self, socket: WebSocket) -> None:
        try:
            async with asyncio.timeout(MAX_SECONDS):
                await self._serve(socket)
        except TimeoutError:
            await _send(socket, _error(_too_old()))
            await socket.close(1000)

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

    async def _serve(self, socket: WebSocket) -> None:
        kept: _Kept | None = None
        while True:
            message, continued = await socket.receive(), False
            if message["type"] == "websocket.disconnect":
                return
            try:
                body = _body(message)
                continued = kept is not None and body.get("previous_response_id") == kept.number
                if continued and kept is not None:
                    body["input"] = _continued(kept, body)
                    del body["previous_response_id"]
            except ApiError as error:
                kept = None if continued else kept
                await _send(socket, _error(error))
                continue
            ended = await _Request(self._app, socket, body).run()
            if ended is not None:
                kept = self._kept(body, ended)
            elif continued:
                kept = None

    def _kept(self, body: Mapping[str, Any], response: Mapping[str, Any]) -> _Kept | None:
        """Return a response that only this connection has."""
        if response["store"] or body.get("previous_response_id") or body.get("conversation"):
            return None
        items = [*_items(body), *response["output"]]
        if len(to_json(items)) > self._max_bytes:
            return None
        return _Kept(response["id"], items)


class _Request:
    """One request to the app, whose answer goes to the socket."""

    def __init__(self, app: ASGIApp, socket: WebSocket, body: Mapping[str, Any]) -> None:
        self._app = app
        self._socket = socket
        self._body: bytes | None = to_json({**body, "stream": True})
        self._size = len(self._body)
        self._status = 0
        self._arrived = bytearray()
        self._ended: dict[str, Any] | None = None
        self._is_left = asyncio.Event()

    async def run(self) -> dict[str, Any] | None:
        """Send the events; return the response, unless it has failed."""
        try:
            await self._app(self._scope(), self._receive, self._send)
        finally:
            self._is_left.set()
        if self._status != 200:
            error = from_json(bytes(self._arrived))["error"]
            await _send(self._socket, {"type": "error", "status": self._status, "error": error})
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
        """Return the body; then wait: the end of the connection fails the next event."""
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._is_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            return
        self._arrived += message.get("body", b"")
        if self._status != 200:
            return
        *events, rest = self._arrived.split(b"\n\n")
        self._arrived = bytearray(rest)
        for event in events:
            await self._pass_on(bytes(event))

    async def _pass_on(self, event: bytes) -> None:
        name, _, data = event.partition(b"\ndata: ")
        if not data:
            return  # a comment
        if name.removeprefix(b"event: ") in _ENDED:
            self._ended = from_json(data)["response"]
        try:
            await self._socket.send_text(data.decode())
        except (WebSocketDisconnect, RuntimeError):
            self._is_left.set()


def _body(message: Message) -> dict[str, Any]:
    """Return the request of a message. Raises ApiError 400."""
    text = message.get("text")
    try:
        body = from_json(text if text is not None else message.get("bytes") or b"")
    except ValueError:
        raise bad_request("The message is not JSON.", code="invalid_json") from None
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
    items, added = list(kept.items), _items(body)
    for number, item in enumerate(added):
        known = (each.get("call_id") for each in items if isinstance(each, dict))
        if isinstance(item, dict) and item.get("type") in _RESULTS:
            call_id = item.get("call_id")
            if call_id is not None and call_id not in known:
                raise bad_request(
                    f"No tool call found for the output with call_id '{str(call_id)[:100]}'.",
                    f"input[{number}].call_id",
                    "invalid_value",
                )
        items.append(item)
    return items


async def _send(socket: WebSocket, event: Mapping[str, Any]) -> None:
    with suppress(RuntimeError):  # the connection is closed
        await socket.send_text(to_json(event).decode())


def _error(error: ApiError) -> dict[str, Any]:
    return {"type": "error", "status": error.status, "error": error.body()["error"]}


def _too_old() -> ApiError:
    minutes = int(MAX_SECONDS // 60)
    return bad_request(
        f"A WebSocket lasts {minutes} minutes. Open a new one to go on.",
        code="websocket_connection_limit_reached",
    )
