"""Admitted answers: from a request's headers to the last byte of its answer, the same for each API.

ticket = await answering.begin(exchange, request)    refusals that need no body
body, size = await bodies.read(...)
return await answering.answer(...)                   waits for its turn, then answers
"""

import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, TypeVar

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from ..access import Client
from ..admission import Admission, Ticket
from ..errors import client_left
from ..observability import Logger, Metrics, Outcome, RequestLog, RequestRecord
from ..protocol import ResponseRequest
from ..server import Comments, Disconnected, EventStream, Pulled, run_until_disconnect
from ..service import (
    AnswerStream,
    BackgroundResponses,
    NamedModel,
    RequestContext,
    ServedModel,
    ServedModels,
)
from .body import BodyReader
from .body_limit import announced_size
from .exchange import Exchange, exchange_of
from .surfaces import SURFACES, Body, Surface, exact_json

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Answering:
    """See the file's header. ``comments``: of all event streams."""

    admission: Admission
    background: BackgroundResponses
    metrics: Metrics
    requests: RequestLog
    logger: Logger
    _: KW_ONLY
    comments: Comments

    async def begin(self, exchange: Exchange, request: Request) -> Ticket:
        """Return the request's ticket. Raises ApiError.

        It is closed as soon as the work is done, so that the client's next request need not wait,
        and at the end of the request in any case.
        """
        record = exchange.record
        self.requests.begin(record, request.headers.get("traceparent"))
        ticket = Ticket(self.admission, exchange.client, record, exchange.answer_headers)
        exchange.at_end.callback(ticket.close)
        await ticket.charge(announced_size(request))
        return ticket

    async def answer(
        self,
        surface: Surface[Body],
        named: NamedModel,
        body: Body,
        *,
        size: int,
        ticket: Ticket,
        request: Request,
    ) -> Response:
        """Wait for the request's turn, and return its answer. Raises ApiError.

        ``size``: bytes of the body.
        """
        model = named.model
        # for the log line of the request
        structlog.contextvars.bind_contextvars(model=model.name)
        exchange, service = exchange_of(request), surface.service(model)
        record = exchange.record
        record.model, record.adapter, record.is_stream = (
            model.name,
            named.adapter,
            bool(body.stream),
        )
        context = exchange.context(named.id, size, named.adapter)
        if body.runs_in_background and isinstance(body, ResponseRequest):
            return await self._begin_run(model, body, context, ticket, exchange)

        async def admitted(work: Callable[[Body, RequestContext], Awaitable[Answer]]) -> Answer:
            await ticket.enter(model.name, body.choices, size)
            return await work(body, context)

        try:
            if body.stream:
                stream = await run_until_disconnect(
                    admitted(service.stream), request.receive, request.scope
                )
                # for the end of a shutdown, see RequestMiddleware
                exchange.failed = stream.failed
                return EventStream(
                    stream,
                    headers=stream.headers,
                    comments=self.comments,
                    comment=surface.keep_alive,
                    on_disconnect=partial(self._leave, record),
                    on_end=ticket.close,
                )
            whole = await run_until_disconnect(
                admitted(service.complete), request.receive, request.scope
            )
            ticket.close()
            return surface.encode(whole)
        except Disconnected:
            self.metrics.disconnects.inc()
            raise client_left() from None

    async def _begin_run(
        self,
        model: ServedModel,
        body: ResponseRequest,
        context: RequestContext,
        ticket: Ticket,
        exchange: Exchange,
    ) -> Response:
        """Begin a response in the background, which has a record of its own. Raises ApiError."""
        asked = exchange.record
        record = RequestRecord(
            asked.id,
            asked.key,
            model=model.name,
            adapter=asked.adapter,
            is_stream=asked.is_stream,
        )
        record.ignored += asked.ignored
        with self.background.slot(exchange.client.id) as at_end:
            begun = await model.responses.background(body, replace(context, record=record))
            asked.ignored[:] = begun.ignored
            at_end.push(exchange.at_end.pop_all())
            at_end.callback(self._end_run, record)
            ticket.record = record
            self.requests.begin(record)

            async def begin() -> AnswerStream:
                await ticket.enter(model.name, body.choices, context.size)
                return await begun.begin()

            await self.background.start(replace(begun, begin=begin), at_end)
        exchange.name_ignored()
        if not body.stream:
            return exact_json(begun.response)
        events = self.background.follow(begun.response["id"], exchange.client.id)
        return EventStream(Pulled(events), comments=self.comments)

    def _end_run(self, record: RequestRecord) -> None:
        seconds = time.perf_counter() - record.started
        outcome: Outcome = {"route": "background", "status": 200, "ms": round(seconds * 1000, 1)}
        facts = self.requests.end(record, method="POST", outcome=outcome)
        self.logger.info("background response", id=record.id, **outcome, **facts)

    def _leave(self, record: RequestRecord) -> None:
        self.metrics.disconnects.inc()
        record.error = client_left().code


class _DirectRoute(APIRoute):
    """A route whose endpoint alone answers a request. It has no dependencies, since FastAPI's way
    through them takes 30 us of CPU, a fifth of all that happens around the endpoint.

    Raises:
        ValueError: it has dependencies, which would not be called.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        if self.dependant.dependencies:
            raise ValueError(f"dependencies of {self.path} would not be called")
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint


def generation_router(
    models: ServedModels,
    answering: Answering,
    bodies: BodyReader,
    identify: Callable[[Request], Client],
) -> APIRouter:
    """Return the routes of all APIs that generate.

    ``identify`` returns the client of a request. Raises ApiError.
    """
    router = APIRouter(route_class=_DirectRoute)
    for surface in SURFACES:
        create = _route(surface, models, answering, bodies, identify)
        router.post(surface.path, **surface.operation)(create)
    return router


def _route(
    surface: Surface[Any],
    models: ServedModels,
    answering: Answering,
    bodies: BodyReader,
    identify: Callable[[Request], Client],
) -> Callable[[Request], Awaitable[Response]]:
    async def create(request: Request) -> Response:
        exchange = exchange_of(request)
        exchange.client = identify(request)
        ticket = await answering.begin(exchange, request)
        body, size = await bodies.read(surface.body, request)
        ticket.count_off(exchange.media_bytes)
        named = models.usable(body.model, exchange.client)
        # before the wait for a turn, since it bounds the number of choices
        body.check()
        return await answering.answer(
            surface, named, body, size=size, ticket=ticket, request=request
        )

    return create
