"""Routes for operators of the workers: GET /admin/workers, POST /admin/workers/drain and /undrain.

A draining worker gets no new generation and finishes those that run, so that it can be restarted
without an error for a client. The last available worker is drained only with ``force``.

Not here   the operator's key (the caller guards the routes); other gateways: each one drains for
           itself, and forgets it when it restarts.
"""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ..errors import ApiError
from ..openapi import operation
from ..pool import Member
from ..protocol import DrainRequest, UndrainRequest
from ..service import RankState, ServedModel, ServedModels, WorkerList, WorkerState
from .body import BodyReader

_LIST = operation(
    "list_workers", "List the workers", tag="Operation", key="operator", answer=WorkerList
)
_DRAIN = operation(
    "drain_worker",
    "Send a worker no new generation",
    tag="Operation",
    key="operator",
    body=DrainRequest,
    answer=WorkerList,
    errors=(404, 409),
    example={"worker": "http://worker:30000"},
)
_UNDRAIN = operation(
    "undrain_worker",
    "Send a worker generations again",
    tag="Operation",
    key="operator",
    body=UndrainRequest,
    answer=WorkerList,
    errors=(404,),
    example={"worker": "http://worker:30000"},
)


def worker_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the routes; the caller must guard them with an operator's key."""
    router = APIRouter()

    @router.get("/admin/workers", **_LIST)
    async def workers() -> WorkerList:
        waiting = sum(model.pool.waiting for model in models)
        return {"object": "list", "data": all_workers(models), "waiting": waiting}

    @router.post("/admin/workers/drain", **_DRAIN)
    async def drain(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(DrainRequest, request)
        if not asked.force:
            _refuse_last(models, asked.worker)
        return _drained(models, asked.worker, is_draining=True)

    @router.post("/admin/workers/undrain", **_UNDRAIN)
    async def undrain(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(UndrainRequest, request)
        return _drained(models, asked.worker, is_draining=False)

    return router


def all_workers(models: ServedModels) -> list[WorkerState]:
    """Describe the workers of all models."""
    return [
        worker_details(member, model)
        for model in models
        for side in model.pool.sides
        for member in side
    ]


def worker_details(member: Member, model: ServedModel) -> WorkerState:
    """Describe a worker for operators; its own details never hide ours."""
    own: WorkerState = {
        "name": member.name,
        "model": model.name,
        "description": member.worker.description,
        "state": member.service,
        "ready": member.health.ready,
        "reason": member.health.reason,
        "circuit": member.state,
        "draining": member.is_draining,
        "running": member.running,
        "answers": member.answers,
        "failures": member.failures,
    }
    ranks: list[RankState] = [
        {"rank": seat.rank, "running": seat.running}
        for seat in member.seats
        if seat.rank is not None
    ]
    if ranks:
        own["ranks"] = ranks
    half = model.pool.half_of(member)
    if half is not None:
        own["half"] = half
    details: Any = member.health.details
    return {**details, **own}


def _drained(models: ServedModels, name: str, *, is_draining: bool) -> JSONResponse:
    """Apply to the workers of this name, and describe them. Raises ApiError 404: there is none."""
    changed = [
        worker_details(member, model)
        for model in models
        for member in model.pool.drain(name, is_draining=is_draining)
    ]
    if not changed:
        raise ApiError(
            404,
            f"There is no worker named '{name[:200]}'; GET /admin/workers lists the names.",
            param="worker",
            code="worker_not_found",
        )
    listed: WorkerList = {"object": "list", "data": changed}
    return JSONResponse(listed)


def _refuse_last(models: ServedModels, name: str) -> None:
    """Raise ApiError 409 if a pool, or a half of one, would have no available worker left."""
    for model in models:
        for members in model.pool.sides:
            leaving = [member for member in members if member.name == name]
            others = [member for member in members if member.name != name]
            if leaving and not any(member.available for member in others):
                half = model.pool.half_of(leaving[0])
                kind = "worker" if half is None else f"{half} worker"
                raise ApiError(
                    409,
                    f"'{name[:200]}' is the last available {kind} of '{model.name}'; requests "
                    "would fail. Set 'force' to drain it anyway.",
                    param="worker",
                    code="last_worker",
                )
