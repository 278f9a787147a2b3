"""POST /v1/responses, and the stored responses: GET, DELETE, their input items, cancel."""

from collections.abc import Mapping
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import Field
from pydantic_core import to_json

from ..errors import unsupported_parameter
from ..protocol.responses.request import ResponseRequest
from ..protocol.validation import Lenient
from ..service.generation_service import Completion
from ..service.served_models import ServedModels
from ..service.stored_responses import StoredResponses
from .answering import Answering
from .body import BodyReader, validated


class ItemsQuery(Lenient):
    """The query of a page of items."""

    limit: int = Field(20, ge=1, le=100)
    order: Literal["asc", "desc"] = "desc"
    after: str | None = None


def responses_router(
    models: ServedModels, stored: StoredResponses, answering: Answering, bodies: BodyReader
) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/v1/responses")
    async def create(request: Request) -> Response:
        ticket = await answering.begin(request)
        asked, size = await bodies.read(ResponseRequest, request)
        model = models.find(asked.model)
        return await answering.answer(
            request,
            ticket,
            model,
            model.responses,
            asked.model_copy(update={"model": model.name}),
            size=size,
            is_stream=bool(asked.stream),
            encode=_encoded,
        )

    @router.get("/v1/responses/{number}")
    async def retrieve(number: str, request: Request) -> Response:
        if request.query_params.get("stream", "false").lower() != "false":
            raise unsupported_parameter("stream")
        return _json(await stored.retrieve(number, request.state.client.id))

    @router.delete("/v1/responses/{number}")
    async def delete(number: str, request: Request) -> dict[str, Any]:
        return await stored.delete(number, request.state.client.id)

    @router.post("/v1/responses/{number}/cancel")
    async def cancel(number: str, request: Request) -> None:
        await stored.cancel(number, request.state.client.id)

    @router.get("/v1/responses/{number}/input_items")
    async def input_items(number: str, request: Request) -> Response:
        query: dict[str, Any] = dict(request.query_params)
        limit = query.get("limit", "")
        if limit.isdecimal() and len(limit) < 10:
            query["limit"] = int(limit)
        asked = validated(ItemsQuery, query)
        page = await stored.input_items(
            number,
            request.state.client.id,
            limit=asked.limit,
            after=asked.after,
            newest_first=asked.order == "desc",
        )
        return _json(page)

    return router


def _encoded(whole: Completion) -> Response:
    return _json(whole.body, whole.headers)


def _json(body: dict[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer, written as the events of streams are."""
    return Response(to_json(body), headers=headers, media_type="application/json")
