"""The use case of /v1/chat/completions: its writers around the generation of answers.

    items of choices -> a completion; or the chunks of a stream, the last event is [DONE]

Not here   the generation (generation_service), the objects of answers (protocol.answers).
"""

import time
import uuid
from typing import Any

from ..errors import ApiError
from ..generation.choice_decoder import ChoiceDeltas, ChoiceEnd
from ..observability.request_record import RequestRecord
from ..protocol.answers import (
    ChoiceStream,
    Envelope,
    MessageBuilder,
    choice_object,
    finish_reason,
    usage,
)
from ..protocol.chat_request import ChatRequest
from ..protocol.legacy_functions import is_legacy, legacy_choice, legacy_error, with_tools
from ..server.event_stream import DONE, event
from .generation_service import (
    AnswerStream,
    Completion,
    GenerationService,
    PreparedRequest,
)
from .writers import Batch


class ChatService:
    """The chat completions of one model."""

    def __init__(
        self, generation: GenerationService, *, model: str, system_fingerprint: str
    ) -> None:
        self._generation = generation
        self._model = model
        self._system_fingerprint = system_fingerprint

    async def complete(
        self,
        request: ChatRequest,
        record: RequestRecord,
    ) -> Completion:
        """Return a whole completion. Raises ApiError."""
        legacy, request = is_legacy(request), with_tools(request)

        def writer(prepared: PreparedRequest) -> CompletionWriter:
            return CompletionWriter(self._envelope(), prepared, legacy=legacy)

        try:
            return await self._generation.complete(request, writer, record)
        except ApiError as error:
            raise (legacy_error(error) if legacy else error) from error.__cause__

    async def stream(
        self,
        request: ChatRequest,
        record: RequestRecord,
    ) -> AnswerStream:
        """Return the events of a completion, the last one is [DONE]. Raises ApiError only here."""
        options = request.stream_options
        include_usage = options is not None and bool(options.include_usage)

        legacy, request = is_legacy(request), with_tools(request)

        def writer(prepared: PreparedRequest) -> ChunkWriter:
            return ChunkWriter(
                self._envelope(), prepared, include_usage=include_usage, legacy=legacy
            )

        try:
            return await self._generation.stream(request, writer, record)
        except ApiError as error:
            raise (legacy_error(error) if legacy else error) from error.__cause__

    def _envelope(self) -> Envelope:
        return Envelope(
            f"chatcmpl-{uuid.uuid4().hex}", int(time.time()), self._model, self._system_fingerprint
        )


class CompletionWriter:
    """Writes a whole completion; with ``legacy`` a call is a ``function_call``."""

    def __init__(
        self, envelope: Envelope, prepared: PreparedRequest, *, legacy: bool = False
    ) -> None:
        self._envelope = envelope
        self._legacy = legacy
        self._mode = prepared.output.tool_choice
        self._messages = [MessageBuilder() for _ in range(prepared.sampling.choices)]
        self._endings: dict[int, ChoiceEnd] = {}

    def write(self, batch: Batch) -> None:
        """Add items."""
        for number, item in batch:
            if isinstance(item, ChoiceDeltas):
                self._messages[number].add(item)
            else:
                self._endings[number] = item

    async def whole(self) -> dict[str, Any]:
        """Return the completion."""
        choices = [
            choice_object(number, message, finish_reason(self._endings[number], self._mode))
            for number, message in enumerate(self._messages)
        ]
        if self._legacy:
            choices = [legacy_choice(choice) for choice in choices]
        return self._envelope.completion(choices, usage(list(self._endings.values())))


class ChunkWriter:
    """Writes the chunks of a completion; with ``include_usage`` each has the key ``usage``, and a
    last one has the numbers. With ``legacy`` a call is a ``function_call``.
    """

    def __init__(
        self,
        envelope: Envelope,
        prepared: PreparedRequest,
        *,
        include_usage: bool,
        legacy: bool = False,
    ) -> None:
        self._envelope = envelope
        self._legacy = legacy
        self._mode = prepared.output.tool_choice
        self._include_usage = include_usage
        self._streams = [
            ChoiceStream(envelope, number) for number in range(prepared.sampling.choices)
        ]
        self._endings: list[ChoiceEnd] = []

    def begin(self) -> bytes:
        """Return nothing: the first delta begins a choice."""
        return b""

    def write(self, batch: Batch) -> bytes:
        """Return the chunks of these items."""
        extra = {"usage": None} if self._include_usage else {}
        chunks: list[dict[str, Any]] = []
        for number, item in batch:
            if isinstance(item, ChoiceDeltas):
                chunks += self._streams[number].deltas(item)
            else:
                self._endings.append(item)
                chunks += self._streams[number].end(finish_reason(item, self._mode))
        if self._legacy:
            for chunk in chunks:
                chunk["choices"] = [legacy_choice(choice) for choice in chunk["choices"]]
        return b"".join(event(chunk | extra) for chunk in chunks)

    async def end(self) -> bytes:
        """Return the chunk of the usage, if it was asked for, and [DONE]."""
        if not self._include_usage:
            return DONE
        return event(self._envelope.chunk([]) | {"usage": usage(self._endings)}) + DONE

    def failed(self, error: ApiError) -> bytes:
        """Return the error as the last event."""
        return event(error.body())
