"""The use case of /v1/chat/completions: its writers around the generation of answers.

    items of choices -> a completion; or the chunks of a stream, the last event is [DONE]

Not here   the generation (generation_service), the objects of answers (writers.chat_objects).
"""

from functools import partial

from ..common_form import common_chat, is_legacy
from ..protocol import ChatRequest
from ..writers import ChunkWriter, CompletionWriter, Envelope
from .generation_service import AnswerStream, Completion, GenerationService
from .prepared_request import PreparedRequest
from .request_context import RequestContext


class ChatService:
    """The chat completions of one model."""

    def __init__(self, generation: GenerationService, *, system_fingerprint: str) -> None:
        self._generation = generation
        self._envelope = partial(Envelope.new, "chatcmpl", system_fingerprint=system_fingerprint)

    async def complete(self, request: ChatRequest, context: RequestContext) -> Completion:
        """Return a whole completion. Raises ApiError."""

        def writer(prepared: PreparedRequest) -> CompletionWriter:
            return CompletionWriter(
                self._envelope(context.model, has_tier=request.service_tier is not None),
                prepared.output.tool_choice,
                prepared.sampling.choices,
                legacy=is_legacy(request),
            )

        return await self._generation.complete(partial(common_chat, request), writer, context)

    async def stream(self, request: ChatRequest, context: RequestContext) -> AnswerStream:
        """Return the events of a completion, the last one is [DONE]. Raises ApiError only here."""

        def writer(prepared: PreparedRequest) -> ChunkWriter:
            return ChunkWriter(
                self._envelope(context.model, has_tier=request.service_tier is not None),
                prepared.output.tool_choice,
                prepared.sampling.choices,
                include_usage=request.includes_usage,
                legacy=is_legacy(request),
            )

        return await self._generation.stream(partial(common_chat, request), writer, context)
