"""The use case of /v1/messages: its writers around the generation of answers; and of its prompts'
token counts.

Not here   the generation (generation_service), blocks and events (writers.message_writers).
"""

from collections.abc import Callable
from functools import partial

from typing_extensions import TypedDict

from ..common_form import common_count, common_message
from ..generation import GenerationRequest
from ..protocol import CountRequest, MessagesRequest
from ..sealing import Seal
from ..writers import MessageBlocks, MessageEventWriter, MessageObject, MessageWriter, begun_message
from .generation_service import AnswerStream, Completion, GenerationService
from .prepared_request import PreparedRequest
from .request_context import RequestContext


class TokenCount(TypedDict):
    input_tokens: int


class MessagesService:
    """The messages of one model."""

    def __init__(self, generation: GenerationService, seal: Seal) -> None:
        self._generation = generation
        self._seal = seal

    async def complete(self, request: MessagesRequest, context: RequestContext) -> Completion:
        """Return a whole message. Raises ApiError."""

        def writer(prepared: PreparedRequest) -> MessageWriter:
            blocks = self._blocks(request, context.client)
            return MessageWriter(_begun(prepared, context), blocks)

        return await self._generation.complete(self._read(request, context), writer, context)

    async def stream(self, request: MessagesRequest, context: RequestContext) -> AnswerStream:
        """Return the events of a message. Raises ApiError only here."""

        def writer(prepared: PreparedRequest) -> MessageEventWriter:
            blocks = self._blocks(request, context.client)
            return MessageEventWriter(_begun(prepared, context), blocks, context.record.id)

        return await self._generation.stream(self._read(request, context), writer, context)

    async def count(self, request: CountRequest, context: RequestContext) -> TokenCount:
        """Return how many tokens the prompt has. Raises ApiError."""
        read = partial(common_count, request, partial(self._seal.open, context.client))
        return {"input_tokens": await self._generation.count(read, context)}

    def _read(
        self, request: MessagesRequest, context: RequestContext
    ) -> Callable[[], GenerationRequest]:
        most = self._generation.settings.max_completion_tokens
        return partial(common_message, request, partial(self._seal.open, context.client), most)

    def _blocks(self, request: MessagesRequest, client: str) -> MessageBlocks:
        thinking = request.thinking
        omitted = thinking is not None and thinking.display == "omitted"
        return MessageBlocks(partial(self._seal.seal, client), shows_thoughts=not omitted)


def _begun(prepared: PreparedRequest, context: RequestContext) -> MessageObject:
    # by now a worker has counted the tokens of images, unless it is slow
    tokens = max(context.record.prompt_tokens, prepared.choices[0].prompt_tokens)
    return begun_message(context.model, tokens)
