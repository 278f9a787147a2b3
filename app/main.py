"""``create_app``: settings in, a FastAPI app out.

Creating the app does no work. Its lifespan builds the components, adds the routes that need them,
and closes the components. An app has one lifespan.
"""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from .api import (
    BrowserGuard,
    DirectRoutes,
    RequestMiddleware,
    install_error_handlers,
    warn_unenforced,
)
from .composition import Components, build
from .constraints import MODE_HEADER, RELAXED_HEADER
from .conversation import Tokenizer, load_tokenizer
from .observability import IGNORED_HEADER, Logger, Metrics, RequestLog, make_logger, observed
from .routes import add_routes
from .server import Drain, frozen
from .service import BACKEND_HEADER, TAUGHT_HEADER, BackgroundResponses, Faults, ServedModel
from .settings import PREFIX, GatewaySettings, SettingError, Settings, read_settings
from .version import version

#: headers of answers that web pages of other origins may read
_EXPOSED = (
    "x-request-id",
    BACKEND_HEADER,
    RELAXED_HEADER,
    IGNORED_HEADER,
    MODE_HEADER,
    TAUGHT_HEADER,
)


class _Gateway(FastAPI):
    """FastAPI, enclosed by middleware that finds some routes before it.

    FastAPI would put it into five layers that do nothing for these routes, but take 30 us of CPU.
    """

    enclosed: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.routed if scope["type"] == "lifespan" else self.enclosed
        await app(scope, receive, send)

    async def routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call FastAPI without the middleware around it."""
        await super().__call__(scope, receive, send)


def create_app(
    settings: Settings | None = None,
    *,
    logger: Logger | None = None,
    load: Callable[[str | None, str, bool], Tokenizer] = load_tokenizer,
    metrics_folder: str | None = None,
) -> FastAPI:
    """Return the gateway as an ASGI app. Defaults: settings of the environment, logs to stdout.

    Args:
        load: see ``load_tokenizer``.
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
            add_routes(
                app,
                chosen.gateway,
                components,
                background,
                metrics=metrics,
                requests=requests,
                log=log,
            )
            _announce(log, chosen, components)
            with frozen():
                async with observed(metrics), _traced(requests, chosen.gateway, log):
                    yield
        finally:
            await background.aclose()
            await components.aclose()
            log.info("stopped")

    app = _Gateway(
        title="Switchyard",
        version=version(),
        lifespan=lifespan,
        openapi_url=None,
        redirect_slashes=False,
        # the gateway has its own (observability), and FastAPI takes 9 us a request to find none
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    # for the server around the app, which counts refused connections and ends running requests
    app.state.metrics, app.state.drain = metrics, Drain()
    app.state.direct_routes = {}
    enclosed: ASGIApp = DirectRoutes(app.routed, routes=app.state.direct_routes)
    if not chosen.gateway.keys_required:
        enclosed = BrowserGuard(enclosed, settings=chosen.gateway)
    enclosed = RequestMiddleware(
        enclosed, metrics=metrics, logger=log, drain=app.state.drain, requests=requests
    )
    if chosen.gateway.cors_origins:
        # outermost, so that web pages can read every error
        enclosed = CORSMiddleware(
            enclosed,
            allow_origins=chosen.gateway.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=_EXPOSED,
        )
    app.enclosed = enclosed
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
    for worker in (member.worker for side in model.pool.sides for member in side):
        logger.info("worker", name=worker.name, model=model.name, description=worker.description)
    warn_unenforced(logger, model)
    _warn_of_format(logger, model)


def _warn_of_format(logger: Logger, model: ServedModel) -> None:
    profile, evidence = model.tokenizer.profile, model.tokenizer.evidence
    if evidence.family is not None:
        logger.warning(
            "no known format writes the model's tool calls, so one was made of its "
            f"{evidence.source}",
            model=model.name,
            format=model.tokenizer.wire.name,
            shown=evidence.shown,
            notes=[*evidence.notes],
        )
    elif evidence.taught is not None:
        logger.warning(
            "the chat template shows tool calls in an unknown syntax, so prompts teach another one",
            model=model.name,
            format=evidence.taught,
            shown=evidence.shown,
            reason=evidence.failure,
        )
    elif evidence.basis == "unknown":
        logger.warning(
            "requests with tools are refused: the chat template shows calls in an unknown syntax",
            model=model.name,
            shown=evidence.shown,
            reason=evidence.failure,
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
