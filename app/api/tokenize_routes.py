"""POST /tokenize and POST /detokenize."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..openapi import operation
from ..protocol import DetokenizeRequest, TokenizeRequest
from ..service import DetokenizeResponse, ServedModels, TokenizeResponse
from .body import BodyReader
from .exchange import exchange_of, until_client_leaves

_TOKENIZE = operation(
    "tokenize",
    "Return the tokens of a text or of a chat",
    tag="Tokens",
    body=TokenizeRequest,
    answer=TokenizeResponse,
    errors=(404,),
    example={"prompt": "Once upon a time"},
)
_DETOKENIZE = operation(
    "detokenize",
    "Return the text of tokens",
    tag="Tokens",
    body=DetokenizeRequest,
    answer=DetokenizeResponse,
    errors=(404,),
    example={"tokens": [1, 2, 3]},
)


def tokenize_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/tokenize", **_TOKENIZE)
    async def tokenize(request: Request) -> Response:
        asked, size = await bodies.read(TokenizeRequest, request)
        client = exchange_of(request).client
        service = models.usable(asked.model, client).model.tokenizing
        answer = await until_client_leaves(service.tokenize(asked, size, client.id), request)
        return Response(answer, media_type="application/json")

    @router.post("/detokenize", **_DETOKENIZE)
    async def detokenize(request: Request) -> JSONResponse:
        asked, size = await bodies.read(DetokenizeRequest, request)
        client = exchange_of(request).client
        service = models.usable(asked.model, client).model.tokenizing
        answer = await until_client_leaves(service.detokenize(asked, size, client.id), request)
        return JSONResponse(answer)

    return router
