"""POST /v1/chat/completions, and POST /v1/completions."""

from fastapi import APIRouter, Request, Response

from ..openapi import operation
from ..protocol import ChatRequest, CompletionRequest
from ..service import ServedModels
from .answering import Answering
from .body import BodyReader

_CHAT = operation(
    "create_chat_completion",
    "Create a chat completion",
    tag="Chat",
    body="ChatRequest",
    answer="ChatCompletion",
    events="ChatCompletionEvent",
    example={
        "model": "my-model",
        "messages": [{"role": "user", "content": "How warm is it in Oslo?"}],
        "max_completion_tokens": 500,
    },
)
_COMPLETION = operation(
    "create_completion",
    "Create a text completion",
    tag="Chat",
    body="CompletionRequest",
    answer="TextCompletion",
    events="TextCompletionEvent",
    example={"model": "my-model", "prompt": "Once upon a time", "max_tokens": 50},
)


def chat_router(models: ServedModels, answering: Answering, bodies: BodyReader) -> APIRouter:
    """Return the route of chat completions."""
    router = APIRouter()

    @router.post("/v1/chat/completions", **_CHAT)
    async def create(request: Request) -> Response:
        ticket = await answering.begin(request)
        chat, size = await bodies.read(ChatRequest, request)
        model = models.usable(chat.model, request.state.client)
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

    @router.post("/v1/completions", **_COMPLETION)
    async def create(request: Request) -> Response:
        ticket = await answering.begin(request)
        asked, size = await bodies.read(CompletionRequest, request)
        model = models.usable(asked.model, request.state.client)
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
