"""The generation of answers, the same for every API.

    ChatRequest -> SamplingParams, OutputSpec, prompt -> ConstraintPlan -> one Generation per choice
    -> chunks -> deltas -> a writer: a whole answer, or the events of a stream

A ChatRequest is the common form of requests. Each API converts its requests to it, and has writers,
which turn the items of choices into its own objects.

Invariants   I1 all refusals come before the first byte: ``stream`` returns when
                every choice has its first chunk, or when the workers have been silent for
                ``stream_comment_seconds``. Later failures become events.
             I2 dropping an answer (cancellation, ``aclose``) ends the workers' generations.
             I3 an answer that could not be finished is an error, never a shorter answer.
Not here     HTTP (api), the objects of answers (chat_service, responses_service), the rules of
             requests (constraints.requested_output, conversation.history).
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from adapters.formats import OutputSpec
from adapters.workers import Generation, PromptTooLong

from ..constraints.planner import ConstraintPlan, ConstraintPlanner
from ..constraints.relaxation import relaxed_header
from ..constraints.requested_output import (
    output_after_prompt,
    requested_output,
    template_variables,
)
from ..conversation.history import check_order, plain_messages
from ..conversation.tokenizer import Prompt, Tokenizer
from ..errors import ApiError, model_not_found
from ..generation.choice_decoder import ChoiceEnd, ChoiceItem, decode_choice
from ..generation.content_stops import ContentStops
from ..generation.multiplexer import Multiplexer
from ..generation.sampling import SamplingParams, check_ending, sampling_params
from ..observability.metrics import Metrics
from ..pool.worker_pool import Pool
from ..protocol.answers import finish_reason
from ..protocol.chat_request import ChatRequest
from ..server.event_stream import cancel
from ..server.offload import Offload
from ..settings import Settings
from .faults import Faults
from .writers import Batch, EventWriter, WholeWriter

#: names the grammar engine that enforced the answer
BACKEND_HEADER = "x-switchyard-backend"
#: weight of a message or a past call, beside its bytes: some chat templates look at all others for
#: each of them, which takes seconds for 2,000
TURN_BYTES = 256


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request that is ready for a worker."""

    output: OutputSpec
    sampling: SamplingParams
    constraint: ConstraintPlan
    prompt: Prompt

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the answer."""
        return {BACKEND_HEADER: self.constraint.backend, **relaxed_header(self.constraint.relaxed)}


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer and its headers."""

    body: dict[str, Any]
    headers: dict[str, str]


