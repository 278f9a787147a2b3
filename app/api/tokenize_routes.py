"""POST /tokenize and POST /detokenize."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..access import Client
from ..errors import client_left
from ..openapi import operation
from ..protocol import DetokenizeRequest, TokenizeRequest
from ..server import Disconnected, run_until_disconnect
from ..service import ServedModel, ServedModels
from .body import BodyReader

_TOKENIZE = operation(
    "tokenize",
    "Return the tokens of a text or of a chat",
    tag="Tokens",
    body="TokenizeRequest",
    answer="TokenizeResponse",
    errors=(404,),
    example={"prompt": "Once upon a time"},
)
_DETOKENIZE = operation(
    "detokenize",
    "Return the text of tokens",
    tag="Tokens",
    body="DetokenizeRequest",
    answer="DetokenizeResponse",
    errors=(404,),
    example={"tokens": [1, 2, 3]},
)


def tokenize_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/tokenize", **_TOKENIZE)
    async def tokenize(request: Request) -> Response:
        asked, size = await bodies.read(TokenizeRequest, request)
        service = _found(models, asked.model, request).tokenizing
        made = service.tokenize(asked, size, request.state.client.id)
        try:
            answer = await run_until_disconnect(made, request.receive)
        except Disconnected:
            raise client_left() from None
        return Response(answer, media_type="application/json")

    @router.post("/detokenize", **_DETOKENIZE)
    async def detokenize(request: Request) -> JSONResponse:
        asked, size = await bodies.read(DetokenizeRequest, request)
        service = _found(models, asked.model, request).tokenizing
        made = service.detokenize(asked, size, request.state.client.id)
        try:
            answer = await run_until_disconnect(made, request.receive)
        except Disconnected:
            raise client_left() from None
        return JSONResponse(answer)

    return router


def _found(models: ServedModels, name: str | None, request: Request) -> ServedModel:
    """Return the model that a request names, if its key may use it. Raises ApiError."""
    client: Client = request.state.client
    return models.usable(name, client)
