"""Routes for operators of LoRA adapters: GET /admin/adapters, POST /admin/adapters/load and
/unload.

Both POSTs ask all workers of a model, or one, and show what each of them did. Loading takes as long
as reading files, unloading as long as the last running request; a client that leaves meanwhile does
not end either.

Not here   the operator's key (the caller guards the routes); other gateways, which find the change
           at their next health checks.
"""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ..observability import Logger
from ..openapi import operation
from ..protocol import LoadAdapterRequest, UnloadAdapterRequest
from ..service import AdapterChange, AdapterList, ServedModels, load, states, unload
from .body import BodyReader

_LIST = operation(
    "list_adapters",
    "List the LoRA adapters, and the workers that have them",
    tag="Operation",
    key="operator",
    answer=AdapterList,
)
_LOAD = operation(
    "load_adapter",
    "Load a LoRA adapter at workers",
    tag="Operation",
    key="operator",
    body=LoadAdapterRequest,
    answer=AdapterChange,
    errors=(404,),
    example={"name": "law", "path": "/adapters/law"},
)
_UNLOAD = operation(
    "unload_adapter",
    "Unload a LoRA adapter at workers",
    tag="Operation",
    key="operator",
    body=UnloadAdapterRequest,
    answer=AdapterChange,
    errors=(404,),
    example={"name": "law"},
)


def adapter_router(models: ServedModels, bodies: BodyReader, logger: Logger) -> APIRouter:
    """Return the routes; the caller must guard them with an operator's key."""
    router = APIRouter()

    @router.get("/admin/adapters", **_LIST)
    async def adapters() -> AdapterList:
        return states(models)

    @router.post("/admin/adapters/load", **_LOAD)
    async def load_one(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(LoadAdapterRequest, request)
        change = await load(models, asked)
        _log(logger, "adapter loaded", change)
        return JSONResponse(change)

    @router.post("/admin/adapters/unload", **_UNLOAD)
    async def unload_one(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(UnloadAdapterRequest, request)
        change = await unload(models, asked)
        _log(logger, "adapter unloaded", change)
        return JSONResponse(change)

    return router


def _log(logger: Logger, event: str, change: AdapterChange) -> None:
    """Log what was asked, and the workers that did not do it, with their reasons."""
    failed = {each["worker"]: each["reason"] for each in change["data"] if not each["done"]}
    logger.warning(event, adapter=change["id"], workers=len(change["data"]), failed=failed)
