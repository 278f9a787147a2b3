"""POST /v1/chat/completions."""

from fastapi import APIRouter, Request, Response

from ..protocol.chat_request import ChatRequest
from ..service.served_models import ServedModels
from .answering import Answering
from .body import BodyReader


def chat_router(models: ServedModels, answering: Answering, bodies: BodyReader) -> APIRouter:
    """Return the route."""
    router = APIRouter()

    @router.post("/v1/chat/completions")
    async def create(request: Request) -> Response:
        ticket = await answering.begin(request)
        chat, size = await bodies.read(ChatRequest, request)
        model = models.find(chat.model)
        return await answering.answer(
            request,
            ticket,
            model,
            model.chat,
            chat,
            size=size,
            choices=chat.n or 1,
            is_stream=bool(chat.stream),
        )

    return router
