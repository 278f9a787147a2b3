"""The use case of /v1/chat/completions.

    ChatRequest -> SamplingParams, OutputSpec, prompt -> ConstraintPlan -> one Generation per choice
    -> chunks -> deltas -> completion, or the events of a stream

Invariants   I1 all refusals come before the first byte: ``stream`` returns when
                every choice has its first chunk, or when the workers have been silent for
                ``stream_comment_seconds``. Later failures become events.
             I2 dropping an answer (cancellation, ``aclose``) ends the workers' generations.
             I3 an answer that could not be finished is an error, never a shorter answer.
Not here     HTTP (api), the objects of answers (protocol.answers), the rules of requests
             (constraints.requested_output, conversation.history).
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
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
from ..errors import model_not_found
from ..generation.choice_decoder import ChoiceDeltas, ChoiceEnd, ChoiceItem, decode_choice
from ..generation.content_stops import ContentStops
from ..generation.multiplexer import Multiplexer
from ..generation.sampling import SamplingParams, check_ending, sampling_params
from ..observability.metrics import Metrics
from ..pool.worker_pool import Pool
from ..protocol.answers import (
    ChoiceStream,
    Envelope,
    MessageBuilder,
    choice_object,
    finish_reason,
    usage,
)
from ..protocol.chat_request import ChatRequest
from ..protocol.tools import ToolMode
from ..server.event_stream import DONE, cancel, event
from ..server.offload import SMALL_BYTES, Offload
from ..settings import Settings
from .faults import Faults

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


class ChatService:
    """The chat completions of one app; holds no state of a request."""

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
        system_fingerprint: str,
    ) -> None:
        self._settings = settings
        self._offload = offload
        self._planner = planner
        self._tokenizer = tokenizer
        self._pool = pool
        self._metrics = metrics
        self._faults = faults
        self._system_fingerprint = system_fingerprint

    async def complete(
        self, request: ChatRequest, request_id: str, client: str = "", *, size: int = 0
    ) -> Completion:
        """Return a whole completion; ``size``: bytes of the request's body. Raises ApiError."""
        try:
            start = time.perf_counter()
            prepared = await self._prepare(request, client, size)
            async with aclosing(self._multiplex(prepared)) as choices:
                await self._begin(choices, start)
                return Completion(await self._collect(prepared, choices), prepared.headers)
        except Exception as error:
            raise self._faults.as_api_error(error, request_id) from error

    async def stream(
        self, request: ChatRequest, request_id: str, client: str = "", *, size: int = 0
    ) -> "AnswerStream":
        """Return the events of a completion, the last one is [DONE]. Raises ApiError only here."""
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
        options = request.stream_options
        include_usage = options is not None and bool(options.include_usage)
        events = self._events(prepared, choices, begun, include_usage, request_id)
        return AnswerStream(events, choices, begun, prepared.headers)

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
        constraint = await self._planner.plan(output, client, is_tiny=weight < SMALL_BYTES)
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

    async def _collect(self, prepared: PreparedRequest, choices: Multiplexer) -> dict[str, Any]:
        messages = [MessageBuilder() for _ in range(prepared.sampling.choices)]
        endings: dict[int, ChoiceEnd] = {}
        async with aclosing(choices.batches()) as batches:
            async for batch in batches:
                for number, item in batch:
                    if isinstance(item, ChoiceDeltas):
                        messages[number].add(item.deltas)
                    else:
                        endings[number] = item
        mode = prepared.output.tool_choice
        answers = [
            choice_object(number, message.as_json(), self._finished(endings[number], mode))
            for number, message in enumerate(messages)
        ]
        return self._envelope().completion(answers, self._usage(list(endings.values())))

    async def _events(
        self,
        prepared: PreparedRequest,
        choices: Multiplexer,
        begun: "asyncio.Task[None]",
        include_usage: bool,
        request_id: str,
    ) -> AsyncGenerator[bytes, None]:
        envelope = self._envelope()
        try:
            await begun
            async for chunks in self._chunks(envelope, prepared, choices, include_usage):
                # one write for all events that wait
                yield b"".join(map(event, chunks))
        except Exception as error:
            self._metrics.stream_errors.inc()
            yield event(self._faults.as_api_error(error, request_id).body())
            return
        yield DONE

    async def _chunks(
        self,
        envelope: Envelope,
        prepared: PreparedRequest,
        choices: Multiplexer,
        include_usage: bool,
    ) -> AsyncIterator[list[dict[str, Any]]]:
        """Yield the chunks of each batch of items; with ``include_usage`` each has the key, and a
        last one has the numbers.
        """
        extra = {"usage": None} if include_usage else {}
        streams = [ChoiceStream(envelope, number) for number in range(prepared.sampling.choices)]
        mode = prepared.output.tool_choice
        endings: list[ChoiceEnd] = []
        async for batch in choices.batches():
            chunks: list[dict[str, Any]] = []
            for number, item in batch:
                if isinstance(item, ChoiceDeltas):
                    chunks += streams[number].deltas(item.deltas)
                else:
                    endings.append(item)
                    chunks += streams[number].end(self._finished(item, mode))
            if chunks:
                yield [chunk | extra for chunk in chunks]
        used = self._usage(endings)
        if include_usage:
            yield [envelope.chunk([]) | {"usage": used}]

    def _envelope(self) -> Envelope:
        return Envelope(
            f"chatcmpl-{uuid.uuid4().hex}",
            int(time.time()),
            self._settings.served_model,
            self._system_fingerprint,
        )

    def _finished(self, ended: ChoiceEnd, mode: ToolMode) -> Any:
        reason = finish_reason(ended, mode)
        self._metrics.finished.labels(reason).inc()
        return reason

    def _usage(self, endings: list[ChoiceEnd]) -> dict[str, Any]:
        used = usage(endings)
        self._metrics.tokens.labels("prompt").inc(used["prompt_tokens"])
        self._metrics.tokens.labels("completion").inc(used["completion_tokens"])
        return used


def _turns(request: ChatRequest) -> int:
    """Return the number of messages and of calls in them."""
    calls = (getattr(message, "tool_calls", None) or () for message in request.messages)
    return len(request.messages) + sum(map(len, calls))


class AnswerStream:
    """A started answer. Iterate it once, then close it; or only close it."""

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        choices: Multiplexer,
        begun: "asyncio.Task[None]",
        headers: dict[str, str],
    ) -> None:
        self.headers = headers
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
