"""The use case of /v1/completions: prompts without a chat template.

    CompletionRequest -> parameters in the common form, token ids of each prompt -> the generation
    that chat completions have -> a text completion, or its chunks and [DONE]

Without a response format the answer is free text of any kind, but without control tokens. There
are no calls and no reasoning: their marks are text.

Representation   choice ``n * p + c`` is the one with number c of prompt p.
Not here         the generation (generation_service), the objects of answers
                 (writers.text_completions).
"""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from adapters.formats import OutputSpec

from ..common_form import common_completion
from ..concurrency import Offload
from ..constraints import ConstraintPlanner, Found, requested_output
from ..conversation import Tokenizer
from ..errors import ApiError, bad_request
from ..generation import GenerationRequest, check_ending, check_kept_logprobs, sampling_params
from ..pool import Pool
from ..protocol import CompletionRequest
from ..settings import MAX_JSON_VALUES, ModelSettings
from ..writers import TextChunkWriter, TextEnvelope, TextWriter
from .generation_service import (
    AnswerStream,
    Completion,
    GenerationService,
    PreparedRequest,
    plans_of,
)
from .request_context import RequestContext


@dataclass(frozen=True, slots=True)
class PreparedTexts(PreparedRequest):
    """A request that is ready for a worker; ``per_prompt`` choices for each prompt. ``echoes``: the
    text before each choice.
    """

    per_prompt: int
    echoes: tuple[str, ...]


class CompletionService:
    """The text completions of one model.

    ``planner``: of plain text (ConstraintPlanner.of_text). ``max_json_values``: of JSON that a
    request's field has as text.
    """

    def __init__(
        self,
        generation: GenerationService,
        *,
        settings: ModelSettings,
        offload: Offload,
        planner: ConstraintPlanner,
        tokenizer: Tokenizer,
        pool: Pool,
        system_fingerprint: str,
        max_json_values: int = MAX_JSON_VALUES,
    ) -> None:
        self._generation = generation
        self._settings = settings
        self._offload = offload
        self._planner = planner
        self._tokenizer = tokenizer
        self._pool = pool
        self._model = settings.served_model
        self._system_fingerprint = system_fingerprint
        self._max_json_values = max_json_values

    async def complete(self, request: CompletionRequest, context: RequestContext) -> Completion:
        """Return a whole completion. Raises ApiError."""

        def writer(prepared: PreparedTexts) -> TextWriter:
            return TextWriter(self._envelope(), prepared.echoes, prepared.per_prompt)

        return await self._generation.answer(self._prepare(request, context), writer, context)

    async def stream(self, request: CompletionRequest, context: RequestContext) -> AnswerStream:
        """Return the events of a completion, the last one is [DONE]. Raises ApiError only here."""
        options = request.stream_options
        include_usage = options is not None and bool(options.include_usage)

        def writer(prepared: PreparedTexts) -> TextChunkWriter:
            return TextChunkWriter(
                self._envelope(),
                prepared.echoes,
                prepared.per_prompt,
                include_usage=include_usage,
            )

        return await self._generation.answer_stream(
            self._prepare(request, context), writer, context
        )

    async def _prepare(self, body: CompletionRequest, context: RequestContext) -> PreparedTexts:
        read = partial(common_completion, body)
        request = await self._generation.read(read, context.client, context.size)
        try:
            return await self._ready(body, request, context)
        except ApiError as error:
            raise error.named(request.names) from error

    async def _ready(
        self, body: CompletionRequest, request: GenerationRequest, context: RequestContext
    ) -> PreparedTexts:
        vocabulary, client = self._tokenizer.vocabulary, context.client
        supported = self._pool.supported_sampling
        sampling = sampling_params(request.sampling, self._settings, vocabulary, supported)
        check_kept_logprobs(sampling, len(body.prompts), is_stream=bool(body.stream))
        planner = await self._planner.of_client(client)

        def step() -> tuple[OutputSpec, list[list[int]], list[str], Found]:
            output = self._output(request)
            prompts, texts = self._read_prompts(body)
            return output, prompts, texts, planner.find(output)

        output, prompts, texts, found = await self._offload.run(client, context.size, step)
        constraint = await planner.compiled(found, client)
        check_ending(sampling.options, constraint.format_plan.spec["format"], vocabulary)
        echoes = tuple(text for text in texts for _ in range(sampling.choices))
        return PreparedTexts(
            *(request.names, output, sampling, constraint, plans_of(prompts, sampling)),
            *(sampling.choices, echoes),
        )

    def _output(self, request: GenerationRequest) -> OutputSpec:
        """Return the output spec. Raises ApiError 400."""
        output = requested_output(request, self._settings, max_json_values=self._max_json_values)
        return replace(output, reasoning="off", thinking_tokens=None)

    def _read_prompts(self, request: CompletionRequest) -> tuple[list[list[int]], list[str]]:
        """Return the token ids of each prompt, and the text to echo.

        Raises:
            ApiError: 400; a prompt is empty, too long, or has an unknown id.
        """
        tokenizer, limit = self._tokenizer, self._pool.max_model_len
        special = request.add_special_tokens is not False
        prompts: list[list[int]] = []
        texts: list[str] = []
        for number, given in enumerate(request.prompts):
            place = request.place(number)
            if isinstance(given, str):
                ids = tokenizer.encode(given, add_special_tokens=special)
            else:
                ids = list(given)
                self._check_ids(ids, place)
            if not ids:
                raise bad_request(
                    f"Invalid '{place}': expected at least one token, got none.",
                    place,
                    "invalid_value",
                )
            if limit is not None and len(ids) >= limit:
                raise bad_request(
                    f"This model's maximum context length is {limit} tokens. However, your prompt "
                    f"has {len(ids)} tokens. Please reduce the length of the prompt.",
                    place,
                    "context_length_exceeded",
                )
            prompts.append(ids)
            text = given if isinstance(given, str) else ""
            texts.append((text or tokenizer.decode(ids)) if request.echo else "")
        return prompts, texts

    def _check_ids(self, ids: Sequence[int], place: str) -> None:
        size = self._tokenizer.vocabulary.size
        beyond = next((at for at, number in enumerate(ids) if number >= size), None)
        if beyond is not None:
            raise bad_request(
                f"Invalid '{place}[{beyond}]': expected token ids below {size}, got {ids[beyond]}.",
                f"{place}[{beyond}]",
                "invalid_value",
            )

    def _envelope(self) -> TextEnvelope:
        return TextEnvelope(
            f"cmpl-{uuid.uuid4().hex}", int(time.time()), self._model, self._system_fingerprint
        )
