"""Heads and ends of answers in chunks, written without h11, which copies each header three times.

h11 learns only that an answer begins and ends: it gets one of no bytes, made in advance. The bytes
are those that h11 would write. A head takes 10 us of CPU in place of 45, an end 5 in place of 15.

Invariants   I1 whatever could change the framing or the connection is left to h11: other versions,
                statuses and methods, a request or an answer that names the connection's end, and
                headers with unusual bytes, which h11 may refuse.
Not here     the events in between (body_writers).
"""

import re
from collections.abc import Awaitable
from typing import Final

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import RequestResponseCycle

from .body_writers import TransportWriter, transport_writer

#: this status has no body, so h11 need not look for its length
_EMPTY: Final = h11.Response(status_code=204, headers=[])
_END: Final = h11.EndOfMessage()
#: lines of headers, none of which says how the body or the connection ends
_PLAIN: Final = re.compile(
    rb"(?:(?!(?i:connection|content-length|transfer-encoding|host):)"
    rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+: [!-~](?:[ -~]*[!-~])?\r\n)+"
)


class ChunkedAnswers:
    """An ASGI app around another one; see the file's header."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        cycle = getattr(send, "__self__", None)
        writer = transport_writer(scope)
        if isinstance(cycle, RequestResponseCycle) and writer is not None and _is_plain(scope):
            send = _Answer(cycle, writer).send
        return self._app(scope, receive, send)


def _is_plain(scope: Scope) -> bool:
    """Whether an answer in chunks may follow, and another request after it."""
    if scope["http_version"] != "1.1" or scope["method"] not in ("POST", "GET"):
        return False
    return all(
        name != b"upgrade" and (name != b"connection" or value.lower() == b"keep-alive")
        for name, value in scope["headers"]
    )


class _Answer:
    """One answer of a cycle. uvicorn sends all but the head, parts and end of a plain one."""

    def __init__(self, cycle: RequestResponseCycle, writer: TransportWriter) -> None:
        self._cycle = cycle
        self._writer = writer
        self._has_begun = False

    async def send(self, message: Message) -> None:
        cycle = self._cycle
        head = b"" if cycle.response_started else _head(cycle, message)
        is_part = self._has_begun and message["type"] == "http.response.body"
        if cycle.response_complete or not (head or is_part):
            # also a second head, which uvicorn refuses
            await cycle.send(message)  # type: ignore[arg-type]
            return
        if cycle.flow.write_paused and not cycle.disconnected:
            await cycle.flow.drain()
        if cycle.disconnected:
            return
        if is_part:
            self._write(message.get("body", b""), is_last=not message.get("more_body", False))
            return
        self._has_begun = cycle.response_started = True
        cycle.waiting_for_100_continue = False
        cycle.conn.send(_EMPTY)
        self._writer.hold(head)

    def _write(self, body: bytes, *, is_last: bool) -> None:
        cycle = self._cycle
        data = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        if not is_last:
            self._writer.flush(data)
            return
        self._writer.flush(data + b"0\r\n\r\n")
        cycle.response_complete = True
        cycle.message_event.set()
        cycle.conn.send(_END)
        if not cycle.keep_alive:
            cycle.conn.send(h11.ConnectionClosed())
            cycle.transport.close()
        cycle.on_response()


def _head(cycle: RequestResponseCycle, message: Message) -> bytes:
    """Return the head of a plain answer in chunks; empty: it is another one."""
    if message["type"] != "http.response.start" or message["status"] != 200:
        return b""
    headers = [*cycle.default_headers, *message.get("headers", [])]
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    # a value with a line end would be a header more
    if lines.count(b"\r\n") != len(headers) or _PLAIN.fullmatch(lines) is None:
        return b""
    return b"HTTP/1.1 200 OK\r\n%bTransfer-Encoding: chunked\r\n\r\n" % lines
