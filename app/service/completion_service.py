"""The use case of /v1/completions: its writers around the generation of answers to plain prompts.

Without a response format the answer is free text of any kind, but without control tokens. There
are no calls and no reasoning: their marks are text.

Representation   choice ``n * p + c`` is the one with number c of prompt p.
Not here         the generation (generation_service), the objects of answers
                 (writers.text_completions).
"""

from functools import partial

from ..common_form import common_completion
from ..protocol import CompletionRequest
from ..writers import Envelope, TextChunkWriter, TextWriter
from .generation_service import AnswerStream, Completion, GenerationService
from .prepared_request import PreparedRequest
from .request_context import RequestContext


class CompletionService:
    """The text completions of one model."""

    def __init__(self, generation: GenerationService, *, system_fingerprint: str) -> None:
        self._generation = generation
        self._envelope = partial(Envelope.new, "cmpl", system_fingerprint=system_fingerprint)

    async def complete(self, request: CompletionRequest, context: RequestContext) -> Completion:
        """Return a whole completion. Raises ApiError."""

        def writer(prepared: PreparedRequest) -> TextWriter:
            echoes = [choice.echo for choice in prepared.choices]
            return TextWriter(self._envelope(context.model), echoes, prepared.sampling.choices)

        return await self._generation.complete(partial(common_completion, request), writer, context)

    async def stream(self, request: CompletionRequest, context: RequestContext) -> AnswerStream:
        """Return the events of a completion, the last one is [DONE]. Raises ApiError only here."""

        def writer(prepared: PreparedRequest) -> TextChunkWriter:
            echoes = [choice.echo for choice in prepared.choices]
            return TextChunkWriter(
                self._envelope(context.model),
                echoes,
                prepared.sampling.choices,
                include_usage=request.includes_usage,
            )

        return await self._generation.stream(partial(common_completion, request), writer, context)
