"""POST /v1/messages/count_tokens, and the greeting with which Claude Code tries an address."""

from fastapi import APIRouter, Request, Response

from ..openapi import operation
from ..protocol import CountRequest
from ..service import ServedModels, TokenCount
from .body import BodyReader
from .model_uses import used
from .surfaces import MESSAGES_ERRORS

_COUNT = operation(
    "count_message_tokens",
    "Count the tokens of a message's prompt",
    tag="Messages",
    body=CountRequest,
    answer=TokenCount,
    errors=(404,),
    own_errors=MESSAGES_ERRORS,
    example={"model": "my-model", "messages": [{"role": "user", "content": "Hello"}]},
)
_HELLO = operation("greet", "Tell that a server is here", tag="Messages", key=None)


def messages_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the route that counts tokens."""
    router = APIRouter()

    @router.post("/v1/messages/count_tokens", **_COUNT)
    async def count_tokens(request: Request) -> TokenCount:
        return await used(CountRequest, request, models, bodies, lambda model: model.messages.count)

    return router


def greeting_router() -> APIRouter:
    """Return the greeting, which needs no key."""
    router = APIRouter()

    @router.head("/api/hello", **_HELLO)
    async def hello() -> Response:
        return Response()

    return router
