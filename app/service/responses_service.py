"""The use cases of /v1/responses that read a conversation: create a response, count its tokens,
and compact the conversation.

    ResponseInput -> Conversation -> GenerationRequest -> the generation
    items of its one choice -> a response, or the events of a stream -> the store

Not here   the input (response_input), the generation (generation_service), messages
           (common_form.responses), the store (state).
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Literal

from typing_extensions import TypedDict

from ..common_form import Conversation, common_response, is_kept, transcript
from ..constraints import several_calls
from ..generation import GenerationRequest
from ..observability import IGNORED_HEADER, header_listing
from ..protocol import ResponseRequest, item_id, listed, new_response_id
from ..sealing import Seal
from ..state import Chain, ConversationStore, ResponseStore
from ..writers import (
    CompactedResponse,
    CompactionOutput,
    ResponseEventWriter,
    ResponseObject,
    ResponseWriter,
    compacted_response,
    immediate_response,
    named_event,
    replayed,
    response_object,
)
from .background_run import BegunResponse
from .conversations import append
from .generation_service import AnswerStream, Completion, GenerationService, Read
from .request_context import RequestContext
from .response_input import ResponseInput, gather

#: tries to store a response in the background, a second apart
BACKGROUND_TRIES = 5


class InputTokens(TypedDict):
    object: Literal["response.input_tokens"]
    input_tokens: int


@dataclass(frozen=True, slots=True)
class ResponsesService:
    """The responses of one model. ``on_unstored``: called for each that could not be stored."""

    generation: GenerationService
    store: ResponseStore
    conversations: ConversationStore
    seal: Seal
    _: KW_ONLY
    on_unstored: Callable[[], None] = lambda: None

    async def complete(self, request: ResponseRequest, context: RequestContext) -> Completion:
        """Return a whole response. Raises ApiError."""
        given = await gather(request, self.store, self.conversations, context)
        if request.is_immediate:
            return Completion(*await self._immediate(given, context))
        context = replace(context, size=given.size)
        read, writer = self._begin(given, context)
        return await self.generation.complete(read, lambda _: writer, context)

    async def stream(self, request: ResponseRequest, context: RequestContext) -> AnswerStream:
        """Return the events of a response. Raises ApiError only here."""
        given = await gather(request, self.store, self.conversations, context)
        if request.is_immediate:
            response, headers = await self._immediate(given, context)
            return AnswerStream.of(map(named_event, replayed(response)), headers)
        context = replace(context, size=given.size)
        read, writer = self._begin(given, context)
        return await self.generation.stream(read, lambda _: ResponseEventWriter(writer), context)

    async def background(self, request: ResponseRequest, context: RequestContext) -> BegunResponse:
        """Store a response that waits, and return how it begins. Raises ApiError."""
        given = await gather(request, self.store, self.conversations, context)
        client, context = context.client, replace(context, size=given.size)
        read, writer = self._begin(given, context, tries=BACKGROUND_TRIES)
        asked = await self.generation.read(read, client, given.size)
        unseen = self.generation.prompts.left_out(asked)
        ignored = [*context.record.ignored, *asked.ignored, *unseen]
        events = ResponseEventWriter(writer)
        queued: ResponseObject = {**writer.begun, "status": "queued"}
        inputs = given.listed(queued["id"])
        if not await self.store.save(client, queued, inputs, given.before, size=given.size):
            raise self.store.unsaved(inputs)

        async def begin() -> AnswerStream:
            return await self.generation.stream(lambda: asked, lambda _: events, context)

        assert writer.save is not None, "a background response is stored"
        return BegunResponse(
            client,
            queued,
            events,
            writer.save,
            begin,
            bool(request.stream),
            context.record,
            ignored,
        )

    async def count(self, request: ResponseRequest, context: RequestContext) -> InputTokens:
        """Return how many tokens the prompt has. Raises ApiError."""
        given = await gather(request, self.store, self.conversations, context)
        context = replace(context, size=given.size)
        count = await self.generation.count(partial(self._read, given, context.client), context)
        return {"object": "response.input_tokens", "input_tokens": count}

    async def compact(self, request: ResponseRequest, context: RequestContext) -> CompactedResponse:
        """Return the conversation in short. Raises ApiError."""
        given = await gather(request, self.store, self.conversations, context)
        number = new_response_id()
        kept, compaction = await self._compacted(given, number, context)
        return compacted_response(number, int(time.time()), [*kept, compaction])

    # -- answers that no model makes ---------------------------------------------------------------

    async def _immediate(
        self, given: ResponseInput, context: RequestContext
    ) -> tuple[ResponseObject, dict[str, str]]:
        """Return a response and its headers: the conversation in short, which later responses
        continue without what it replaces, or no output. Raises ApiError.
        """
        request, number = given.request, new_response_id()
        output: list[CompactionOutput] = []
        if request.compacts:
            inputs, compaction = await self._compacted(given, number, context)
            output, before = [compaction], Chain()
        else:
            inputs, before = await self._checked(given, number, context), given.before
        now = int(time.time())
        several = self._several_calls(request)
        response = immediate_response(
            request, context.model, number, now, output, several_calls=several
        )
        await self._append(request, context.client, [*given.listed(number), *output])
        if request.store is not False:
            save = self.store.save
            response["store"] = await save(
                context.client, response, inputs, before, size=given.size
            )
            if not response["store"]:
                self.on_unstored()
        return response, header_listing(IGNORED_HEADER, context.record.ignored)

    async def _checked(
        self, given: ResponseInput, number: str, context: RequestContext
    ) -> list[dict[str, Any]]:
        """Return the request's own items, after all has been read. Raises ApiError."""

        def step() -> list[dict[str, Any]]:
            context.record.ignored += self._read(given, context.client).ignored
            return given.listed(number)

        inputs = await self.generation.read(step, context.client, given.size)
        self.generation.metrics.left_out(context.record)
        return inputs

    async def _compacted(
        self, given: ResponseInput, number: str, context: RequestContext
    ) -> tuple[list[dict[str, Any]], CompactionOutput]:
        """Return the items that stay, and one in place of the others. Raises ApiError."""
        step = partial(self._short, given, number, context)
        compacted = await self.generation.read(step, context.client, given.size)
        self.generation.metrics.left_out(context.record)
        return compacted

    def _short(
        self, given: ResponseInput, number: str, context: RequestContext
    ) -> tuple[list[dict[str, Any]], CompactionOutput]:
        """Return the same, in time proportional to the conversation. Raises ApiError."""
        items = given.items()
        conversation = Conversation(given.names.flat, partial(self.seal.open, context.client))
        conversation.add(items)
        conversation.close()
        context.record.ignored += conversation.ignored
        kept = [item for _, item in items if is_kept(item)]
        output = [listed(each, item_id(each.type, number, "o", n)) for n, each in enumerate(kept)]
        compaction: CompactionOutput = {
            "id": item_id("compaction", number, "o", len(kept)),
            "type": "compaction",
            "encrypted_content": self.seal.seal(
                context.client, transcript(conversation.messages), "compaction"
            ),
        }
        return output, compaction

    # -- the beginning -----------------------------------------------------------------------------

    def _begin(
        self, given: ResponseInput, context: RequestContext, *, tries: int = 1
    ) -> tuple[Read, ResponseWriter]:
        """Return how the request is read, and its response, which is stored in so many tries."""
        client, number, request = context.client, new_response_id(), given.request
        inputs: list[dict[str, Any]] = []

        def read() -> GenerationRequest:
            inputs.extend(given.listed(number))
            return self._read(given, client)

        async def save(response: ResponseObject) -> bool:
            if response["status"] in ("completed", "incomplete"):
                await self._append(request, client, [*inputs, *response["output"]])
            for each in range(tries if request.store is not False else 0):
                await asyncio.sleep(min(1, each))
                if await self.store.save(client, response, inputs, given.before, size=given.size):
                    return True
            if request.store is not False:
                self.on_unstored()
            return False

        now, several = int(time.time()), self._several_calls(request)
        begun = response_object(request, context.model, number, now, several_calls=several)
        seal = partial(self.seal.seal, client) if request.wants_sealed_reasoning else None
        is_kept = request.store is not False or request.conversation_id is not None
        writer = ResponseWriter(begun, save if is_kept else None, given.names.named, seal)
        return read, writer

    def _several_calls(self, request: ResponseRequest) -> bool:
        prompts = self.generation.prompts
        asked = request.parallel_tool_calls
        is_parallel = prompts.tokenizer.wire.is_parallel
        return is_parallel and several_calls(asked, prompts.settings, prompts.shown)

    async def _append(self, request: ResponseRequest, client: str, items: Sequence[Any]) -> None:
        """Add the items of a response to its conversation, if it has one. Raises ApiError."""
        if request.conversation_id is not None:
            await append(self.conversations, client, request.conversation_id, items)

    def _read(self, given: ResponseInput, client: str) -> GenerationRequest:
        """Return the request in the common form. Raises ApiError."""
        conversation = Conversation(given.names.flat, partial(self.seal.open, client))
        given.fill(conversation)
        return common_response(given.request, conversation, given.names)
