"""Server-sent events: ``data: {json}`` and an empty line, ``data: [DONE]`` at the end.

An EventStream owns its source of events. When the source ends, the response is complete; when the
client leaves or the server stops, the source is closed, and with it the work behind it. The source
must not raise: expected failures are events.

Not here   the contents of events (service), errors before the first byte (ordinary answers), the
           way to the client (body_writers), comments in silence (comments).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .body_writers import Events, body_writer, transport_writer
from .comments import Comments

Result = TypeVar("Result")

#: a line that clients skip
COMMENT = b": keep-alive\n\n"

#: the content type of answers that stream
EVENT_STREAM = b"text/event-stream"

_HEADERS = (
    (b"content-type", EVENT_STREAM + b"; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # nginx must not collect events
    (b"x-accel-buffering", b"no"),
)


class Iterated(Protocol):
    """Events to be iterated once, which can be closed early."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


class Pulled:
    """Iterated events as a source that is paused between two of them."""

    def __init__(self, events: Iterated) -> None:
        self._events = events
        self._may_go_on = asyncio.Event()
        self._may_go_on.set()

    async def send_to(self, write: Callable[[bytes], None]) -> None:
        async for data in self._events:
            write(data)
            await self._may_go_on.wait()

    def pause(self) -> None:
        self._may_go_on.clear()

    def resume(self) -> None:
        self._may_go_on.set()

    async def aclose(self) -> None:
        await self._events.aclose()


class Disconnected(Exception):
    """The client left before the answer was complete."""


class EventStream(Response):
    """A response of events; ``on_disconnect`` is called when the client leaves early, ``on_end``
    after the last event, before the client can know that there is no further one.

    ``comments`` writes ``comment`` in silence; None: there are none.
    """

    def __init__(
        self,
        events: Events,
        *,
        headers: Mapping[str, str] | None = None,
        comments: Comments | None = None,
        comment: bytes = COMMENT,
        on_disconnect: Callable[[], None] = lambda: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(headers=headers)
        self._events = events
        self._comments = comments or Comments(0)
        self._comment = comment
        self._on_disconnect = on_disconnect
        self._on_end = on_end

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Set the headers: no length, which is known only at the end."""
        given = {} if headers is None else headers
        self.raw_headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in given.items()
        ]
        self.raw_headers += _HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await run_until_disconnect(self._send_all(scope, send), receive, scope)
        except Disconnected:
            self._on_disconnect()
        finally:
            await self._events.aclose()

    async def _send_all(self, scope: Scope, send: Send) -> None:
        writer = body_writer(scope, send)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            with self._comments.within(writer, self._comment):
                await writer.write_all(self._events)
            self._on_end()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            # some servers report a disconnect this way
            raise Disconnected from None


async def run_until_disconnect(
    work: Coroutine[Any, Any, Result], receive: Receive, scope: Scope | None = None
) -> Result:
    """Return the coroutine's result. If the client leaves first, cancel it and raise Disconnected.

    The connection of the scope tells when the client leaves: a task that receives takes 20 us of
    CPU. Other servers and WebSockets have no such connection, so a task receives. The body must
    have been read: then the server sends no other message than the disconnect.

    The work runs in the caller's task. In a task of its own, its end would wait for five more turns
    of the event loop, and a turn of a busy loop takes tens of milliseconds.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelling, has_left = task.cancelling(), False

    def leave() -> None:
        nonlocal has_left
        # the task itself calls it when it ends an answer and the request behind that is refused
        if asyncio.current_task() is not task:
            has_left = True
            task.cancel()

    connection = None if scope is None else transport_writer(scope)
    if connection is None:
        end: Callable[[], object] = asyncio.create_task(_watch(receive, leave)).cancel
    else:
        connection.watch(leave)
        end = connection.unwatch
    try:
        return await work
    except asyncio.CancelledError:
        # another cancellation of the task comes first
        if has_left and task.cancelling() <= cancelling + 1:
            raise Disconnected from None
        raise
    finally:
        end()
        if has_left:
            task.uncancel()


async def _watch(receive: Receive, on_leave: Callable[[], object]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    on_leave()
