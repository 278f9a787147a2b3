"""POST /v1/chat/completions."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..errors import client_left
from ..observability.metrics import Metrics
from ..protocol.chat_request import ChatRequest
from ..server.event_stream import Disconnected, EventStream, run_until_disconnect
from ..service.chat_service import ChatService
from .body import BodyReader


def chat_router(
    service: ChatService, metrics: Metrics, bodies: BodyReader, *, comment_seconds: float
) -> APIRouter:
    """Return the route. ``comment_seconds``: see EventStream."""
    router = APIRouter()

    @router.post("/v1/chat/completions")
    async def create(request: Request) -> Response:
        chat, size = await bodies.read(ChatRequest, request)
        request_id: str = request.state.request_id
        client: str = request.state.client
        try:
            if chat.stream:
                stream = await run_until_disconnect(
                    service.stream(chat, request_id, client, size=size), request.receive
                )
                # for the end of a shutdown, see RequestMiddleware
                request.state.failed = stream.failed
                return EventStream(
                    stream,
                    headers=stream.headers,
                    comment_seconds=comment_seconds,
                    on_disconnect=metrics.disconnects.inc,
                )
            answer = await run_until_disconnect(
                service.complete(chat, request_id, client, size=size), request.receive
            )
            return JSONResponse(answer.body, headers=answer.headers)
        except Disconnected:
            metrics.disconnects.inc()
            raise client_left() from None

    return router
