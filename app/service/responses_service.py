"""The use cases of /v1/responses that read a conversation: create a response, count its tokens,
and compact the conversation.

    request, chain of earlier responses -> Conversation -> GenerationRequest -> the generation
    items of its one choice -> a response, or the events of a stream -> the store

Not here   the generation (generation_service), items (protocol.responses), messages
           (common_form.responses), the store (state).
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

from pydantic import ValidationError
from typing_extensions import TypedDict

from ..common_form import Conversation, ToolNames, common_response, is_kept, transcript
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
from ..sealing import Seal
from ..state import MAX_CHAIN_ITEMS, Chain, ResponseStore, previous_not_found
from ..writers import (
    CompactedResponse,
    CompactionOutput,
    ResponseEventWriter,
    ResponseObject,
    ResponseWriter,
    compacted_response,
    response_object,
)
from .generation_service import AnswerStream, Completion, GenerationService, Read
from .request_context import RequestContext


class InputTokens(TypedDict):
    object: Literal["response.input_tokens"]
    input_tokens: int


@dataclass(frozen=True, slots=True)
class ResponsesService:
    """The responses of one model. ``on_unstored``: called for each that could not be stored."""

    generation: GenerationService
    store: ResponseStore
    seal: Seal
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

    async def count(self, request: ResponseRequest, context: RequestContext) -> InputTokens:
        """Return how many tokens the prompt has. Raises ApiError."""
        gathered = await self._gather(request, context)
        read = partial(self._read, request, gathered, context.client)
        count = await self.generation.count(read, replace(context, size=gathered.size))
        return {"object": "response.input_tokens", "input_tokens": count}

    async def compact(self, request: ResponseRequest, context: RequestContext) -> CompactedResponse:
        """Return the conversation in short. Raises ApiError."""
        gathered = await self._gather(request, context)
        step = partial(self._compacted, request, gathered, context)
        compacted = await self.generation.read(step, context.client, gathered.size)
        self.generation.metrics.left_out(context.record)
        return compacted

    def _compacted(
        self, request: ResponseRequest, gathered: "_Gathered", context: RequestContext
    ) -> CompactedResponse:
        """Return a compacted conversation, in time proportional to it. Raises ApiError."""
        items = [*_earlier(request, gathered.chain), *gathered.added]
        conversation = Conversation(gathered.names.flat, partial(self.seal.open, context.client))
        conversation.add(items)
        conversation.close()
        context.record.ignored += conversation.ignored
        number, short = new_response_id(), transcript(conversation.messages)
        kept = [item for _, item in items if is_kept(item)]
        output = [listed(each, item_id(each.type, number, "o", n)) for n, each in enumerate(kept)]
        compaction: CompactionOutput = {
            "id": item_id("compaction", number, "o", len(kept)),
            "type": "compaction",
            "encrypted_content": self.seal.seal(context.client, short, "compaction"),
        }
        return compacted_response(number, int(time.time()), [*output, compaction])

    # -- the beginning -----------------------------------------------------------------------------

    async def _begin(
        self, request: ResponseRequest, context: RequestContext
    ) -> tuple[Read, ResponseWriter, RequestContext]:
        """Return how the request is read, its response, and its context with earlier responses."""
        gathered = await self._gather(request, context)
        client, number, size = context.client, new_response_id(), gathered.size
        inputs: list[dict[str, Any]] = []

        def read() -> GenerationRequest:
            inputs.extend(
                listed(item, item_id(item.type, number, "i", at))
                for at, (_, item) in enumerate(gathered.added)
            )
            return self._read(request, gathered, client)

        async def save(response: ResponseObject) -> bool:
            chain = gathered.chain
            is_stored = await self.store.save(client, response, inputs, chain, size=size)
            if not is_stored:
                self.on_unstored()
            return is_stored

        begun = response_object(request, context.model, number, int(time.time()))
        seal = partial(self.seal.seal, client) if request.wants_sealed_reasoning else None
        kept = None if request.store is False else save
        writer = ResponseWriter(begun, kept, gathered.names.named, seal)
        return read, writer, replace(context, size=size)

    async def _gather(self, request: ResponseRequest, context: RequestContext) -> "_Gathered":
        """Return what the request is made of. Raises ApiError."""
        chain = Chain()
        if request.previous_response_id is not None:
            chain = await self.store.chain(context.client, request.previous_response_id)
        added = await self._input(request, context)
        _check_length(len(chain.items), len(added))
        names = ToolNames(request.tools or (), _loaded(chain, added))
        return _Gathered(chain, added, names, context.size + chain.size)

    def _read(
        self, request: ResponseRequest, gathered: "_Gathered", client: str
    ) -> GenerationRequest:
        """Return the request in the common form. Raises ApiError."""
        conversation = Conversation(gathered.names.flat, partial(self.seal.open, client))
        _fill(conversation, request, gathered.chain, gathered.added)
        return common_response(request, conversation, gathered.names)

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
                context.record.ignored.append(f"{pointer(place)} {item.kind}")
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


@dataclass(frozen=True, slots=True)
class _Gathered:
    """A conversation before it is read: earlier responses, the request's own items with their
    places, the names of its tools, and the bytes of all.
    """

    chain: Chain
    added: list[tuple[str, ContentItem]]
    names: ToolNames
    size: int


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


def _earlier(request: ResponseRequest, chain: Chain) -> list[tuple[str, ContentItem]]:
    """Return the items of earlier responses with their place. Raises ApiError 400 if damaged."""
    try:
        items = ITEMS.validate_python(list(chain.items))
    except ValidationError:
        raise previous_not_found(request.previous_response_id or "") from None
    return [("previous_response_id", item) for item in items]


def _fill(
    conversation: Conversation,
    request: ResponseRequest,
    chain: Chain,
    added: list[tuple[str, ContentItem]],
) -> None:
    """Add the messages: instructions, earlier responses, the request's own items.

    Raises:
        ApiError: 400, stored items are damaged.
    """
    if request.instructions:
        conversation.instruct(request.instructions)
    conversation.add(_earlier(request, chain))
    conversation.add(added)
    conversation.close()
