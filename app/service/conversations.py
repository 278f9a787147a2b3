"""The use cases of stored conversations, and of their items.

All models share the store. Responses add their items through ``append``.
"""

from collections.abc import Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from ..errors import ApiError, bad_request
from ..protocol import ContentItem, InputItem, item_id, listed
from ..state import (
    MAX_CHAIN_ITEMS,
    ConversationStore,
    ResponseStore,
    StoredConversation,
    new_conversation,
)
from .pages import ItemPage, page_of
from .request_context import RequestContext
from .response_input import followed


class ConversationObject(TypedDict):
    """A conversation without its items."""

    id: str
    object: Literal["conversation"]
    created_at: int
    metadata: dict[str, str]


class ConversationDeleted(TypedDict):
    id: str
    object: Literal["conversation.deleted"]
    deleted: bool


class Conversations:
    """The conversations of one app; a client finds its own only."""

    def __init__(self, store: ConversationStore, responses: ResponseStore) -> None:
        self._store = store
        self._responses = responses

    async def create(
        self, items: list[InputItem], metadata: dict[str, str], context: RequestContext
    ) -> ConversationObject:
        """Store a conversation. Raises ApiError."""
        conversation = new_conversation(metadata)
        _extend(conversation, await self._content(items, context))
        await self._store.save(context.client, conversation)
        return _shown(conversation)

    async def retrieve(self, number: str, client: str) -> ConversationObject:
        """Return a conversation. Raises ApiError 404 or 503."""
        conversation, _ = await self._store.read(client, number)
        return _shown(conversation)

    async def update(
        self, number: str, client: str, metadata: dict[str, str]
    ) -> ConversationObject:
        """Replace the metadata. Raises ApiError 400, 404 or 503."""

        def change(conversation: StoredConversation) -> None:
            conversation.metadata = metadata

        return _shown(await self._store.change(client, number, change))

    async def delete(self, number: str, client: str) -> ConversationDeleted:
        """Delete a conversation. Raises ApiError 400, 404 or 503."""
        await self._store.delete(client, number)
        return {"id": number, "object": "conversation.deleted", "deleted": True}

    async def items(
        self, number: str, client: str, *, limit: int, after: str | None, newest_first: bool
    ) -> ItemPage:
        """Return a page of the items. Raises ApiError 400, 404 or 503."""
        conversation, _ = await self._store.read(client, number)
        return page_of(conversation.items, limit=limit, after=after, newest_first=newest_first)

    async def add(self, number: str, items: list[InputItem], context: RequestContext) -> ItemPage:
        """Add items, and return them. Raises ApiError."""
        content = await self._content(items, context)
        added: list[dict[str, Any]] = []

        def change(conversation: StoredConversation) -> None:
            added.extend(_extend(conversation, content))

        await self._store.change(context.client, number, change)
        return page_of(added, limit=len(added), after=None, newest_first=False)

    async def item(self, number: str, item: str, client: str) -> dict[str, Any]:
        """Return one item. Raises ApiError 404 or 503."""
        conversation, _ = await self._store.read(client, number)
        return conversation.items[_index(conversation, item)]

    async def remove(self, number: str, item: str, client: str) -> ConversationObject:
        """Delete one item. Raises ApiError 400, 404 or 503."""

        def change(conversation: StoredConversation) -> None:
            del conversation.items[_index(conversation, item)]

        return _shown(await self._store.change(client, number, change))

    async def _content(self, items: list[InputItem], context: RequestContext) -> list[ContentItem]:
        """Return the items that prompts can show, with references followed. Raises ApiError."""
        placed = await followed(items, self._responses, context, field="items")
        return [item for _, item in placed]


async def append(
    store: ConversationStore, client: str, number: str, items: Sequence[dict[str, Any]]
) -> None:
    """Add the items of a response, which have ids. Raises ApiError 400, 404 or 503."""
    await store.change(client, number, lambda conversation: _add(conversation, items))


def _extend(conversation: StoredConversation, items: Sequence[ContentItem]) -> list[dict[str, Any]]:
    """Add items, and return them as they are listed. Raises ApiError 400."""
    count = len(conversation.items) + len(items)
    if count > MAX_CHAIN_ITEMS:
        raise bad_request(
            f"The conversation is too long: at most {MAX_CHAIN_ITEMS:,} items are allowed, got "
            f"{count:,}.",
            "items",
            "conversation_too_long",
        )
    _add(conversation, [listed(item, "") for item in items])
    return conversation.items[len(conversation.items) - len(items) :]


def _add(conversation: StoredConversation, items: Sequence[dict[str, Any]]) -> None:
    """Add items; one without an id of its own, or with one that is taken, gets another."""
    taken = {item.get("id") for item in conversation.items}
    for item in items:
        shown, number = _typed(item), item["id"]
        if number in taken and item["type"] == "local_shell_call_output":
            # its id names its call
            shown = {"call_id": number, **shown}
        if not number or number in taken:
            number = item_id(item["type"], conversation.id, "i", conversation.added)
        taken.add(number)
        conversation.added += 1
        conversation.items.append({**shown, "id": number})


def _typed(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item with the fields that it has in conversations."""
    if item["type"] in ("custom_tool_call", "custom_tool_call_output"):
        return {name: each for name, each in item.items() if name != "status"}
    return item


def _index(conversation: StoredConversation, item: str) -> int:
    for number, each in enumerate(conversation.items):
        if each.get("id") == item:
            return number
    raise ApiError(404, f"Item with id '{item[:100]}' not found.")


def _shown(conversation: StoredConversation) -> ConversationObject:
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created_at,
        "metadata": conversation.metadata,
    }
