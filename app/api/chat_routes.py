"""POST /v1/chat/completions, and POST /v1/completions."""

from typing import Any, Protocol, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..errors import client_left
from ..observability.metrics import Metrics
from ..protocol.chat_request import ChatRequest
from ..protocol.completion_request import CompletionRequest
from ..server.event_stream import Disconnected, EventStream, run_until_disconnect
from ..service.chat_service import ChatService
from ..service.completion_service import CompletionService
from ..service.generation_service import AnswerStream, Completion
from .body import BodyReader

Asked = TypeVar("Asked", ChatRequest, CompletionRequest)


class _Service(Protocol):
    """A service that answers one kind of request, whole or as a stream."""

    async def complete(
        self, request: Any, request_id: str, client: str = "", *, size: int = 0
    ) -> Completion: ...

    async def stream(
        self, request: Any, request_id: str, client: str = "", *, size: int = 0
    ) -> AnswerStream: ...


def chat_router(
    service: ChatService, metrics: Metrics, bodies: BodyReader, *, comment_seconds: float
) -> APIRouter:
    """Return the route of chat completions. ``comment_seconds``: see EventStream."""
    return _router("/v1/chat/completions", ChatRequest, service, metrics, bodies, comment_seconds)


def completions_router(
    service: CompletionService, metrics: Metrics, bodies: BodyReader, *, comment_seconds: float
) -> APIRouter:
    """Return the route of text completions. ``comment_seconds``: see EventStream."""
    return _router("/v1/completions", CompletionRequest, service, metrics, bodies, comment_seconds)


def _router(
    path: str,
    kind: type[Asked],
    service: _Service,
    metrics: Metrics,
    bodies: BodyReader,
    comment_seconds: float,
) -> APIRouter:
    router = APIRouter()

    @router.post(path)
    async def create(request: Request) -> Response:
        asked, size = await bodies.read(kind, request)
        request_id: str = request.state.request_id
        client: str = request.state.client
        try:
            if asked.stream:
                stream = await run_until_disconnect(
                    service.stream(asked, request_id, client, size=size), request.receive
                )
                return EventStream(
                    stream,
                    headers=stream.headers,
                    comment_seconds=comment_seconds,
                    on_disconnect=metrics.disconnects.inc,
                )
            answer = await run_until_disconnect(
                service.complete(asked, request_id, client, size=size), request.receive
            )
            return JSONResponse(answer.body, headers=answer.headers)
        except Disconnected:
            metrics.disconnects.inc()
            raise client_left() from None

    return router
