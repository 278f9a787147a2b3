"""``create_app``: settings in, a FastAPI app out.

Creating the app does no work. Its lifespan builds the components, adds the routes that need them,
and closes the components. An app has one lifespan.
"""

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fastapi import Depends, FastAPI, Request
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection

from .access import Client
from .api import (
    SOCKET_PATH,
    AdminKeys,
    Answering,
    ArrivingBodies,
    BodyReader,
    BrowserGuard,
    RequestMiddleware,
    ResponsesSocket,
    admin_router,
    constraint_router,
    conversations_router,
    credential,
    debug_router,
    docs_router,
    endpoints_of,
    exchange_of,
    generation_router,
    grammars_router,
    greeting_router,
    install_error_handlers,
    messages_router,
    models_router,
    operations_router,
    responses_router,
    tokenize_router,
    warn_unenforced,
    worker_router,
)
from .composition import Components, build
from .constraints import MODE_HEADER, RELAXED_HEADER
from .conversation import Tokenizer, load_tokenizer
from .observability import IGNORED_HEADER, Logger, Metrics, RequestLog, make_logger, observed
from .server import Drain, frozen
from .service import (
    BACKEND_HEADER,
    BackgroundResponses,
    Conversations,
    Faults,
    ServedModel,
    StoredResponses,
)
from .settings import PREFIX, GatewaySettings, SettingError, Settings, read_settings
from .ui import ui_router
from .version import version

#: the identity of requests with an operator's key
OPERATORS = Client(id="operators")


def create_app(
    settings: Settings | None = None,
    *,
    logger: Logger | None = None,
    load: Callable[[str | None, str], Tokenizer] = load_tokenizer,
    metrics_folder: str | None = None,
) -> FastAPI:
    """Return the gateway as an ASGI app. Defaults: settings of the environment, logs to stdout.

    Args:
        load: returns the tokenizer of a source and a format.
        metrics_folder: see Metrics.
    """
    chosen = settings or read_settings()
    log = logger or make_logger(chosen.gateway.log_level, sys.stdout)
    metrics, requests = Metrics(metrics_folder), RequestLog()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        components = build(chosen, metrics, log, load)
        background = _background(app.state.drain, chosen.gateway, components, metrics)
        try:
            await components.start()
            _add_routes(app, chosen.gateway, components, background, metrics, requests, log)
            _announce(log, chosen, components)
            with frozen():
                async with observed(metrics), _traced(requests, chosen.gateway, log):
                    yield
        finally:
            await background.aclose()
            await components.aclose()
            log.info("stopped")

    app = FastAPI(
        title="Switchyard",
        version=version(),
        lifespan=lifespan,
        openapi_url=None,
        redirect_slashes=False,
    )
    # for the server around the app, which counts refused connections and ends running requests
    app.state.metrics, app.state.drain = metrics, Drain()
    if not chosen.gateway.keys_required:
        app.add_middleware(BrowserGuard, settings=chosen.gateway)
    app.add_middleware(
        RequestMiddleware, metrics=metrics, logger=log, drain=app.state.drain, requests=requests
    )
    if chosen.gateway.cors_origins:
        # outermost, so that web pages can read every error
        app.add_middleware(
            CORSMiddleware,
            allow_origins=chosen.gateway.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=[
                "x-request-id",
                BACKEND_HEADER,
                RELAXED_HEADER,
                IGNORED_HEADER,
                MODE_HEADER,
            ],
        )
    install_error_handlers(app)
    return app


@asynccontextmanager
async def _traced(
    requests: RequestLog, settings: GatewaySettings, logger: Logger
) -> AsyncIterator[None]:
    """Export traces meanwhile, if a collector is set."""
    if settings.otlp_endpoint is None:
        yield
        return
    try:
        from .observability.tracing import Tracer

        tracer = requests.tracer = Tracer(
            settings.otlp_endpoint, settings.trace_share, version=version(), logger=logger
        )
    except (ModuleNotFoundError, ValueError) as error:  # a variable OTEL_* may be invalid
        raise SettingError(f"{PREFIX}OTLP_ENDPOINT: traces can't be exported: {error}") from error
    try:
        yield
    finally:
        await tracer.aclose()


def _background(
    drain: Drain, settings: GatewaySettings, components: Components, metrics: Metrics
) -> BackgroundResponses:
    """Return the responses in the background, and export their number."""
    background = BackgroundResponses(
        components.shared.state,
        components.shared.runs,
        drain.request,
        Faults(metrics, components.shared.logger),
        most=settings.max_background,
        most_of_client=settings.max_background_of_client,
        max_bytes=settings.responses_max_bytes,
    )
    text = "Responses that run in the background"
    metrics.watch("background", text, lambda: {"running": background.running})
    return background


