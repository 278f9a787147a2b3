"""POST /v1/chat/completions."""

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..errors import client_left
from ..observability.metrics import Metrics
from ..protocol.chat_request import ChatRequest
from ..server.event_stream import Disconnected, EventStream, run_until_disconnect
from ..service.served_models import ServedModels
from .body import BodyReader


def chat_router(
    models: ServedModels, metrics: Metrics, bodies: BodyReader, *, comment_seconds: float
) -> APIRouter:
    """Return the route. ``comment_seconds``: see EventStream."""
    router = APIRouter()

    @router.post("/v1/chat/completions")
    async def create(request: Request) -> Response:
        chat, size = await bodies.read(ChatRequest, request)
        request_id: str = request.state.request_id
        client: str = request.state.client
        model = models.find(chat.model)
        # for the log line of the request
        structlog.contextvars.bind_contextvars(model=model.name)
        try:
            if chat.stream:
                stream = await run_until_disconnect(
                    model.chat.stream(chat, request_id, client, size=size), request.receive
                )
                return EventStream(
                    stream,
                    headers=stream.headers,
                    comment_seconds=comment_seconds,
                    on_disconnect=metrics.disconnects.inc,
                )
            answer = await run_until_disconnect(
                model.chat.complete(chat, request_id, client, size=size), request.receive
            )
            return JSONResponse(answer.body, headers=answer.headers)
        except Disconnected:
            metrics.disconnects.inc()
            raise client_left() from None

    return router
