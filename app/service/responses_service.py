"""The use case of /v1/responses: create a response.

    request, chain of earlier responses -> Conversation -> ChatRequest -> the generation
    items of its one choice -> a response, or the events of a stream -> the store

Not here   the generation (generation_service), items and messages (protocol.responses), the store
           (state).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import ValidationError

from ..concurrency import LARGE_BYTES, Offload
from ..errors import ApiError, bad_request
from ..observability import RequestRecord
from ..protocol import (
    ITEMS,
    ChatRequest,
    ContentItem,
    Conversation,
    ItemReference,
    LeftOutItem,
    MessageItem,
    ResponseRequest,
    ToolNames,
    common_form,
    item_id,
    listed,
    new_response_id,
    pointer,
    renamed,
    renamed_places,
    response_of,
)
from ..state import MOST_CHAIN_ITEMS, Chain, ResponseStore, previous_not_found
from ..writers import (
    ResponseBuilder,
    ResponseEventWriter,
    ResponseObject,
    ResponseWriter,
    response_object,
)
from .generation_service import AnswerStream, Completion, GenerationService


@dataclass(frozen=True, slots=True)
class BegunResponse:
    """A response before its generation."""

    chat: ChatRequest
    places: list[str]
    tools: list[str]
    builder: ResponseBuilder

    def rename(self, error: ApiError) -> ApiError:
        """Return an error of the generation with this API's names."""
        return renamed(error, self.places, self.tools)

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of an answer with this API's names."""
        return {name: renamed_places(value, self.tools) for name, value in headers.items()}


class ResponsesService:
    """The responses of one model. ``on_unstored``: called for each that could not be stored."""

    def __init__(
        self,
        generation: GenerationService,
        store: ResponseStore,
        offload: Offload,
        *,
        on_unstored: Callable[[], None] = lambda: None,
    ) -> None:
        self._generation = generation
        self._store = store
        self._offload = offload
        self._on_unstored = on_unstored

    async def complete(
        self,
        request: ResponseRequest,
        record: RequestRecord,
    ) -> Completion:
        """Return a whole response. Raises ApiError."""
        begun = await self._begin(request, record)
        try:
            answer = await self._generation.complete(
                begun.chat,
                lambda _: ResponseWriter(begun.builder),
                record,
            )
        except ApiError as error:
            raise begun.rename(error) from error
        return Completion(answer.body, begun.headers(answer.headers))

    async def stream(
        self,
        request: ResponseRequest,
        record: RequestRecord,
    ) -> AnswerStream:
        """Return the events of a response. Raises ApiError only here."""
        begun = await self._begin(request, record)
        try:
            stream = await self._generation.stream(
                begun.chat,
                lambda _: ResponseEventWriter(begun.builder, begun.rename),
                record,
            )
        except ApiError as error:
            raise begun.rename(error) from error
        stream.headers = begun.headers(stream.headers)
        return stream

    # -- the beginning -----------------------------------------------------------------------------

    async def _begin(self, request: ResponseRequest, record: RequestRecord) -> BegunResponse:
        client, chain = record.client, Chain()
        if request.previous_response_id is not None:
            chain = await self._store.chain(client, request.previous_response_id)
        added = await self._input(request, record)
        record.size += chain.size
        size = record.size
        _check_length(len(chain.items), len(added))
        number, names = new_response_id(), ToolNames(request.tools or ())
        step = partial(_read, request, number, chain, added, names)
        # like the parsing of a body: small requests take less time than a change of threads
        read = step() if size < LARGE_BYTES else await self._offload.run(client, size, step)
        conversation, inputs = read

        async def save(response: ResponseObject) -> bool:
            is_stored = await self._store.save(client, response, inputs, chain, size=size)
            if not is_stored:
                self._on_unstored()
            return is_stored

        begun = response_object(request, number, int(time.time()))
        common = common_form(request, conversation, names)
        record.ignored += [*names.ignored, *conversation.ignored]
        return BegunResponse(
            common,
            conversation.places,
            names.places,
            ResponseBuilder(begun, None if request.store is False else save, names.named),
        )

    async def _input(
        self, request: ResponseRequest, record: RequestRecord
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
        found = await self._referenced(references, record.client) if references else {}
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
                record.ignored.append(f"{pointer(place)} {item.type}")
            else:
                added.append((place, item))
        return added

    async def _referenced(self, ids: list[str], client: str) -> dict[str, ContentItem]:
        owners = dict.fromkeys(owner for each in ids if (owner := response_of(each)))
        wanted = set(ids)
        turns = await self._store.turns(client, list(owners))
        items = [item for turn in turns if turn for item in turn.items if item.get("id") in wanted]
        try:
            return {item.id: item for item in ITEMS.validate_python(items)}
        except ValidationError:
            return {}


def _check_length(earlier: int, added: int) -> None:
    if earlier + added > MOST_CHAIN_ITEMS:
        raise bad_request(
            f"The conversation is too long: at most {MOST_CHAIN_ITEMS:,} items are allowed, but "
            f"earlier responses have {earlier:,} and the input has {added:,}.",
            "previous_response_id" if earlier else "input",
            "conversation_too_long",
        )
    if not earlier + added:
        raise bad_request(
            "Missing required parameter: 'input'.", "input", "missing_required_parameter"
        )


def _read(
    request: ResponseRequest,
    number: str,
    chain: Chain,
    added: list[tuple[str, ContentItem]],
    names: ToolNames,
) -> tuple[Conversation, list[dict[str, Any]]]:
    """Return the messages (instructions, earlier responses, the request's own items), and the own
    items as they are listed. ``number``: the response's id.

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
    inputs = [
        listed(item, item_id(item.type, number, "i", at)) for at, (_, item) in enumerate(added)
    ]
    return conversation, inputs
