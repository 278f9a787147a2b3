"""What is served besides completions: models, health, metrics, version.

/health/live    the process answers
/health/ready   a worker can take a request; Redis is told about but never makes a gateway unready,
                since everything works without it
"""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ..errors import model_not_found
from ..metrics import Metrics
from ..pool import Pool


def models_router(model: str, created: int) -> APIRouter:
    """/v1/models and /v1/models/{id}; this server has one model."""
    router = APIRouter()
    card = {"id": model, "object": "model", "created": created, "owned_by": "switchyard"}

    @router.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [card]}

    @router.get("/v1/models/{name:path}")
    async def one_model(name: str) -> dict[str, Any]:
        if name != model:
            raise model_not_found(name)
        return card

    return router


def operations_router(
    pool: Pool, metrics: Metrics, *, version: dict[str, str], cache: Callable[[], dict[str, int]]
) -> APIRouter:
    """Health, metrics and version: for operators, outside of /v1 and without keys."""
    router = APIRouter()

    @router.get("/health/live")
    async def live() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/health")
    @router.get("/health/ready")
    async def ready() -> JSONResponse:
        await pool.check()
        workers = [
            {
                "name": member.worker.name,
                "ready": member.health.ready,
                "reason": member.health.reason,
            }
            | member.health.details
            for member in pool.members
        ]
        status = "ok" if pool.ready else "unready"
        body = {"status": status, "workers": workers, "cache": cache()}
        return JSONResponse(body, status_code=200 if pool.ready else 503)

    @router.get("/metrics")
    async def all_metrics() -> Response:
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @router.get("/version")
    async def versions() -> dict[str, str]:
        return version

    return router
