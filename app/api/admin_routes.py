"""Routes for operators: POST /v1/grammars compiles ahead, GET /v1/cache reports on the cache."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ..errors import client_left
from ..protocol.warmup_request import WarmupRequest
from ..server.event_stream import Disconnected, run_until_disconnect
from ..service.served_models import ServedModels
from .body import BodyReader


def admin_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the routes; the caller must guard them with an operator's key. Both take the name of a
    model, in the body or as ``?model=``, unless there is only one.
    """
    router = APIRouter()

    @router.post("/v1/grammars")
    async def warm(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(WarmupRequest, request)
        warming = models.find_or_only(asked.model).warming
        try:
            answer = await run_until_disconnect(warming.warm(asked.all()), request.receive)
        except Disconnected:
            raise client_left() from None
        return JSONResponse(answer)

    @router.get("/v1/cache")
    async def cache(model: str | None = None) -> JSONResponse:
        found = models.find_or_only(model)
        return JSONResponse({"object": "cache", "model": found.name, **found.cache_report()})

    return router
