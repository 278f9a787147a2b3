"""``switchyard serve``: the gateway, until SIGINT or SIGTERM."""

import logging
import socket
import sys

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..logging import Forward, make_logger
from ..main import create_app
from ..settings import SettingError, Settings
from .settings import Unusable


class Startup:
    """An ASGI app that keeps the SettingError its startup fails with, which the server would log
    as a traceback.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.error: SettingError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
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


def serve(settings: Settings) -> int:
    """Returns the exit status. Raises Unusable."""
    _check_host(settings)
    logger = make_logger(settings.log_level, sys.stdout)
    logging.basicConfig(handlers=[Forward(logger)], level=logging.WARNING)
    app = Startup(create_app(settings, logger=logger))
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            # longer than the 60 s that a proxy usually keeps an idle connection: the proxy closes
            # first
            timeout_keep_alive=75,
            timeout_graceful_shutdown=int(settings.shutdown_seconds),
        )
    )
    try:
        server.run()
    except SystemExit:
        # the server's way to say that startup failed
        if app.error is None:
            raise
    if app.error is not None:
        raise Unusable(str(app.error))
    return 0 if server.started else 1


def _check_host(settings: Settings) -> None:
    """Raises Unusable: the address to listen on is not one of this machine's names."""
    try:
        socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
    except OSError as error:
        reason = f"cannot listen on {settings.host!r}: {error.strerror}"
        raise Unusable(f"SWITCHYARD_HOST: {reason}") from None
