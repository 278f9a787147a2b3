"""POST /tokenize and POST /detokenize."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..errors import client_left
from ..protocol.tokenize_request import DetokenizeRequest, TokenizeRequest
from ..server.event_stream import Disconnected, run_until_disconnect
from ..service.served_models import ServedModels
from .body import BodyReader


def tokenize_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/tokenize")
    async def tokenize(request: Request) -> Response:
        asked, size = await bodies.read(TokenizeRequest, request)
        service = models.find_or_only(asked.model).tokenizing
        try:
            answer = await run_until_disconnect(service.tokenize(asked, size), request.receive)
        except Disconnected:
            raise client_left() from None
        return Response(answer, media_type="application/json")

    @router.post("/detokenize")
    async def detokenize(request: Request) -> JSONResponse:
        asked, size = await bodies.read(DetokenizeRequest, request)
        service = models.find_or_only(asked.model).tokenizing
        try:
            answer = await run_until_disconnect(service.detokenize(asked, size), request.receive)
        except Disconnected:
            raise client_left() from None
        return JSONResponse(answer)

    return router
