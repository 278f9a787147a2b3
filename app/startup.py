"""Startup of the app under a server that logs every failure of it as a traceback."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .settings import SettingError


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
