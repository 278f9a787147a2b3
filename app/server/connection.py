"""One client's HTTP connection with limits, which uvicorn's protocol lacks.

    connections      beyond the limit, one that waits for its client gives way
                     (waiting_connections); if none waits, the new one gets 503
    header bytes     of one request, its first line included; more: 431
    headers          must arrive within a time, else 408; no answer if no byte came
    body             must arrive within a time, which the app checks and answers with 408; here the
                     connection closes soon after. Once a request is answered, the rest of its body
                     may take LINGER_S.
    answer           a client that does not read for WRITE_S is disconnected, also while a closing
                     connection waits for it to read the rest

Every refusal is an error object. After it the client's bytes are read and dropped for a moment: a
connection that closes with unread bytes is reset, and the client may never see its answer.
"""

import asyncio
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import ApiError, bad_request, unavailable
from .body_writers import BODY_WRITER, TransportWriter
from .waiting_connections import WaitingConnections

#: seconds that a refused client has to stop sending
LINGER_S = 1.0
#: seconds in which a client must read some 48 KiB of a waiting answer; its generation is paused
#: meanwhile and occupies the worker
WRITE_S = 60.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits: number of connections; bytes of a request's headers; seconds until parts arrive."""

    connections: int
    header_bytes: int
    header_s: float
    body_s: float


class Connection(H11Protocol):
    """See the file's header.

    ``on_refused`` is called with the error code of each refusal. ``waiting``: the connections of
    the server that wait for their clients. ``sockets``: paths that take WebSockets.
    """

    # with more than 30 attributes in its dict, each connection would have a table of names of its
    # own: 1.2 KB
    __slots__ = (
        "_awaited",
        "_limits",
        "_on_refused",
        "_refused",
        "_sockets",
        "_timer",
        "_waiting",
        "_writer",
        "_writing",
    )

    def __init__(
        self,
        *,
        limits: ConnectionLimits,
        on_refused: Callable[[str], None],
        waiting: "WaitingConnections[Connection]",
        sockets: Collection[str] = (),
        **uvicorns: Any,
    ) -> None:
        super().__init__(**uvicorns)
        self._limits = limits
        self._waiting = waiting
        self._sockets = sockets
        self._on_refused = on_refused
        self._refused = False
        #: the awaited part, its request, and the timer of its deadline
        self._awaited: tuple[str, object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._writer = TransportWriter(transport, self.flow)
        # uvicorn copies it into the scope of each request
        self.app_state = {**self.app_state, BODY_WRITER: self._writer}
        if len(self.connections) > self._limits.connections:
            other = self._waiting.first()
            if other is None:
                self._refuse(self._too_many())
                return
            other.give_way()
        self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._writer.leave()
        self._await_nothing()
        if self._writing is not None:
            self._writing.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        while data and not self._refused:
            size = len(data)
            if self.conn.their_state is h11.IDLE:
                # no more than the limit, or headers in one piece would exceed it
                size = max(1, self._limits.header_bytes - len(self.conn.trailing_data[0]))
            super().data_received(data[:size])
            data = data[size:]
        self._set_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_deadline()

    def give_way(self) -> None:
        """End a connection that waits, at once, because another client has connected."""
        is_between_requests = self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]
        if not is_between_requests and not self.transport.is_closing():
            self._refuse(self._too_many())
            return
        self._on_refused(self._too_many().code or "")
        self._refused = True
        self._await_nothing()
        self.connections.discard(self)
        if self.transport.get_write_buffer_size():
            # closing would wait until the client reads
            self.transport.abort()
        else:
            self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._set_deadline()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._writer.pause()
        self._writing = self.loop.call_later(WRITE_S, self.transport.abort)

    def resume_writing(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
        super().resume_writing()
        self._writer.resume()

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not HTTP, or too many of them. Called by uvicorn."""
        most = self._limits.header_bytes
        if len(self.conn.trailing_data[0]) >= most:
            message = f"Request headers too large: at most {most:,} bytes are allowed."
            self._refuse(ApiError(431, message, code="headers_too_large"))
        else:
            self._refuse(bad_request(msg, code="invalid_http"))

    def _should_upgrade_to_ws(self) -> bool:
        """Whether a request that asks for a WebSocket gets one."""
        is_socket = self.scope is not None and self.scope["path"].rstrip("/") in self._sockets
        return is_socket and super()._should_upgrade_to_ws()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over to another protocol, with a deadline of its own."""
        self._refused = True
        self._await_nothing()
        super().handle_websocket_upgrade(event)

    # -- deadlines ---------------------------------------------------------------------------------
    def _set_deadline(self) -> None:
        """Start a timer unless one runs for the same part of the same request."""
        if self._refused:
            return
        part, seconds = self._awaited_part()
        if not part:
            self._await_nothing()
        elif (part, self.cycle) != self._awaited:
            self._await_nothing()
            self._awaited = (part, self.cycle)
            self._waiting.add(self._address, self)
            if seconds is not None:
                self._timer = self.loop.call_later(seconds, self._on_deadline)

    def _awaited_part(self) -> tuple[str, float | None]:
        """Return what the client must do, "" for nothing, and the seconds that it has for it."""
        state = self.conn.their_state
        if self.transport.is_closing():
            return "read the rest", WRITE_S
        if state is h11.SEND_BODY:
            if self.cycle.response_complete:
                return "send the rest", LINGER_S
            return "send a body", self._limits.body_s + LINGER_S
        if state is not h11.IDLE:
            return "", None
        # uvicorn's timer covers a request behind an answer, not one behind a body's late rest
        if self.timeout_keep_alive_task is None or self.conn.trailing_data[0]:
            return "send headers", self._limits.header_s
        return "send a request", None

    def _await_nothing(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._awaited = None
        self._waiting.discard(self._address, self)

    def _on_deadline(self) -> None:
        if self.transport.is_closing():
            self.transport.abort()
        elif self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            seconds = self._limits.header_s
            message = f"The request's headers did not arrive within {seconds:g} seconds."
            self._refuse(ApiError(408, message, code="request_timeout"))
        else:
            self.transport.close()
            self._set_deadline()

    # -- refusals ----------------------------------------------------------------------------------
    @property
    def _address(self) -> str:
        return "" if self.client is None else self.client[0]

    def _too_many(self) -> ApiError:
        most = self._limits.connections
        message = f"Too many open connections: at most {most:,} are allowed."
        return unavailable(message, "too_many_connections")

    def _refuse(self, error: ApiError) -> None:
        self._refused = True
        self._on_refused(error.code or "")
        self._await_nothing()
        self._unset_keepalive_if_required()
        # no longer counted: it closes within LINGER_S
        self.connections.discard(self)
        running = self.cycle is not None and not self.cycle.response_complete
        if not (running and self.cycle.response_started):
            self.transport.write(_answer(error))
        self._writer.leave()
        if running:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._timer = self.loop.call_later(LINGER_S, self.transport.abort)


def _answer(error: ApiError) -> bytes:
    """Return the error as a whole HTTP response."""
    body = json.dumps(error.body()).encode()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **error.headers,
    }
    lines = [f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
