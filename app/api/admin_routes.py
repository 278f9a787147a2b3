"""Routes for operators: POST /v1/grammars compiles ahead, GET /v1/cache reports on the cache."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ..openapi import operation, query
from ..protocol import WarmupRequest
from ..service import CacheReport, GrammarWarmup, ServedModels
from .body import BodyReader
from .exchange import until_client_leaves

_WARM = operation(
    "warm_grammars",
    "Compile grammars ahead of requests",
    tag="Grammars",
    key="operator",
    body=WarmupRequest,
    answer=GrammarWarmup,
    errors=(404, 429),
    example={"response_format": {"type": "json_object"}},
)
_CACHE = operation(
    "report_cache",
    "Report on the cache",
    tag="Operation",
    key="operator",
    answer=CacheReport,
    errors=(404,),
    parameters=(query("model", {"type": "string"}, "Needed if there are several models."),),
)


def admin_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the routes; the caller must guard them with an operator's key. Both take the name of a
    model, in the body or as ``?model=``, unless there is only one.
    """
    router = APIRouter()

    @router.post("/v1/grammars", **_WARM)
    async def warm(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(WarmupRequest, request)
        warming = models.find_or_only(asked.model).warming
        return JSONResponse(await until_client_leaves(warming.warm(asked.all()), request))

    @router.get("/v1/cache", **_CACHE)
    async def cache(request: Request) -> JSONResponse:
        found = models.find_or_only(request.query_params.get("model"))
        return JSONResponse(found.cache_report())

    return router