def _add_routes(
    app: FastAPI,
    settings: GatewaySettings,
    components: Components,
    background: BackgroundResponses,
    metrics: Metrics,
    requests: RequestLog,
    log: Logger,
) -> None:
    def identify(request: HTTPConnection) -> Client:
        address = "" if request.client is None else request.client.host
        return components.keys.identify(credential(request), address)

    async def with_key(request: Request) -> None:
        exchange_of(request).client = identify(request)

    models = components.models
    guarded = [Depends(with_key)]
    bodies = BodyReader(
        components.shared.offload,
        ArrivingBodies(
            settings.max_arriving_bytes, metrics.admission_refused.labels("arriving_bytes").inc
        ),
        max_bytes=settings.max_body_bytes,
        max_values=settings.max_json_values,
        ignores_unknown=settings.unknown_fields == "ignore",
        timeout_s=settings.body_seconds,
    )
    answering = Answering(
        components.admission,
        background,
        metrics,
        requests,
        log,
        comment_seconds=settings.stream_comment_seconds,
    )
    stored = StoredResponses(components.shared.state, background)
    of_clients = [
        generation_router(models, answering, bodies),
        responses_router(stored, models, bodies),
        conversations_router(
            Conversations(components.shared.conversations, components.shared.state), bodies
        ),
        messages_router(models, bodies),
        models_router(models, int(time.time())),
        tokenize_router(models, bodies),
        grammars_router(models, bodies),
    ]
    for router in of_clients:
        app.include_router(router, dependencies=guarded)
    app.state.endpoints = endpoints_of(of_clients)
    sockets = ResponsesSocket(
        app, identify, bodies, most=settings.max_websockets, max_bytes=settings.max_body_bytes
    )
    app.add_api_websocket_route(SOCKET_PATH, sockets.serve)
    text = "Open WebSockets"
    metrics.watch("websockets", text, lambda: {"open": sockets.open})
    given = (key.get_secret_value() for key in settings.admin_keys)
    admin_keys = AdminKeys(given, components.tokens)

    async def with_admin_key(request: Request) -> None:
        admin_keys.check(request.headers.get("authorization"))
        exchange_of(request).client = OPERATORS

    admin = admin_router(models, bodies)
    app.include_router(admin, dependencies=[Depends(with_admin_key)])
    workers = worker_router(models, bodies)
    app.include_router(workers, dependencies=[Depends(with_admin_key)])
    app.include_router(debug_router(requests), dependencies=[Depends(with_admin_key)])
    constraints = constraint_router(models, bodies, log, processes=settings.processes)
    app.include_router(constraints, dependencies=[Depends(with_admin_key)])
    app.include_router(
        operations_router(
            models,
            metrics,
            version=version(),
            cache=components.cache_stats,
            is_operator=lambda request: admin_keys.fits(request.headers.get("authorization")),
            is_draining=lambda: app.state.drain.draining,
        )
    )
    app.include_router(greeting_router())
    if settings.docs:
        app.include_router(docs_router(partial(_document, app, settings.keys_required)))
    if settings.ui:
        app.include_router(ui_router())


def _document(app: FastAPI, keys_required: bool) -> bytes:
    # imported late: most gateways are never asked
    from .openapi.document import build_document

    return build_document(app, keys_required=keys_required)


def _announce(logger: Logger, settings: Settings, components: Components) -> None:
    """Log the settings, the models with their workers, and warnings about them."""
    gateway = settings.gateway
    logger.info("settings", **gateway.public())
    if gateway.is_open:
        logger.warning(
            "ANYONE WHO REACHES THIS ADDRESS CAN USE THE GATEWAY: set SWITCHYARD_API_KEYS",
            host=gateway.host,
        )
    if gateway.processes > 1 and gateway.redis_url is None:
        logger.warning(
            "without SWITCHYARD_REDIS_URL each process keeps its own stored responses and limits",
            processes=gateway.processes,
        )
    for model in components.models:
        _announce_model(logger, model)
    for model in components.models:
        logger.info(
            "ready",
            version=version(),
            model=model.name,
            **model.described(),
            vocabulary=model.tokenizer.vocabulary.size,
            stored_responses=components.shared.state.place,
            keys_required=gateway.keys_required,
            operators=bool(gateway.admin_keys or gateway.jwt_admin_scope),
        )


def _announce_model(logger: Logger, model: ServedModel) -> None:
    logger.info("model", model=model.name, settings=model.settings.public())
    for worker in model.workers:
        logger.info("worker", name=worker.name, model=model.name, description=worker.description)
    warn_unenforced(logger, model)
    profile, evidence = model.tokenizer.profile, model.tokenizer.evidence
    if evidence.basis == "unknown":
        logger.warning(
            "requests with tools are refused: the chat template shows calls in an unknown syntax",
            model=model.name,
            shown=evidence.shown,
        )
    elif evidence.failure:
        logger.warning(
            "the chat template fails at tool calls, which are written as text instead",
            model=model.name,
            format=model.tokenizer.wire.name,
            error=evidence.failure,
        )
    elif evidence.basis != "marks" and profile is not None and profile.call_syntax == "other":
        logger.warning(
            "the chat template shows tool calls in another syntax than the format",
            model=model.name,
            format=model.tokenizer.wire.name,
        )
