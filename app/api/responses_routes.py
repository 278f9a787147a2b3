"""Stored responses and their input items; the tokens of a prompt, and compacted conversations."""

from typing import Any

from fastapi import APIRouter, Request, Response

from ..openapi import operation, query
from ..protocol import CompactRequest, InputTokensRequest, ItemsQuery, RetrieveQuery
from ..server import EventStream, Pulled
from ..service import InputTokens, ItemPage, ResponseDeleted, ServedModels, StoredResponses
from ..writers import CompactedResponse, ResponseEvent, ResponseObject
from .body import BodyReader, validated
from .exchange import exchange_of
from .model_uses import used
from .surfaces import exact_json

#: the query of a page of items
PAGE = (
    query(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
        "Items of a page.",
    ),
    query("order", {"enum": ["asc", "desc"], "default": "desc"}, "`desc`: the last one first."),
    query("after", {"type": "string"}, "The id of the last item of the page before."),
)
_RETRIEVE = operation(
    "retrieve_response",
    "Read a stored response",
    tag="Responses",
    answer=ResponseObject,
    events=ResponseEvent,
    errors=(404,),
    parameters=(
        query("stream", {"type": "boolean", "default": False}, "`true`: its events, again."),
        query(
            "starting_after",
            {"type": "integer", "minimum": 0, "maximum": 999_999_999},
            "With `stream`, events after this sequence number.",
        ),
    ),
)
_DELETE = operation(
    "delete_response",
    "Delete a stored response",
    description="Delete a stored response. Conversations that continue it are lost, too.",
    tag="Responses",
    answer=ResponseDeleted,
    errors=(404,),
)
_CANCEL = operation(
    "cancel_response",
    "Cancel a response in the background",
    description="End a response in the background. One that has ended stays as it is.",
    tag="Responses",
    answer=ResponseObject,
    errors=(404,),
)
_INPUT_ITEMS = operation(
    "list_input_items",
    "List the input items of a stored response",
    tag="Responses",
    answer=ItemPage,
    errors=(404,),
    parameters=PAGE,
)


_COUNT = operation(
    "count_input_tokens",
    "Count the tokens of a response's prompt",
    tag="Responses",
    body=InputTokensRequest,
    answer=InputTokens,
    errors=(404,),
    example={"model": "my-model", "input": "Hello"},
)


_COMPACT = operation(
    "compact_response",
    "Compact a conversation",
    description="Compact a conversation: messages of users and instructions are kept, and all "
    "else becomes one short sealed text, which later requests take as an item.",
    tag="Responses",
    body=CompactRequest,
    answer=CompactedResponse,
    errors=(404,),
    example={"model": "my-model", "input": "Hello"},
)


def responses_router(
    stored: StoredResponses, models: ServedModels, bodies: BodyReader
) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/v1/responses/input_tokens", **_COUNT)
    async def count(request: Request) -> InputTokens:
        return await used(
            InputTokensRequest, request, models, bodies, lambda model: model.responses.count
        )

    @router.post("/v1/responses/compact", **_COMPACT)
    async def compact(request: Request) -> Response:
        compacted = await used(
            CompactRequest, request, models, bodies, lambda model: model.responses.compact
        )
        return exact_json(compacted)

    @router.get("/v1/responses/{response_id}", **_RETRIEVE)
    async def retrieve(response_id: str, request: Request) -> Response:
        asked = validated(RetrieveQuery, query_values(request))
        client = exchange_of(request).client.id
        if asked.stream == "true":
            events = await stored.replay(response_id, client, after=asked.starting_after)
            return EventStream(Pulled(events))
        found = await stored.retrieve(response_id, client)
        return exact_json(found.body, found.headers)

    @router.delete("/v1/responses/{response_id}", **_DELETE)
    async def delete(response_id: str, request: Request) -> ResponseDeleted:
        return await stored.delete(response_id, exchange_of(request).client.id)

    @router.post("/v1/responses/{response_id}/cancel", **_CANCEL)
    async def cancel(response_id: str, request: Request) -> Response:
        return exact_json(await stored.cancel(response_id, exchange_of(request).client.id))

    @router.get("/v1/responses/{response_id}/input_items", **_INPUT_ITEMS)
    async def input_items(response_id: str, request: Request) -> Response:
        asked = validated(ItemsQuery, query_values(request))
        page = await stored.input_items(
            response_id,
            exchange_of(request).client.id,
            limit=asked.limit,
            after=asked.after,
            newest_first=asked.order == "desc",
        )
        return exact_json(page)

    return router


def query_values(request: Request) -> dict[str, Any]:
    """Return the query of a request, with its numbers as such."""
    query: dict[str, Any] = dict(request.query_params)
    for name in ("limit", "starting_after"):
        value = query.get(name, "")
        if value.isdecimal() and len(value) < 100:
            query[name] = int(value)
    return query
