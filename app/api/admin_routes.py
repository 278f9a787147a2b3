"""Routes for operators: POST /v1/grammars compiles ahead, GET /v1/cache reports on the cache."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ..errors import client_left
from ..protocol.warmup_request import WarmupRequest
from ..server.event_stream import Disconnected, run_until_disconnect
from ..service.warm_service import WarmService
from .body import BodyReader


def admin_router(
    warming: WarmService, report: Callable[[], dict[str, Any]], bodies: BodyReader
) -> APIRouter:
    """Return the routes; the caller must guard them with an operator's key."""
    router = APIRouter()

    @router.post("/v1/grammars")
    async def warm(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(WarmupRequest, request)
        try:
            answer = await run_until_disconnect(warming.warm(asked.all()), request.receive)
        except Disconnected:
            raise client_left() from None
        return JSONResponse(answer)

    @router.get("/v1/cache")
    async def cache() -> JSONResponse:
        return JSONResponse(report())

    return router
