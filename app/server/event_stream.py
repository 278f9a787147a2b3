"""Server-sent events: ``data: {json}`` and an empty line, ``data: [DONE]`` at the end.

During silence, comments keep the connection open: clients skip them, and proxies see traffic.

An EventStream owns its iterator. When the iterator ends, the response is complete; when the client
leaves or the server stops, the iterator is closed, and with it the work behind it. The iterator
must not raise: expected failures are events.

Not here   the contents of events (service), errors before the first byte (ordinary answers).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import aclosing, suppress
from typing import Any, Protocol, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ..concurrency import cancel

Result = TypeVar("Result")

#: a line that clients skip
COMMENT = b": keep-alive\n\n"

#: the content type of answers that stream
EVENT_STREAM = b"text/event-stream"

_HEADERS = {
    "content-type": f"{EVENT_STREAM.decode()}; charset=utf-8",
    "cache-control": "no-cache",
    # nginx must not collect events
    "x-accel-buffering": "no",
}


class Events(Protocol):
    """Encoded events that can be closed early."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


class Disconnected(Exception):
    """The client left before the answer was complete."""


class EventStream(Response):
    """A response of events; ``on_disconnect`` is called when the client leaves early, ``on_end``
    after the last event, before the client can know that there is no further one.

    ``comment_seconds``: seconds of silence after which ``comment`` is sent; 0: never.
    """

    def __init__(
        self,
        events: Events,
        *,
        headers: Mapping[str, str] | None = None,
        comment_seconds: float = 0,
        comment: bytes = COMMENT,
        on_disconnect: Callable[[], None] = lambda: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(headers={**(headers or {}), **_HEADERS})
        # the length is known only at the end
        del self.headers["content-length"]
        self._events = events
        self._comment_seconds = comment_seconds
        self._text = comment
        self._sent_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._comment: asyncio.Future[None] | None = None
        self._on_disconnect = on_disconnect
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            try:
                await run_until_disconnect(self._send_all(send), receive)
            except Disconnected:
                self._on_disconnect()

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        self._sent_at = loop.time()
        self._await_silence(loop, send, self._comment_seconds)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for data in self._events:
                self._sent_at = loop.time()
                await send({"type": "http.response.body", "body": data, "more_body": True})
            self._on_end()
            await self._end_comments()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            # some servers report a disconnect this way
            raise Disconnected from None
        finally:
            await self._end_comments()

    def _await_silence(self, loop: asyncio.AbstractEventLoop, send: Send, seconds: float) -> None:
        if seconds:
            self._timer = loop.call_later(seconds, self._on_time, loop, send)

    def _on_time(self, loop: asyncio.AbstractEventLoop, send: Send) -> None:
        """Send a comment after silence, unless the last one still waits for the client."""
        left = self._comment_seconds - (loop.time() - self._sent_at)
        if left <= 0:
            left = self._comment_seconds
            if self._comment is None or self._comment.done():
                self._sent_at = loop.time()
                self._comment = loop.create_task(self._send_comment(send))
        self._await_silence(loop, send, left)

    async def _send_comment(self, send: Send) -> None:
        with suppress(OSError):  # the next event meets it, too
            await send({"type": "http.response.body", "body": self._text, "more_body": True})

    async def _end_comments(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await cancel(self._comment)


async def run_until_disconnect(work: Coroutine[Any, Any, Result], receive: Receive) -> Result:
    """Return the coroutine's result. If the client leaves first, cancel it and raise Disconnected.

    The body must have been read: then the server sends no other message than the disconnect.

    The work runs in the caller's task. In a task of its own, its end would wait for five more turns
    of the event loop, and a turn of a busy loop takes tens of milliseconds.
    """
    task = asyncio.current_task()
    assert task is not None
    cancelling, has_left = task.cancelling(), False

    async def watch() -> None:
        nonlocal has_left
        while (await receive())["type"] != "http.disconnect":
            pass
        has_left = True
        task.cancel()

    watcher = asyncio.create_task(watch())
    try:
        return await work
    except asyncio.CancelledError:
        # another cancellation of the task comes first
        if has_left and task.cancelling() <= cancelling + 1:
            raise Disconnected from None
        raise
    finally:
        watcher.cancel()
        if has_left:
            task.uncancel()
