"""The input of a response: earlier responses, and the request's own items.

References to stored items are followed, items that prompts cannot show are left out, and updates of
the configuration take effect.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from ..common_form import Conversation, ToolNames
from ..errors import ApiError, bad_request, missing_parameter
from ..protocol import (
    ITEMS,
    LOADED_TOOLS,
    CompactionTriggerItem,
    ConfigurationItem,
    ContentItem,
    InputItem,
    ItemReference,
    LeftOutItem,
    LoadedToolsItem,
    MessageItem,
    ResponseRequest,
    item_id,
    listed,
    pointer,
    response_of,
)
from ..state import (
    MAX_CHAIN_ITEMS,
    Chain,
    ConversationStore,
    ResponseStore,
    conversation_not_found,
    previous_not_found,
)
from .request_context import RequestContext

Kind = TypeVar("Kind", LoadedToolsItem, ConfigurationItem)
#: an item and its place in the request
Placed = tuple[str, ContentItem]


@dataclass(frozen=True, slots=True)
class ResponseInput:
    """A conversation before it is read.

    ``request``   with the settings of the conversation's updates.
    ``chain``     earlier responses, or the items of a conversation.
    ``added``     the request's own items.
    ``names``     of its tools.
    ``size``      bytes of all.
    """

    request: ResponseRequest
    chain: Chain
    added: list[Placed]
    names: ToolNames
    size: int

    def items(self) -> list[Placed]:
        """Return all items. Raises ApiError 400 or 404 if stored ones are damaged."""
        try:
            earlier = ITEMS.validate_python(list(self.chain.items))
        except ValidationError:
            raise self._damaged() from None
        if not all(isinstance(item, ContentItem) for item in earlier):
            raise self._damaged()
        return [*((_place(self.request), item) for item in earlier), *self.added]

    def _damaged(self) -> ApiError:
        number = self.request.conversation_id
        if number is not None:
            return conversation_not_found(number)
        return previous_not_found(self.request.previous_response_id or "")

    @property
    def before(self) -> Chain:
        """The responses that this one continues."""
        return self.chain if self.request.conversation_id is None else Chain()

    def listed(self, number: str) -> list[dict[str, Any]]:
        """Return the request's own items as the API lists them; ``number``: of the response."""
        return [
            listed(item, item_id(item.type, number, "i", at))
            for at, (_, item) in enumerate(self.added)
        ]

    def fill(self, conversation: Conversation) -> None:
        """Add all messages: instructions, then items. Raises ApiError 400, see ``items``."""
        if self.request.instructions:
            conversation.instruct(self.request.instructions)
        conversation.add(self.items())
        conversation.close()


async def gather(
    request: ResponseRequest,
    store: ResponseStore,
    conversations: ConversationStore,
    context: RequestContext,
) -> ResponseInput:
    """Return the input of a request. Raises ApiError."""
    chain = Chain()
    if request.previous_response_id is not None:
        chain = await store.chain(context.client, request.previous_response_id)
    elif request.conversation_id is not None:
        found, size = await conversations.read(context.client, request.conversation_id)
        chain = Chain((), tuple(found.items), size)
    given: str | list[InputItem] = request.input or []
    text = MessageItem(role="user", content=given) if isinstance(given, str) else None
    asked: list[InputItem] = [text] if text else list(given)  # type: ignore[arg-type]
    if request.compacts:
        asked.pop()
    added = await followed(asked, store, context)
    if text:
        added = [("input", item) for _, item in added]
    place = _place(request)
    _check_length(len(chain.items), len(added), place)
    loaded = _stored(LoadedToolsItem, LOADED_TOOLS, chain, added, place)
    names = ToolNames(request.tools or (), loaded)
    updates = _stored(ConfigurationItem, ("configuration_update",), chain, added, place)
    request = request.configured(each for _, each in updates)
    return ResponseInput(request, chain, added, names, context.size + chain.size)


async def followed(
    items: list[InputItem], store: ResponseStore, context: RequestContext, *, field: str = "input"
) -> list[Placed]:
    """Return items with their places; ``field``: of the request.

    Raises:
        ApiError: 404, no stored response of the client has a referenced item.
    """
    references = [item.id for item in items if isinstance(item, ItemReference)]
    found = await _referenced(references, store, context.client) if references else {}
    placed: list[Placed] = []
    for number, item in enumerate(items):
        place = f"{field}[{number}]"
        if isinstance(item, ItemReference):
            if item.id not in found:
                raise ApiError(
                    404, f"Item with id '{item.id[:100]}' not found.", param=f"{place}.id"
                )
            placed.append((place, found[item.id]))
        elif isinstance(item, LeftOutItem):
            context.record.ignored.append(f"{pointer(place)} {item.kind}")
        elif isinstance(item, CompactionTriggerItem):
            context.record.ignored.append(f"{pointer(place)} {item.type}")
        else:
            placed.append((place, item))
    return placed


async def _referenced(ids: list[str], store: ResponseStore, client: str) -> dict[str, ContentItem]:
    owners = dict.fromkeys(owner for each in ids if (owner := response_of(each)))
    wanted = set(ids)
    turns = await store.turns(client, list(owners))
    items = [item for turn in turns if turn for item in turn.items if item.get("id") in wanted]
    try:
        return {item.id: item for item in ITEMS.validate_python(items)}
    except ValidationError:
        return {}


def _place(request: ResponseRequest) -> str:
    """Return the field that brings earlier items."""
    return "previous_response_id" if request.conversation_id is None else "conversation"


def _check_length(earlier: int, added: int, place: str) -> None:
    if earlier + added > MAX_CHAIN_ITEMS:
        raise bad_request(
            f"The conversation is too long: at most {MAX_CHAIN_ITEMS:,} items are allowed, but "
            f"earlier responses have {earlier:,} and the input has {added:,}.",
            place if earlier else "input",
            "conversation_too_long",
        )
    if not earlier + added:
        raise missing_parameter("input")


def _stored(
    kind: type[Kind], types: tuple[str, ...], chain: Chain, added: list[Placed], before: str
) -> Iterator[tuple[str, Kind]]:
    """Yield the items of one kind in a conversation, each with its place; ``before``: that of the
    chain.
    """
    for item in chain.items:
        if item.get("type") in types:
            with suppress(ValidationError):  # damaged: ``items`` refuses it
                yield before, kind.model_validate(item)
    for place, each in added:
        if isinstance(each, kind):
            yield place, each
