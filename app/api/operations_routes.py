"""Routes besides completions: models, health, metrics, version.

/health/live    the process answers
/health/ready   a worker of some model is healthy according to the last checks. "degraded": some
                workers are ejected, unhealthy or draining. Operators also see each model, each
                worker and the cache; the cache never makes a gateway unready, because requests do
                not need it. 404 "draining" after SIGTERM: HAProxy (``disable-on-404``) then sends
                no new requests but keeps running ones, whereas it takes any other failure for a
                crash.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from ..errors import ErrorResponse
from ..observability import Metrics
from ..openapi import operation, schema
from ..service import (
    Alive,
    ContextLength,
    MessagesModel,
    MessagesModelList,
    MetricsText,
    Model,
    ModelFacts,
    ModelList,
    NamedModel,
    Readiness,
    ServedModels,
    Version,
)
from .exchange import exchange_of
from .surfaces import ANTHROPIC_HEADER
from .worker_routes import all_workers

#: HTTP status of each state in which a gateway is not ready
_READY_STATUS = {"unready": 503, "draining": 404}

_EITHER = f"With the header `{ANTHROPIC_HEADER}`, models have the form that Anthropic gives them."
_MODELS = operation(
    "list_models",
    "List the models",
    description=f"List the models. {_EITHER}",
    tag="Models",
    answer=ModelList,
)
_MODEL = operation(
    "retrieve_model",
    "Describe a model",
    description=f"Describe a model. {_EITHER}",
    tag="Models",
    answer=Model,
    errors=(404,),
)
_METRICS = operation(
    "export_metrics",
    "Export metrics for Prometheus",
    tag="Operation",
    key=None,
    answer=MetricsText,
    media_type="text/plain",
)
_VERSION = operation("show_version", "Show the version", tag="Operation", key=None, answer=Version)


def _live(number: str) -> dict[str, Any]:
    summary = "Whether the process answers"
    return operation(number, summary, tag="Operation", key=None, answer=Alive)


def _ready(number: str) -> dict[str, Any]:
    """Return an operation whose other statuses have the same answer as its success."""
    found = operation(
        number,
        "Whether a worker is healthy",
        description="Whether a worker is healthy, according to the last checks. With a key of an "
        "operator, the answer has details. 503: no worker is healthy; 404: the gateway stops.",
        tag="Operation",
        key=None,
        answer=Readiness,
    )
    extra = found["openapi_extra"]
    extra["security"] = [{}, {"OperatorKey": []}]
    for status in _READY_STATUS.values():
        extra["responses"][str(status)] = {
            **extra["responses"]["200"],
            "description": "No worker is healthy, or the gateway stops.",
        }
    # that of a gateway with too many connections is an error
    either = {"anyOf": [schema(Readiness), schema(ErrorResponse)]}
    extra["responses"]["503"]["content"] = {"application/json": {"schema": either}}
    return found


def models_router(models: ServedModels, created: int) -> APIRouter:
    """Return /v1/models and /v1/models/{id}; an alias shows the card of its model or adapter.

    A key sees the models that it may use.
    """
    router = APIRouter()

    def card(named: NamedModel, facts: ModelFacts) -> Model:
        model = named.model
        length: ContextLength = {}
        if model.pool.max_model_len is not None:
            length = {"max_model_len": model.pool.max_model_len}
        return {
            "id": named.id,
            "object": "model",
            "created": created,
            "owned_by": "switchyard",
            "root": named.adapter or model.name,
            "parent": None if named.adapter is None else model.name,
            "aliases": named.aliases,
            **facts,
            **length,
        }

    def messages_card(named: NamedModel) -> MessagesModel:
        model = named.model
        return {
            "type": "model",
            "id": named.id,
            "display_name": named.id,
            "created_at": datetime.fromtimestamp(created, UTC).isoformat().replace("+00:00", "Z"),
            "lifecycle": "active",
            "max_input_tokens": model.pool.max_model_len,
            "max_tokens": model.settings.max_completion_tokens,
        }

    @router.get("/v1/models", **_MODELS)
    async def all_models(request: Request) -> JSONResponse:
        """Without FastAPI's validation of the answer: 2,000 adapters would take four times as
        long.
        """
        usable = models.all_usable(exchange_of(request).client)
        if ANTHROPIC_HEADER not in request.headers:
            facts = {model.name: model.described() for model in models}
            cards = [card(named, facts[named.model.name]) for named in usable]
            listed: ModelList = {"object": "list", "data": cards}
            return JSONResponse(listed)
        found: MessagesModelList = {
            "data": [messages_card(named) for named in usable],
            "has_more": False,
            "first_id": usable[0].id if usable else None,
            "last_id": usable[-1].id if usable else None,
        }
        return JSONResponse(found)

    @router.get("/v1/models/{name:path}", **_MODEL)
    async def one_model(name: str, request: Request) -> Model | MessagesModel:
        named = models.usable(name, exchange_of(request).client)
        if ANTHROPIC_HEADER in request.headers:
            return messages_card(named)
        return card(named, named.model.described())

    return router


def operations_router(
    models: ServedModels,
    metrics: Metrics,
    *,
    version: str,
    cache: Callable[[], dict[str, int] | None],
    is_operator: Callable[[Request], bool],
    is_draining: Callable[[], bool] = lambda: False,
) -> APIRouter:
    """Return health, metrics and version, which need no key; only operators see names, addresses
    and reasons.
    """
    router = APIRouter()

    @router.head("/health/live", **_live("check_liveness_head"))
    @router.get("/health/live", **_live("check_liveness"))
    async def live() -> Alive:
        return {"status": "ok"}

    @router.head("/health", **_ready("check_health_head"))
    @router.head("/health/ready", **_ready("check_readiness_head"))
    @router.get("/health", **_ready("check_health"))
    @router.get("/health/ready", **_ready("check_readiness"))
    async def ready(request: Request) -> JSONResponse:
        body: Readiness = {"status": "draining" if is_draining() else models.status}
        if is_operator(request):
            body["models"] = {model.name: model.pool.status for model in models}
            body["constraints"] = {model.name: model.switch.mode for model in models}
            body["workers"] = all_workers(models)
            body["cache"] = cache()
        return JSONResponse(body, status_code=_READY_STATUS.get(body["status"], 200))

    @router.get("/metrics", **_METRICS)
    async def all_metrics() -> Response:
        return Response(await metrics.exposition(), media_type=CONTENT_TYPE_LATEST)

    @router.get("/version", **_VERSION)
    async def versions() -> Version:
        formats = sorted({model.tokenizer.wire.name for model in models})
        return {"version": version, "formats": formats}

    return router
