"""Writers of the body of an answer that is pushed: a source calls ``write`` for each event.

TransportWriter   frames a chunk of HTTP/1.1 and gives it to the client's transport: no coroutine,
                  and no parser's state, takes part. The connection makes one, and routes find it in
                  the state of their scope.
AsgiWriter        sends messages of ASGI: to clients of HTTP/1.0, under HEAD, to WebSockets, and on
                  other servers.

The first and the last message of an answer go through ASGI in any case, so the server knows when
it begins and ends. TransportWriter holds a head until the next round of the event loop, and what
is written meanwhile: each write takes 9 us of the kernel, and an answer that has its first events
needed two to four.

Invariants   I1 ``write`` never waits. A source that may not go on is paused: of a client that does
                not read, the transport's mark (64 KiB) or MAX_WAITING_BYTES may wait, and what the
                source has under way.
             I2 ``write`` does nothing once the client has left, while its connection closes, and
                outside of ``write_all``.
Threads      the event loop only.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from starlette.types import Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl

from adapters.text_path import ChunkedBody

from ..concurrency import cancel

#: where a scope's state has the connection's TransportWriter
BODY_WRITER = "body_writer"
#: bytes that wait for one message of ASGI until the source is paused
MAX_WAITING_BYTES = 64 << 10
#: bytes that are held with a head; more are written, so that the transport can pause the source
MAX_HELD_BYTES = 16 << 10


class Events(Protocol):
    """Encoded events that are written as they come about, and can be ended early.

    ``send_to`` writes whole events only, and returns after the last; ``pause`` asks it to write no
    more for now.
    """

    async def send_to(self, write: Callable[[bytes], None]) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    async def aclose(self) -> None: ...


class BodyWriter(Protocol):
    """Writes all events of a source.

    ``has_written``: set by every write, for an observer to clear. ``is_full``: whether bytes wait
    for the client.
    """

    has_written: bool

    @property
    def is_full(self) -> bool: ...
    def write(self, data: bytes) -> None: ...
    async def write_all(self, events: Events) -> None: ...


class TransportWriter(ChunkedBody):
    """Writes the bodies of one connection's answers, one after the other, in chunks, and tells when
    the client leaves.

    It must not refer to the connection: the scope has it, and the connection has the scope.
    """

    def __init__(self, transport: asyncio.Transport, flow: FlowControl) -> None:
        super().__init__(transport)
        self._held: bytearray | None = None
        self._flow = flow
        self.source: Events | None = None
        self._has_left = False
        self._on_leave: Callable[[], object] | None = None

    @property
    def is_full(self) -> bool:
        return self._flow.write_paused

    async def write_all(self, events: Events) -> None:
        if not self._has_left:
            self.source = events
            if self.is_full:
                events.pause()
        try:
            await events.send_to(self)
        except BaseException:
            # the connection may close at once
            self.flush()
            raise
        finally:
            self.source = None

    def hold(self, head: bytes) -> None:
        """Keep a head and later bytes until the next round of the event loop."""
        self._held, self.put = bytearray(head), self._add
        asyncio.get_running_loop().call_soon(self.flush)

    def _add(self, data: bytes) -> None:
        if self._held is None or len(self._held) + len(data) > MAX_HELD_BYTES:
            self.flush(data)
        else:
            self._held += data

    def flush(self, data: bytes = b"") -> None:
        """Write what is held, and more framed bytes."""
        held, self._held, self.put = self._held, None, self.transport.write
        whole = data if held is None else held + data
        if whole and not self.transport.is_closing():
            self.transport.write(whole)

    def pause(self) -> None:
        """Note that the transport takes no more for now."""
        if self.source is not None:
            self.source.pause()

    def resume(self) -> None:
        """Note that the transport has room again."""
        if self.source is not None:
            self.source.resume()

    def leave(self) -> None:
        """Note that the client has left, or has got another answer."""
        self.flush()
        self._has_left, self.source = True, None
        self._call()

    def watch(self, on_leave: Callable[[], object]) -> None:
        """Call ``on_leave`` once when the client leaves, or soon if it has left.

        ``unwatch`` ends it. The request's body must have been read.
        """
        self._on_leave = on_leave
        # the end of a connection that is not read would not be seen
        self._flow.resume_reading()
        if self._has_left:
            asyncio.get_running_loop().call_soon(self._call)

    def unwatch(self) -> None:
        self._on_leave = None

    def _call(self) -> None:
        on_leave, self._on_leave = self._on_leave, None
        if on_leave is not None:
            on_leave()


class AsgiWriter:
    """Writes one body through ``send``, and joins what has waited for it into one message."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._events: Events | None = None
        self._waiting: list[bytes] = []
        self._size = 0
        self._is_sending = self._is_paused = False
        self._wakes = asyncio.Event()
        self.has_written = False

    @property
    def is_full(self) -> bool:
        return self._is_sending or bool(self._waiting)

    def write(self, data: bytes) -> None:
        if self._events is None or not data:
            return
        self.has_written = True
        self._waiting.append(data)
        self._size += len(data)
        self._wakes.set()
        if self._size > MAX_WAITING_BYTES and not self._is_paused:
            self._is_paused = True
            self._events.pause()

    async def write_all(self, events: Events) -> None:
        """Write all events. Raises OSError: ``send`` did, and ``send_to`` is cancelled."""
        self._events = events
        work = asyncio.create_task(events.send_to(self.write))
        work.add_done_callback(lambda _: self._wakes.set())
        try:
            while self._waiting or not work.done():
                if self._waiting:
                    await self._send_waiting(events)
                else:
                    self._wakes.clear()
                    await self._wakes.wait()
            work.result()
        finally:
            self._events = None
            await cancel(work)

    async def _send_waiting(self, events: Events) -> None:
        data = b"".join(self._waiting)
        self._waiting, self._size, self._is_sending = [], 0, True
        await self._send({"type": "http.response.body", "body": data, "more_body": True})
        self._is_sending = False
        if self._is_paused and self._size <= MAX_WAITING_BYTES:
            self._is_paused = False
            events.resume()


def transport_writer(scope: Scope) -> TransportWriter | None:
    """Return the writer of a request's connection; None: another server has it."""
    made: TransportWriter | None = scope.get("state", {}).get(BODY_WRITER)
    return made


def body_writer(scope: Scope, send: Send) -> BodyWriter:
    """Return the writer for the body of a request's answer, which has no known length."""
    made = transport_writer(scope)
    # HTTP/1.0 knows no chunks, and an answer to HEAD has no body
    if made is None or scope["http_version"] != "1.1" or scope["method"] == "HEAD":
        return AsgiWriter(send)
    return made
