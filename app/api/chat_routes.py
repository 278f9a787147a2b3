"""POST /v1/chat/completions, and POST /v1/completions."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..errors import client_left
from ..observability.metrics import Metrics
from ..protocol.chat_request import ChatRequest
from ..protocol.completion_request import CompletionRequest
from ..server.event_stream import Disconnected, EventStream, run_until_disconnect
from ..service.generation_service import AnswerStream, Completion
from ..service.served_models import ServedModel, ServedModels
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
    models: ServedModels, metrics: Metrics, bodies: BodyReader, *, comment_seconds: float
) -> APIRouter:
    """Return the route of chat completions. ``comment_seconds``: see EventStream."""

    def chat(model: ServedModel) -> _Service:
        return model.chat

    path = "/v1/chat/completions"
    return _router(path, ChatRequest, models, chat, metrics, bodies, comment_seconds)


def completions_router(
    models: ServedModels, metrics: Metrics, bodies: BodyReader, *, comment_seconds: float
) -> APIRouter:
    """Return the route of text completions. ``comment_seconds``: see EventStream."""

    def completions(model: ServedModel) -> _Service:
        return model.completions

    path = "/v1/completions"
    return _router(path, CompletionRequest, models, completions, metrics, bodies, comment_seconds)


def _router(
    path: str,
    kind: type[Asked],
    models: ServedModels,
    service_of: Callable[[ServedModel], _Service],
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
        model = models.find(asked.model)
        service = service_of(model)
        # for the log line of the request
        structlog.contextvars.bind_contextvars(model=model.name)
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
