"""Routes besides completions: models, health, metrics, version.

/health/live    the process answers
/health/ready   a worker is healthy according to the last checks. "degraded": some workers are
                ejected or unhealthy. Operators also see each worker and the cache; the cache never
                makes a gateway unready, because requests do not need it.
"""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from ..errors import model_not_found
from ..observability.metrics import Metrics
from ..pool.member import Member
from ..pool.worker_pool import Pool


def models_router(
    model: str,
    created: int,
    about: Mapping[str, Any],
    *,
    max_model_len: Callable[[], int | None],
) -> APIRouter:
    """Return /v1/models and /v1/models/{id} of one model. ``about``: further fields of its card.
    ``max_model_len``: tokens of its context; None: unknown.
    """
    router = APIRouter()
    base = {"id": model, "object": "model", "created": created, "owned_by": "switchyard", **about}

    def card() -> dict[str, Any]:
        length = max_model_len()
        return base if length is None else {**base, "max_model_len": length}

    @router.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [card()]}

    @router.get("/v1/models/{name:path}")
    async def one_model(name: str) -> dict[str, Any]:
        if name != model:
            raise model_not_found(name)
        return card()

    return router


def operations_router(
    pool: Pool,
    metrics: Metrics,
    *,
    version: dict[str, str],
    cache: Callable[[], dict[str, int]] | None,
    is_operator: Callable[[Request], bool],
) -> APIRouter:
    """Return health, metrics and version, which need no key; only operators see names, addresses
    and reasons.
    """
    router = APIRouter()

    @router.get("/health/live")
    async def live() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/health")
    @router.get("/health/ready")
    async def ready(request: Request) -> JSONResponse:
        status = pool.status
        body: dict[str, Any] = {"status": status}
        if is_operator(request):
            body["workers"] = [_details(member) for member in pool.members]
            body["cache"] = None if cache is None else cache()
        return JSONResponse(body, status_code=503 if status == "unready" else 200)

    @router.get("/metrics")
    async def all_metrics() -> Response:
        return Response(await metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    @router.get("/version")
    async def versions() -> dict[str, str]:
        return version

    return router


def _details(member: Member) -> dict[str, Any]:
    """Describe a worker for operators; its own details never hide ours."""
    return member.health.details | {
        "name": member.worker.name,
        "ready": member.health.ready,
        "reason": member.health.reason,
        "circuit": member.state,
        "failures": member.failures,
        "running": member.running,
    }