class GenerationService:
    """The answers of one app; holds no state of a request."""

    def __init__(
        self,
        *,
        settings: Settings,
        offload: Offload,
        planner: ConstraintPlanner,
        tokenizer: Tokenizer,
        pool: Pool,
        metrics: Metrics,
        faults: Faults,
    ) -> None:
        self._settings = settings
        self._offload = offload
        self._planner = planner
        self._tokenizer = tokenizer
        self._pool = pool
        self._metrics = metrics
        self._faults = faults

    async def complete(
        self,
        request: ChatRequest,
        writer: Callable[[PreparedRequest], WholeWriter],
        request_id: str,
        client: str,
        *,
        size: int,
    ) -> Completion:
        """Return a whole answer; ``size``: bytes of the request's body. Raises ApiError."""
        try:
            start = time.perf_counter()
            prepared = await self._prepare(request, client, size)
            async with aclosing(self._multiplex(prepared)) as choices:
                await self._begin(choices, start)
                body = await self._collect(prepared, choices, writer(prepared))
                return Completion(body, prepared.headers)
        except Exception as error:
            raise self._faults.as_api_error(error, request_id) from error

    async def stream(
        self,
        request: ChatRequest,
        writer: Callable[[PreparedRequest], EventWriter],
        request_id: str,
        client: str,
        *,
        size: int,
    ) -> "AnswerStream":
        """Return the events of an answer. Raises ApiError only here."""
        start = time.perf_counter()
        try:
            prepared = await self._prepare(request, client, size)
            choices = self._multiplex(prepared)
            begun = asyncio.create_task(self._begin(choices, start))
            try:
                await _settle(begun, self._settings.stream_comment_seconds or None)
            except BaseException:
                # the choices have no owner yet, and may have started before a cancellation
                await cancel(begun)
                await choices.aclose()
                raise
        except Exception as error:
            raise self._faults.as_api_error(error, request_id) from error
        written = writer(prepared)
        events = self._events(prepared, choices, begun, written, request_id)
        return AnswerStream(events, choices, begun, prepared.headers, written.failed)

    # -- before the first byte --------------------------------------------------------------------

    def _multiplex(self, prepared: PreparedRequest) -> Multiplexer:
        return Multiplexer(
            [self._choice(prepared, number) for number in range(prepared.sampling.choices)],
            timeout=self._settings.request_timeout,
        )

    async def _begin(self, choices: Multiplexer, start: float) -> None:
        """Wait for the first chunk of every choice."""
        await choices.start()
        self._metrics.first_token_seconds.observe(time.perf_counter() - start)

    async def _prepare(self, request: ChatRequest, client: str, size: int) -> PreparedRequest:
        if request.model != self._settings.served_model:
            raise model_not_found(request.model)
        vocabulary = self._tokenizer.vocabulary
        sampling = sampling_params(
            request, self._settings, vocabulary, self._pool.supported_sampling
        )
        weight = size + TURN_BYTES * _turns(request)
        output, prompt = await self._offload.run(weight, partial(self._read, request))
        self._check_room(prompt)
        constraint = await self._planner.plan(output, client)
        check_ending(sampling.options, constraint.format_plan.spec["format"], vocabulary)
        return PreparedRequest(output, sampling, constraint, prompt)

    def _check_room(self, prompt: Prompt) -> None:
        """Raise PromptTooLong before compiling."""
        limit = self._pool.max_model_len
        if limit is not None and not isinstance(prompt, str) and len(prompt) >= limit:
            raise PromptTooLong(len(prompt), limit)

    def _read(self, request: ChatRequest) -> tuple[OutputSpec, Prompt]:
        """Return the output spec and the prompt; takes time in proportion to the request.

        Raises:
            ApiError: 400.
        """
        check_order(request.messages)
        output = requested_output(request, self._settings)
        rendered = self._tokenizer.render(
            plain_messages(request),
            output.prompt_tools,
            output,
            template_variables(request, output),
        )
        profile = self._tokenizer.profile
        one_call = profile is not None and profile.calls and not profile.parallel_calls
        return output_after_prompt(output, rendered.thought, one_call=one_call), rendered.prompt

    def _choice(self, prepared: PreparedRequest, number: int) -> AsyncGenerator[ChoiceItem, None]:
        sampling, constraint = prepared.sampling, prepared.constraint
        may_end = prepared.output.may_be_text
        generation = Generation(
            # ids of one length: SGLang aborts every request whose id begins with the given one
            rid=uuid.uuid4().hex,
            prompt=prepared.prompt,
            spec=constraint.spec,
            spec_kind=constraint.spec_kind,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed_of(number),
            sampling=sampling.options,
        )
        return self._pool.generate(
            generation,
            lambda chunks: decode_choice(
                chunks,
                constraint.parser(),
                constraint.reader(),
                ContentStops(sampling.stop, may_end=may_end),
                self._tokenizer.vocabulary.tokens,
            ),
        )

    # -- answers -----------------------------------------------------------------------------------

    async def _collect(
        self, prepared: PreparedRequest, choices: Multiplexer, writer: WholeWriter
    ) -> dict[str, Any]:
        async with aclosing(choices.batches()) as batches:
            async for batch in batches:
                self._count(batch, prepared)
                writer.write(batch)
        return await writer.whole()

    async def _events(
        self,
        prepared: PreparedRequest,
        choices: Multiplexer,
        begun: "asyncio.Task[None]",
        writer: EventWriter,
        request_id: str,
    ) -> AsyncGenerator[bytes, None]:
        """Yield events; one write for all that wait."""
        try:
            if events := writer.begin():
                yield events
            await begun
            async for batch in choices.batches():
                self._count(batch, prepared)
                if events := writer.write(batch):
                    yield events
            if events := await writer.end():
                yield events
        except Exception as error:
            self._metrics.stream_errors.inc()
            yield writer.failed(self._faults.as_api_error(error, request_id))

    def _count(self, batch: Batch, prepared: PreparedRequest) -> None:
        """Count the choices that end, and their tokens; the prompt counts once."""
        for number, item in batch:
            if isinstance(item, ChoiceEnd):
                reason = finish_reason(item, prepared.output.tool_choice)
                self._metrics.finished.labels(reason).inc()
                self._metrics.tokens.labels("completion").inc(item.completion_tokens)
                if number == 0:
                    self._metrics.tokens.labels("prompt").inc(item.prompt_tokens)


def _turns(request: ChatRequest) -> int:
    """Return the number of messages and of calls in them."""
    calls = (getattr(message, "tool_calls", None) or () for message in request.messages)
    return len(request.messages) + sum(map(len, calls))


class AnswerStream:
    """A started answer. Iterate it once, then close it; or only close it.

    ``failed``: returns the last events, for an error that ends the answer from outside.
    """

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        choices: Multiplexer,
        begun: "asyncio.Task[None]",
        headers: dict[str, str],
        failed: Callable[[ApiError], bytes],
    ) -> None:
        self.headers = headers
        self.failed = failed
        self._events = events
        self._choices = choices
        self._begun = begun

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events

    async def aclose(self) -> None:
        await self._events.aclose()
        await cancel(self._begun)
        await self._choices.aclose()


async def _settle(task: "asyncio.Task[None]", seconds: float | None) -> None:
    """Wait until the task is done, at most ``seconds``; raise its exception."""
    await asyncio.wait([task], timeout=seconds)
    if task.done():
        task.result()
