"""Stored conversations: create, read, update and delete them, and their items."""

from typing import TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from ..openapi import operation
from ..protocol import (
    ConversationItemsRequest,
    ConversationRequest,
    ConversationUpdate,
    ItemsQuery,
)
from ..service import (
    ConversationDeleted,
    ConversationObject,
    Conversations,
    ItemPage,
    RequestContext,
)
from ..writers import ListedItem
from .body import BodyReader, validated
from .exchange import exchange_of
from .responses_routes import PAGE, query_values
from .surfaces import exact_json

Asked = TypeVar("Asked", bound=BaseModel)

_MESSAGE = {"type": "message", "role": "user", "content": "Hello"}
_CREATE = operation(
    "create_conversation",
    "Create a conversation",
    tag="Conversations",
    body=ConversationRequest,
    answer=ConversationObject,
    errors=(404,),
    example={"items": [_MESSAGE]},
    links={
        name: {"operationId": name, "parameters": {"conversation_id": "$response.body#/id"}}
        for name in ("retrieve_conversation", "list_conversation_items", "delete_conversation")
    },
)
_RETRIEVE = operation(
    "retrieve_conversation",
    "Read a conversation",
    tag="Conversations",
    answer=ConversationObject,
    errors=(404,),
)
_UPDATE = operation(
    "update_conversation",
    "Replace the metadata of a conversation",
    tag="Conversations",
    body=ConversationUpdate,
    answer=ConversationObject,
    errors=(404,),
    example={"metadata": {"topic": "weather"}},
)
_DELETE = operation(
    "delete_conversation",
    "Delete a conversation",
    tag="Conversations",
    answer=ConversationDeleted,
    errors=(404,),
)
_ITEMS = operation(
    "list_conversation_items",
    "List the items of a conversation",
    tag="Conversations",
    answer=ItemPage,
    errors=(404,),
    parameters=PAGE,
)
_ADD = operation(
    "create_conversation_items",
    "Add items to a conversation",
    tag="Conversations",
    body=ConversationItemsRequest,
    answer=ItemPage,
    errors=(404,),
    example={"items": [_MESSAGE]},
)
_ITEM = operation(
    "retrieve_conversation_item",
    "Read an item of a conversation",
    tag="Conversations",
    answer=ListedItem,
    errors=(404,),
)
_REMOVE = operation(
    "delete_conversation_item",
    "Delete an item of a conversation",
    tag="Conversations",
    answer=ConversationObject,
    errors=(404,),
)


def conversations_router(conversations: Conversations, bodies: BodyReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    async def read(kind: type[Asked], request: Request) -> tuple[Asked, RequestContext]:
        asked, size = await bodies.read(kind, request)
        return asked, exchange_of(request).context("", size)

    @router.post("/v1/conversations", **_CREATE)
    async def create(request: Request) -> ConversationObject:
        asked, context = await read(ConversationRequest, request)
        made = await conversations.create(asked.items or [], asked.metadata or {}, context)
        exchange_of(request).name_ignored()
        return made

    @router.get("/v1/conversations/{conversation_id}", **_RETRIEVE)
    async def retrieve(conversation_id: str, request: Request) -> ConversationObject:
        return await conversations.retrieve(conversation_id, _client(request))

    @router.post("/v1/conversations/{conversation_id}", **_UPDATE)
    async def update(conversation_id: str, request: Request) -> ConversationObject:
        asked, context = await read(ConversationUpdate, request)
        return await conversations.update(conversation_id, context.client, asked.metadata or {})

    @router.delete("/v1/conversations/{conversation_id}", **_DELETE)
    async def delete(conversation_id: str, request: Request) -> ConversationDeleted:
        return await conversations.delete(conversation_id, _client(request))

    @router.get("/v1/conversations/{conversation_id}/items", **_ITEMS)
    async def items(conversation_id: str, request: Request) -> Response:
        asked = validated(ItemsQuery, query_values(request))
        page = await conversations.items(
            conversation_id,
            _client(request),
            limit=asked.limit,
            after=asked.after,
            newest_first=asked.order == "desc",
        )
        return exact_json(page)

    @router.post("/v1/conversations/{conversation_id}/items", **_ADD)
    async def add(conversation_id: str, request: Request) -> Response:
        asked, context = await read(ConversationItemsRequest, request)
        added = await conversations.add(conversation_id, asked.items, context)
        exchange_of(request).name_ignored()
        return exact_json(added)

    @router.get("/v1/conversations/{conversation_id}/items/{item_id}", **_ITEM)
    async def item(conversation_id: str, item_id: str, request: Request) -> Response:
        return exact_json(await conversations.item(conversation_id, item_id, _client(request)))

    @router.delete("/v1/conversations/{conversation_id}/items/{item_id}", **_REMOVE)
    async def remove(conversation_id: str, item_id: str, request: Request) -> ConversationObject:
        return await conversations.remove(conversation_id, item_id, _client(request))

    return router


def _client(request: Request) -> str:
    return exchange_of(request).client.id
