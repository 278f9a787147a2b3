"""POST /v1/responses, and the stored responses: GET, DELETE, their input items, cancel."""

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field
from pydantic_core import to_json

from ..errors import client_left, unsupported_parameter
from ..observability.metrics import Metrics
from ..protocol.responses.request import ResponseRequest
from ..protocol.validation import Lenient
from ..server.event_stream import Disconnected, EventStream, run_until_disconnect
from ..service.responses_service import ResponsesService
from .body import BodyReader, validated


class ItemsQuery(Lenient):
    """The query of a page of items."""

    limit: int = Field(20, ge=1, le=100)
    order: Literal["asc", "desc"] = "desc"
    after: str | None = None


def responses_router(
    service: ResponsesService, metrics: Metrics, bodies: BodyReader, *, comment_seconds: float
) -> APIRouter:
    """Return the routes. ``comment_seconds``: see EventStream."""
    router = APIRouter()

    @router.post("/v1/responses")
    async def create(request: Request) -> Response:
        asked, size = await bodies.read(ResponseRequest, request)
        request_id: str = request.state.request_id
        client: str = request.state.client
        try:
            if asked.stream:
                stream = await run_until_disconnect(
                    service.stream(asked, request_id, client, size=size), request.receive
                )
                # for the end of a shutdown, see RequestMiddleware
                request.state.failed = stream.failed
                return EventStream(
                    stream,
                    headers=stream.headers,
                    comment_seconds=comment_seconds,
                    on_disconnect=metrics.disconnects.inc,
                )
            answer = await run_until_disconnect(
                service.complete(asked, request_id, client, size=size), request.receive
            )
            return _json(answer.body, answer.headers)
        except Disconnected:
            metrics.disconnects.inc()
            raise client_left() from None

    @router.get("/v1/responses/{number}")
    async def retrieve(number: str, request: Request) -> Response:
        if request.query_params.get("stream", "false").lower() != "false":
            raise unsupported_parameter("stream")
        return _json(await service.retrieve(number, request.state.client))

    @router.delete("/v1/responses/{number}")
    async def delete(number: str, request: Request) -> dict[str, Any]:
        return await service.delete(number, request.state.client)

    @router.post("/v1/responses/{number}/cancel")
    async def cancel(number: str, request: Request) -> None:
        await service.cancel(number, request.state.client)

    @router.get("/v1/responses/{number}/input_items")
    async def input_items(number: str, request: Request) -> Response:
        query: dict[str, Any] = dict(request.query_params)
        limit = query.get("limit", "")
        if limit.isdecimal() and len(limit) < 10:
            query["limit"] = int(limit)
        asked = validated(ItemsQuery, query)
        page = await service.input_items(
            number,
            request.state.client,
            limit=asked.limit,
            after=asked.after,
            newest_first=asked.order == "desc",
        )
        return _json(page)

    return router


def _json(body: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer, written as the events of streams are."""
    return Response(to_json(body), headers=headers, media_type="application/json")
