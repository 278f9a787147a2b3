"""Pushed sources, and apps behind our connections."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from app.server.chunked_answers import ChunkedAnswers
from app.server.connection import Connection, ConnectionLimits
from app.server.event_stream import EventStream
from app.server.waiting_connections import WaitingConnections
from tests.waiting import PATIENCE

LIMITS = ConnectionLimits(connections=9, header_bytes=4096, header_s=PATIENCE, body_s=PATIENCE)
REQUEST = b"POST / HTTP/1.1\r\nhost: g\r\ncontent-length: 0\r\n\r\n"
CLOSING = REQUEST.replace(b"host: g", b"host: g\r\nconnection: close")
END = b"0\r\n\r\n"

Write = Callable[[bytes], None]


class Source:
    """A pushed source; ``script`` writes its events. Remembers what is done with it."""

    def __init__(self, script: Callable[["Source", Write], Awaitable[None]]) -> None:
        self._script = script
        self.done: list[str] = []
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.write: Write = lambda data: None

    async def send_to(self, write: Write) -> None:
        self.write = write
        try:
            await self._script(self, write)
        except asyncio.CancelledError:
            self.done.append("cancelled")
            raise

    def pause(self) -> None:
        self.done.append("paused")
        self.may_go_on.clear()

    def resume(self) -> None:
        self.done.append("resumed")
        self.may_go_on.set()

    async def aclose(self) -> None:
        self.done.append("closed")


def events(*data: bytes, then_wait: bool = False) -> Source:
    """A source of these events, which ends or waits for ever."""

    async def script(source: Source, write: Write) -> None:
        for each in data:
            await asyncio.sleep(0)
            write(each)
        if then_wait:
            await asyncio.Event().wait()

    return Source(script)


def streams(*sources: Source, **options: Any) -> ASGIApp:
    """An app that answers each request with the next source."""
    left = list(sources)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await EventStream(left.pop(0), **options)(scope, receive, send)

    return app


@asynccontextmanager
async def served(
    app: ASGIApp, around: Callable[[ASGIApp], ASGIApp] = ChunkedAnswers
) -> AsyncIterator[tuple[tuple[str, int], list[Connection]]]:
    """The address of an app behind our connections, and these connections.

    ``around``: what the server puts around the app.
    """
    config = uvicorn.Config(app, log_config=None, log_level="critical", server_header=False)
    config.load()
    config.loaded_app = around(app)
    state, made = ServerState(), list[Connection]()
    connection = partial(
        Connection,
        limits=LIMITS,
        on_refused=lambda code: None,
        waiting=WaitingConnections(),
        config=config,
        server_state=state,
        app_state={},
    )

    def make() -> Connection:
        made.append(connection())
        return made[-1]

    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    async with server:
        try:
            yield server.sockets[0].getsockname()[:2], made
        finally:
            for each in made:
                each.transport.abort()
            if state.tasks:
                await asyncio.wait(state.tasks)


async def answer(
    app: ASGIApp, sent: bytes, around: Callable[[ASGIApp], ASGIApp] = ChunkedAnswers
) -> bytes:
    """All that comes back until the connection is closed."""
    async with served(app, around) as (address, _), asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*address)
        writer.write(sent)
        data = await reader.read()
        writer.close()
        return data
