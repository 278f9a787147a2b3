"""Server-sent events: ``data: {json}`` and an empty line, ``data: [DONE]`` at the end.

While the iterator is silent, comments keep the connection open: clients skip them, and proxies see
that the answer is alive.

An EventStream owns the iterator it sends. Whoever ends first ends the other: when the iterator is
through, the response is complete; when the client leaves, or the server stops, the iterator is
closed, and with it the work behind it. What the iterator raises is the caller's bug: everything
expected must come as an event.
Not here         what the events say (service), and errors before the first byte: those are ordinary
                 answers.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, Protocol, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

Result = TypeVar("Result")

DONE = b"data: [DONE]\n\n"
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
    """Encoded events, and a way to stop making them."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...
    async def aclose(self) -> None: ...


class Disconnected(Exception):
    """The client left before it had its answer."""


def event(value: dict[str, Any]) -> bytes:
    """One event. JSON escapes line ends, so that an event is always one line."""
    return (
        b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"
    )


class EventStream(Response):
    """Sends what ``events`` yields as it comes; ``on_disconnect``: the client left early.

    ``comment_seconds``: after so long without an event a comment is sent; 0: never.
    """

    def __init__(
        self,
        events: Events,
        *,
        headers: Mapping[str, str] | None = None,
        comment_seconds: float = 0,
        on_disconnect: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(headers={**(headers or {}), **_HEADERS})
        # a stream's length is known at its end only
        del self.headers["content-length"]
        self._events = events
        self._comment_seconds = comment_seconds
        self._sent_at = 0.0
        self._on_disconnect = on_disconnect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            try:
                await run_until_disconnect(self._send_all(send), receive)
            except Disconnected:
                self._on_disconnect()

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        self._sent_at = loop.time()
        comments = loop.create_task(self._comment(send))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for data in self._events:
                self._sent_at = loop.time()
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await cancel(comments)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:
            # some servers tell a disconnect this way
            raise Disconnected from None
        finally:
            await cancel(comments)

    async def _comment(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        while self._comment_seconds:
            silent = loop.time() - self._sent_at
            if silent < self._comment_seconds:
                await asyncio.sleep(self._comment_seconds - silent)
                continue
            self._sent_at = loop.time()
            await send({"type": "http.response.body", "body": COMMENT, "more_body": True})


async def run_until_disconnect(work: Coroutine[Any, Any, Result], receive: Receive) -> Result:
    """The coroutine's result; when the client leaves first, cancels it and raises Disconnected.

    The body must have been read: from then on the server has nothing to say but "disconnected".
    """
    task = asyncio.ensure_future(work)
    watch = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Disconnected
        return task.result()
    finally:
        await cancel(watch, task)


async def cancel(*tasks: "asyncio.Future[Any]") -> None:
    """Cancels tasks and waits until they are really over; how they ended no longer matters."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
