"""``create_app``: settings in, a FastAPI app out.

Creating the app does no work. Its lifespan builds the components, adds the routes that need them,
and closes the components. An app has one lifespan.
"""

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request

from . import version
from .api.admin_routes import admin_router
from .api.auth import AdminKeys, Keys
from .api.body import BodyReader
from .api.chat_routes import chat_router
from .api.error_responses import install_error_handlers
from .api.grammar_routes import grammars_router
from .api.middleware import RequestMiddleware
from .api.operations_routes import models_router, operations_router
from .composition import Components, build
from .conversation.tokenizer import Tokenizer, load_tokenizer
from .observability.event_loop import observed
from .observability.logs import Logger, make_logger
from .observability.metrics import Metrics
from .server.drain import Drain
from .server.garbage_collection import frozen
from .settings import Settings


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
    chosen = settings or Settings()
    log = logger or make_logger(chosen.log_level, sys.stdout)
    metrics = Metrics(metrics_folder)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        components = build(chosen, metrics, log, load)
        try:
            await components.start()
            _add_routes(app, chosen, components, metrics)
            _announce(log, chosen, components)
            with frozen():
                async with observed(metrics):
                    yield
        finally:
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
    app.add_middleware(RequestMiddleware, metrics=metrics, logger=log, drain=app.state.drain)
    install_error_handlers(app)
    return app


def _add_routes(app: FastAPI, settings: Settings, components: Components, metrics: Metrics) -> None:
    keys = Keys(key.get_secret_value() for key in settings.api_keys)

    async def with_key(request: Request) -> None:
        given = request.headers.get("authorization")
        keys.check(given)
        address = "" if request.client is None else request.client.host
        request.state.client = keys.client(given, address)

    guarded = [Depends(with_key)]
    bodies = BodyReader(
        components.offload,
        max_bytes=settings.max_body_bytes,
        max_values=settings.max_json_values,
        timeout_s=settings.body_seconds,
    )
    app.include_router(
        chat_router(
            components.chat, metrics, bodies, comment_seconds=settings.stream_comment_seconds
        ),
        dependencies=guarded,
    )
    app.include_router(grammars_router(components.checks, bodies), dependencies=guarded)
    admin_keys = AdminKeys(key.get_secret_value() for key in settings.admin_keys)

    async def with_admin_key(request: Request) -> None:
        admin_keys.check(request.headers.get("authorization"))

    admin = admin_router(components.warming, components.cache_report, bodies)
    app.include_router(admin, dependencies=[Depends(with_admin_key)])
    models = models_router(
        settings.served_model,
        int(time.time()),
        _about(components),
        max_model_len=lambda: components.pool.max_model_len,
    )
    app.include_router(models, dependencies=guarded)
    versions = {"version": version(), "format": components.tokenizer.wire.name}
    app.include_router(
        operations_router(
            components.pool,
            metrics,
            version=versions,
            cache=None if components.store is None else components.store.stats,
            is_operator=lambda request: admin_keys.fits(request.headers.get("authorization")),
        )
    )


def _about(components: Components) -> dict[str, Any]:
    """Return the model's format, and what its chat template does not show by itself."""
    profile = components.tokenizer.profile
    fitted = None if profile is None else profile.described()
    evidence = components.tokenizer.evidence.described()
    return {
        "format": components.tokenizer.wire.name,
        "format_evidence": evidence,
        "chat_template": fitted,
    }


def _announce(logger: Logger, settings: Settings, components: Components) -> None:
    """Log the settings, the workers and warnings about them."""
    logger.info("settings", **settings.public())
    if settings.is_open:
        logger.warning(
            "ANYONE WHO REACHES THIS ADDRESS CAN USE THE GATEWAY: set SWITCHYARD_API_KEYS",
            host=settings.host,
        )
    for worker in components.workers:
        logger.info(
            "worker", name=worker.name, model=settings.served_model, description=worker.description
        )
    profile, evidence = components.tokenizer.profile, components.tokenizer.evidence
    if evidence.basis == "unknown":
        logger.warning(
            "requests with tools are refused: the chat template shows calls in an unknown syntax",
            shown=evidence.shown,
        )
    elif evidence.basis != "marks" and profile is not None and profile.call_syntax == "other":
        logger.warning(
            "the chat template shows tool calls in another syntax than the format",
            format=components.tokenizer.wire.name,
        )
    logger.info(
        "ready",
        version=version(),
        **_about(components),
        vocabulary=components.tokenizer.vocabulary.size,
        keys_required=bool(settings.api_keys),
        operators=bool(settings.admin_keys),
    )
