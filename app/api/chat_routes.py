"""POST /v1/chat/completions, and POST /v1/completions."""

from fastapi import APIRouter, Request, Response

from ..protocol.chat_request import ChatRequest
from ..protocol.completion_request import CompletionRequest
from ..service.served_models import ServedModels
from .answering import Answering
from .body import BodyReader


def chat_router(models: ServedModels, answering: Answering, bodies: BodyReader) -> APIRouter:
    """Return the route of chat completions."""
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


def completions_router(models: ServedModels, answering: Answering, bodies: BodyReader) -> APIRouter:
    """Return the route of text completions."""
    router = APIRouter()

    @router.post("/v1/completions")
    async def create(request: Request) -> Response:
        ticket = await answering.begin(request)
        asked, size = await bodies.read(CompletionRequest, request)
        model = models.find(asked.model)
        # before the wait for a turn, since it bounds the number of choices
        asked.check()
        return await answering.answer(
            request,
            ticket,
            model,
            model.completions,
            asked,
            size=size,
            choices=asked.choices,
            is_stream=bool(asked.stream),
        )

    return router
