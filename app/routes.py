"""The routes of an app: those of clients, those of operators, and those without a key."""

import time
from dataclasses import dataclass
from functools import partial

from fastapi import Depends, FastAPI, Request
from starlette.requests import HTTPConnection

from .access import Client
from .api import (
    SOCKET_PATH,
    AdminKeys,
    Answering,
    ArrivingBodies,
    BodyLimit,
    BodyReader,
    ResponsesSocket,
    adapter_router,
    add_direct,
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
    messages_router,
    models_router,
    operations_router,
    responses_router,
    tokenize_router,
    worker_router,
)
from .composition import Components
from .observability import Logger, Metrics, RequestLog
from .server import Comments
from .service import BackgroundResponses, Conversations, StoredResponses
from .settings import GatewaySettings
from .ui import ui_router
from .version import version

#: the identity of requests with an operator's key
OPERATORS = Client(id="operators")


def add_routes(
    app: FastAPI,
    settings: GatewaySettings,
    components: Components,
    background: BackgroundResponses,
    *,
    metrics: Metrics,
    requests: RequestLog,
    log: Logger,
) -> None:
    """Add all routes to an app."""
    _Routes(app, settings, components, background, metrics, requests, log).add()


@dataclass(frozen=True, slots=True)
class _Routes:
    app: FastAPI
    settings: GatewaySettings
    components: Components
    background: BackgroundResponses
    metrics: Metrics
    requests: RequestLog
    log: Logger

    def add(self) -> None:
        """Add all routes."""
        settings, bodies = self.settings, self._bodies()
        given = (key.get_secret_value() for key in settings.admin_keys)
        admin_keys = AdminKeys(given, self.components.tokens)
        self._add_clients(bodies)
        self._add_operators(bodies, admin_keys)
        self._add_public(admin_keys)

    def _add_clients(self, bodies: BodyReader) -> None:
        components, models = self.components, self.components.models
        state, conversations = components.shared.state, components.shared.conversations
        answering = Answering(
            components.admission,
            self.background,
            self.metrics,
            self.requests,
            self.log,
            comments=Comments(self.settings.stream_comment_seconds),
        )
        generation = generation_router(models, answering, bodies, self._identify)
        self.app.include_router(generation)
        add_direct(self.app.state.direct_routes, generation)
        routers = [
            responses_router(StoredResponses(state, self.background), models, bodies),
            conversations_router(Conversations(conversations, state), bodies),
            messages_router(models, bodies),
            models_router(models, int(time.time())),
            tokenize_router(models, bodies),
            grammars_router(models, bodies),
        ]

        async def with_key(request: Request) -> None:
            exchange_of(request).client = self._identify(request)

        for router in routers:
            self.app.include_router(router, dependencies=[Depends(with_key)])
        self.app.state.endpoints = endpoints_of([generation, *routers])
        self._add_sockets(bodies)

    def _add_sockets(self, bodies: BodyReader) -> None:
        sockets = ResponsesSocket(
            self.app,
            self._identify,
            bodies,
            most=self.settings.max_websockets,
            limit=BodyLimit(self.settings.max_body_bytes, self.settings.largest_body_bytes),
        )
        self.app.add_api_websocket_route(SOCKET_PATH, sockets.serve)
        self.metrics.watch("websockets", "Open WebSockets", lambda: {"open": sockets.open})

    def _add_operators(self, bodies: BodyReader, keys: AdminKeys) -> None:
        async def with_admin_key(request: Request) -> None:
            keys.check(request.headers.get("authorization"))
            exchange_of(request).client = OPERATORS

        models, processes = self.components.models, self.settings.processes
        for router in (
            admin_router(models, bodies),
            worker_router(models, bodies),
            adapter_router(models, bodies, self.log),
            debug_router(self.requests),
            constraint_router(models, bodies, self.log, processes=processes),
        ):
            self.app.include_router(router, dependencies=[Depends(with_admin_key)])

    def _add_public(self, admin_keys: AdminKeys) -> None:
        """Add health, metrics and pages, which need no key."""
        app, settings = self.app, self.settings
        app.include_router(
            operations_router(
                self.components.models,
                self.metrics,
                version=version(),
                cache=self.components.cache_stats,
                is_operator=lambda request: admin_keys.fits(request.headers.get("authorization")),
                is_draining=lambda: app.state.drain.draining,
            )
        )
        app.include_router(greeting_router())
        if settings.docs:
            app.include_router(docs_router(partial(_document, app, settings.keys_required)))
        if settings.ui:
            app.include_router(ui_router())

    def _bodies(self) -> BodyReader:
        settings, refused = self.settings, self.metrics.admission_refused.labels("arriving_bytes")
        return BodyReader(
            self.components.shared.offload,
            ArrivingBodies(settings.max_arriving_bytes, refused.inc),
            limit=BodyLimit(settings.max_body_bytes, settings.largest_body_bytes),
            max_values=settings.max_json_values,
            ignores_unknown=settings.unknown_fields == "ignore",
            timeout_s=settings.body_seconds,
        )

    def _identify(self, request: HTTPConnection) -> Client:
        """Return the client of a request. Raises ApiError."""
        address = "" if request.client is None else request.client.host
        return self.components.keys.identify(credential(request), address)


def _document(app: FastAPI, keys_required: bool) -> bytes:
    # imported late: most gateways are never asked
    from .openapi.document import build_document

    return build_document(app, keys_required=keys_required)
