"""uvicorn with limits on connections and error objects at the end of a shutdown."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from functools import partial
from math import ceil

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..settings import GatewaySettings, SettingError
from .chunked_answers import ChunkedAnswers
from .connection import Connection, ConnectionLimits
from .drain import Drain
from .proxies import listed
from .tls import make_tls
from .waiting_connections import WaitingConnections
from .web_socket import ArrivingMessages, WebSocketProtocol

#: seconds after the grace period in which cancelled requests send their errors; then uvicorn closes
#: the connections of clients that do not read
LAST_WORDS_S = 5
#: seconds between two looks at whether a drain is over
DRAIN_TICK_S = 0.05
#: paths that take WebSockets
SOCKETS = ("/v1/responses",)
#: longer than the usual 60 s of proxies, so that the proxy closes an idle connection first
KEEP_ALIVE_S = 75


class Startup:
    """An ASGI app that keeps the SettingError of its startup: uvicorn would log a traceback."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.error: SettingError | None = None

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        begun = self._begun if scope["type"] == "lifespan" else self._app
        return begun(scope, receive, send)

    async def _begun(self, scope: Scope, receive: Receive, send: Send) -> None:
        failed: list[Message] = []

        async def hold_failure(message: Message) -> None:
            if message["type"] == "lifespan.startup.failed":
                failed.append(message)
            else:
                await send(message)

        try:
            await self._app(scope, receive, hold_failure)
        except SettingError as error:
            self.error = error
            failed = [{"type": "lifespan.startup.failed", "message": ""}]
            raise
        finally:
            for message in failed:
                await send(message)


class Server(uvicorn.Server):
    """Drains before a shutdown, and ends requests with an error object when the grace period is
    over. The grace period begins with the signal, so it includes the drain.

    ``on_started`` is called in the event loop once the server accepts connections.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        startup: Startup,
        drain: Drain,
        *,
        drain_s: float,
        grace_s: float,
        on_started: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._startup = startup
        self._drain = drain
        self._drain_s = drain_s
        self._grace_s = grace_s
        self._on_started = on_started

    @property
    def setting_error(self) -> SettingError | None:
        """The unusable setting that ended startup, if any."""
        return self._startup.error

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        start = time.monotonic()
        if self._drain_s:
            await self._accept_while_draining(start)
        left = max(0.0, self._grace_s - (time.monotonic() - start))
        self.config.timeout_graceful_shutdown = ceil(left) + LAST_WORDS_S
        end = asyncio.get_running_loop().call_later(left, self._drain.end)
        await super().shutdown(sockets)
        end.cancel()

    async def _accept_while_draining(self, start: float) -> None:
        """Answer requests until load balancers have noticed and running requests are over. A second
        signal ends it.

        The socket stays open while requests run: a load balancer whose checks fail would take the
        gateway for dead and cut its streams.
        """
        self._drain.begin()
        while not self.force_exit:
            passed = time.monotonic() - start
            is_idle = not self._drain.running
            if passed >= self._drain_s and (is_idle or passed >= self._grace_s):
                return
            await asyncio.sleep(DRAIN_TICK_S)


def make_server(
    app: FastAPI, settings: GatewaySettings, *, on_started: Callable[[], None] = lambda: None
) -> Server:
    """Return the server of an app that ``create_app`` made; ``on_started``: see Server.

    Raises:
        SettingError: the files of TLS cannot be used.
    """
    limits = ConnectionLimits(
        connections=settings.max_connections,
        header_bytes=settings.max_header_bytes,
        header_s=settings.header_seconds,
        body_s=settings.body_seconds,
    )
    startup, tls, metrics = Startup(app), make_tls(settings), app.state.metrics
    config = uvicorn.Config(
        ChunkedAnswers(startup),
        # it would be looked for in vain: calls of these return coroutines of others
        interface="asgi3",
        loop="uvloop",
        host=settings.host,
        port=settings.port,
        http=partial(  # type: ignore[arg-type]
            Connection,
            limits=limits,
            on_refused=lambda code: metrics.connections_refused.labels(code).inc(),
            waiting=WaitingConnections(),
            sockets=SOCKETS,
        ),
        ws=partial(  # type: ignore[arg-type]
            WebSocketProtocol, arriving=ArrivingMessages(settings.max_arriving_bytes)
        ),
        ws_max_size=settings.largest_body_bytes,
        # a compressed message could take much more work than its bytes
        ws_per_message_deflate=False,
        ssl_context_factory=None if tls is None else lambda config, default: tls,
        # the parser refuses one byte more than this; see Connection
        h11_max_incomplete_event_size=settings.max_header_bytes - 1,
        log_config=None,
        # a log line for every bad request would let anyone fill the log; metrics count refusals
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        # never from the variable FORWARDED_ALLOW_IPS, or uvicorn's default, which is 127.0.0.1
        forwarded_allow_ips=listed(settings.trusted_proxies),
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=longest_shutdown_s(settings),
    )
    return Server(
        config,
        startup,
        app.state.drain,
        drain_s=settings.drain_seconds,
        grace_s=settings.shutdown_seconds,
        on_started=on_started,
    )


def longest_shutdown_s(settings: GatewaySettings) -> int:
    """Return the seconds after which no connection is left."""
    return ceil(max(settings.shutdown_seconds, settings.drain_seconds)) + LAST_WORDS_S
