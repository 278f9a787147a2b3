"""POST /v1/responses, and the stored responses: GET, DELETE, their input items, cancel."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from ..errors import unsupported_parameter
from ..openapi import operation, query
from ..protocol import ItemsQuery, ResponseRequest
from ..service import Completion, ResponseDeleted, ServedModels, StoredResponses
from .answering import Answering
from .body import BodyReader, validated

_CREATE = operation(
    "create_response",
    "Create a response",
    tag="Responses",
    body="ResponseRequest",
    answer="ResponseObject",
    events="ResponseEvent",
    example={"model": "my-model", "input": "How warm is it in Oslo?", "max_output_tokens": 500},
    links={
        name: {"operationId": name, "parameters": {"response_id": "$response.body#/id"}}
        for name in ("retrieve_response", "list_input_items", "cancel_response", "delete_response")
    },
)
_RETRIEVE = operation(
    "retrieve_response",
    "Read a stored response",
    tag="Responses",
    answer="ResponseObject",
    errors=(404,),
    parameters=(
        query("stream", {"type": "boolean", "enum": [False]}, "Events are not sent again."),
    ),
)
_DELETE = operation(
    "delete_response",
    "Delete a stored response",
    description="Delete a stored response. Conversations that continue it are lost, too.",
    tag="Responses",
    answer="ResponseDeleted",
    errors=(404,),
)
_CANCEL = operation(
    "cancel_response",
    "Cancel a response in the background",
    description="Always an error: this server has no responses in the background.",
    tag="Responses",
    errors=(404,),
)
_INPUT_ITEMS = operation(
    "list_input_items",
    "List the input items of a stored response",
    tag="Responses",
    answer="ItemPage",
    errors=(404,),
    parameters=(
        query(
            "limit",
            {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            "Items of a page.",
        ),
        query("order", {"enum": ["asc", "desc"], "default": "desc"}, "`desc`: the last one first."),
        query("after", {"type": "string"}, "The id of the last item of the page before."),
    ),
)


def responses_router(
    models: ServedModels, stored: StoredResponses, answering: Answering, bodies: BodyReader
) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/v1/responses", **_CREATE)
    async def create(request: Request) -> Response:
        ticket = await answering.begin(request)
        asked, size = await bodies.read(ResponseRequest, request)
        model = models.usable(asked.model, request.state.client)
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

    @router.get("/v1/responses/{response_id}", **_RETRIEVE)
    async def retrieve(response_id: str, request: Request) -> Response:
        if request.query_params.get("stream", "false").lower() != "false":
            raise unsupported_parameter("stream")
        return _json(await stored.retrieve(response_id, request.state.client.id))

    @router.delete("/v1/responses/{response_id}", **_DELETE)
    async def delete(response_id: str, request: Request) -> ResponseDeleted:
        return await stored.delete(response_id, request.state.client.id)

    @router.post("/v1/responses/{response_id}/cancel", status_code=400, **_CANCEL)
    async def cancel(response_id: str, request: Request) -> None:
        await stored.cancel(response_id, request.state.client.id)

    @router.get("/v1/responses/{response_id}/input_items", **_INPUT_ITEMS)
    async def input_items(response_id: str, request: Request) -> Response:
        query: dict[str, Any] = dict(request.query_params)
        limit = query.get("limit", "")
        if limit.isdecimal() and len(limit) < 10:
            query["limit"] = int(limit)
        asked = validated(ItemsQuery, query)
        page = await stored.input_items(
            response_id,
            request.state.client.id,
            limit=asked.limit,
            after=asked.after,
            newest_first=asked.order == "desc",
        )
        return _json(page)

    return router


def _encoded(whole: Completion) -> Response:
    return _json(whole.body, whole.headers)


def _json(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer, written as the events of streams are."""
    return Response(to_json(body), headers=headers, media_type="application/json")
