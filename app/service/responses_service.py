"""The use case of /v1/responses: create a response.

    request, chain of earlier responses -> Conversation -> GenerationRequest -> the generation
    items of its one choice -> a response, or the events of a stream -> the store

Not here   the generation (generation_service), items (protocol.responses), messages
           (common_form.responses), the store (state).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from pydantic import ValidationError

from ..common_form import Conversation, ToolNames, common_response
from ..errors import ApiError, bad_request, missing_parameter
from ..generation import GenerationRequest
from ..protocol import (
    ITEMS,
    LOADED_TOOLS,
    ContentItem,
    ItemReference,
    LeftOutItem,
    LoadedToolsItem,
    MessageItem,
    ResponseRequest,
    item_id,
    listed,
    new_response_id,
    pointer,
    response_of,
)
from ..state import MAX_CHAIN_ITEMS, Chain, ResponseStore, previous_not_found
from ..writers import (
    ResponseEventWriter,
    ResponseObject,
    ResponseWriter,
    response_object,
)
from .generation_service import AnswerStream, Completion, GenerationService, Read
from .request_context import RequestContext


@dataclass(frozen=True, slots=True)
class ResponsesService:
    """The responses of one model. ``on_unstored``: called for each that could not be stored."""

    generation: GenerationService
    store: ResponseStore
    _: KW_ONLY
    on_unstored: Callable[[], None] = lambda: None

    async def complete(self, request: ResponseRequest, context: RequestContext) -> Completion:
        """Return a whole response. Raises ApiError."""
        read, writer, context = await self._begin(request, context)
        return await self.generation.complete(read, lambda _: writer, context)

    async def stream(self, request: ResponseRequest, context: RequestContext) -> AnswerStream:
        """Return the events of a response. Raises ApiError only here."""
        read, writer, context = await self._begin(request, context)
        return await self.generation.stream(read, lambda _: ResponseEventWriter(writer), context)

    # -- the beginning -----------------------------------------------------------------------------

    async def _begin(
        self, request: ResponseRequest, context: RequestContext
    ) -> tuple[Read, ResponseWriter, RequestContext]:
        """Return how the request is read, its response, and its context with earlier responses."""
        client, chain = context.client, Chain()
        if request.previous_response_id is not None:
            chain = await self.store.chain(client, request.previous_response_id)
        added = await self._input(request, context)
        size = context.size + chain.size
        _check_length(len(chain.items), len(added))
        number = new_response_id()
        names = ToolNames(request.tools or (), _loaded(chain, added))
        inputs: list[dict[str, Any]] = []

        def read() -> GenerationRequest:
            conversation = _conversation(request, chain, added, names)
            inputs.extend(
                listed(item, item_id(item.type, number, "i", at))
                for at, (_, item) in enumerate(added)
            )
            return common_response(request, conversation, names)

        async def save(response: ResponseObject) -> bool:
            is_stored = await self.store.save(client, response, inputs, chain, size=size)
            if not is_stored:
                self.on_unstored()
            return is_stored

        begun = response_object(request, context.model, number, int(time.time()))
        writer = ResponseWriter(begun, None if request.store is False else save, names.named)
        return read, writer, replace(context, size=size)

    async def _input(
        self, request: ResponseRequest, context: RequestContext
    ) -> list[tuple[str, ContentItem]]:
        """Return the request's own items with their places; references are followed, and items
        that prompts cannot show are left out.

        Raises:
            ApiError: 404, no stored response of the client has a referenced item.
        """
        if isinstance(request.input, str):
            return [("input", MessageItem(role="user", content=request.input))]
        items = request.input or []
        references = [item.id for item in items if isinstance(item, ItemReference)]
        found = await self._referenced(references, context.client) if references else {}
        added: list[tuple[str, ContentItem]] = []
        for number, item in enumerate(items):
            place = f"input[{number}]"
            if isinstance(item, ItemReference):
                if item.id not in found:
                    raise ApiError(
                        404, f"Item with id '{item.id[:100]}' not found.", param=f"{place}.id"
                    )
                added.append((place, found[item.id]))
            elif isinstance(item, LeftOutItem):
                context.record.ignored.append(f"{pointer(place)} {item.type}")
            else:
                added.append((place, item))
        return added

    async def _referenced(self, ids: list[str], client: str) -> dict[str, ContentItem]:
        owners = dict.fromkeys(owner for each in ids if (owner := response_of(each)))
        wanted = set(ids)
        turns = await self.store.turns(client, list(owners))
        items = [item for turn in turns if turn for item in turn.items if item.get("id") in wanted]
        try:
            return {item.id: item for item in ITEMS.validate_python(items)}
        except ValidationError:
            return {}


def _check_length(earlier: int, added: int) -> None:
    if earlier + added > MAX_CHAIN_ITEMS:
        raise bad_request(
            f"The conversation is too long: at most {MAX_CHAIN_ITEMS:,} items are allowed, but "
            f"earlier responses have {earlier:,} and the input has {added:,}.",
            "previous_response_id" if earlier else "input",
            "conversation_too_long",
        )
    if not earlier + added:
        raise missing_parameter("input")


def _loaded(
    chain: Chain, added: list[tuple[str, ContentItem]]
) -> Iterator[tuple[str, LoadedToolsItem]]:
    """Yield the items of a conversation that load tools, each with its place."""
    for item in chain.items:
        if item.get("type") in LOADED_TOOLS:
            with suppress(ValidationError):  # damaged: _conversation refuses it
                yield "previous_response_id", LoadedToolsItem.model_validate(item)
    for place, each in added:
        if isinstance(each, LoadedToolsItem):
            yield place, each


def _conversation(
    request: ResponseRequest, chain: Chain, added: list[tuple[str, ContentItem]], names: ToolNames
) -> Conversation:
    """Return the messages: instructions, earlier responses, the request's own items.

    Raises:
        ApiError: 400, stored items are damaged.
    """
    conversation = Conversation(names.flat)
    if request.instructions:
        conversation.instruct(request.instructions)
    try:
        earlier = ITEMS.validate_python(list(chain.items))
    except ValidationError:
        raise previous_not_found(request.previous_response_id or "") from None
    conversation.add(("previous_response_id", item) for item in earlier)
    conversation.add(added)
    conversation.close()
    return conversation
