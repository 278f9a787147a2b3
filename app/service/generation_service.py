"""The generation of answers, the same for every API.

    GenerationRequest -> SamplingParams, OutputSpec, prompt -> ConstraintPlan -> one Generation per
    choice -> chunks -> deltas -> a writer: a whole answer, or the events of a stream

A GenerationRequest is the common form of requests. Each API converts its requests to it, and has
writers, which turn the items of choices into its own objects.

Invariants   I1 all refusals come before the first byte: ``stream`` returns when
                every choice has its first chunk, or when the workers have been silent for
                ``comment_seconds``. Later failures become events.
             I2 dropping an answer (cancellation, ``aclose``) ends the workers' generations.
             I3 an answer that could not be finished is an error, never a shorter answer.
Not here     HTTP (api), the objects of answers (writers), the rules of
             requests (common_form, constraints.requested_output).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from secrets import token_hex
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from adapters.formats import OutputSpec, TextDelta
from adapters.text_path import TokenCounts
from adapters.workers import Chunk, Generation, PromptTooLong

from ..concurrency import LARGE_BYTES, DeadlineSweep, Offload
from ..constraints import ConstraintPlanner, Found
from ..conversation import Loaded, Tokenizer
from ..errors import ApiError, bad_request
from ..generation import (
    Batch,
    Call,
    Choice,
    ChoiceDecoder,
    ChoiceEnd,
    Choices,
    ContentLogprobs,
    ContentStops,
    GenerationRequest,
    Media,
    TextWriter,
    check_ending,
    once,
    sampling_params,
)
from ..observability import ModelMetrics, RequestRecord
from ..pool import Pool
from ..settings import ModelSettings
from ..writers import EventWriter, WholeWriter, finish_reason
from .cache_salts import CacheSalts
from .chat_prompts import ChatPrompt, ChatPrompts
from .faults import Faults
from .prepared_request import ChoicePlan, PreparedRequest, plans_of
from .request_context import RequestContext
from .text_prompts import PromptTokens, read_prompts

#: weight of a message or a past call, beside its bytes, and of each pair of them while these are
#: few: some chat templates look at all others for each, which takes seconds for 2,000. A chat of
#: eight short messages takes 0.1 ms less without a thread
TURN_BYTES, PAIR_BYTES = 256, 16
#: tokens of a chunk of an answer that is sent as a whole, unless a stop string may end it between
#: two of them: the worker and this process then take half the CPU for it, or less
WHOLE_INTERVAL = 8

Result = TypeVar("Result")

#: converts a request to the common form; takes time in proportion to its body
Read = Callable[[], GenerationRequest]
#: takes encoded events
Write = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer and its headers."""

    body: Mapping[str, Any]
    headers: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationService:
    """The answers of one model; holds no state of a request, but for counts of prompts.

    ``comment_seconds``: silence of the workers after which ``stream`` returns; 0: it waits.
    """

    settings: ModelSettings
    offload: Offload
    planner: ConstraintPlanner
    tokenizer: Tokenizer
    prompts: ChatPrompts
    pool: Pool
    metrics: ModelMetrics
    faults: Faults
    comment_seconds: float = 0.0
    salts: CacheSalts = field(default_factory=CacheSalts)
    #: of each client whose prompts workers count: these wait in no queue and for no limit
    counting: WeakValueDictionary[str, asyncio.Semaphore] = field(
        default_factory=WeakValueDictionary
    )
    #: of its answers
    deadlines: DeadlineSweep = field(default_factory=DeadlineSweep)

    async def complete(
        self,
        read: Read,
        writer: Callable[[PreparedRequest], WholeWriter],
        context: RequestContext,
    ) -> Completion:
        """Return a whole answer. Raises ApiError."""
        record, prepared = context.record, None
        try:
            prepared, choices = await self._prepared(read, context, is_whole=True)
            async with aclosing(choices):
                await choices.start()
                self.metrics.first_token(record)
                written = writer(prepared)

                def take(batch: Batch) -> None:
                    self._count(batch, prepared, record)
                    written.write(batch)

                await choices.send_to(take)
                return Completion(await written.whole(), prepared.headers(record))
        except Exception as error:
            raise self._failure(error, prepared, record) from error
        finally:
            self.metrics.answered(record)

    async def stream(
        self,
        read: Read,
        writer: Callable[[PreparedRequest], EventWriter],
        context: RequestContext,
    ) -> "AnswerStream":
        """Return the events of an answer. Raises ApiError only here."""
        record, prepared = context.record, None
        try:
            prepared, choices = await self._prepared(read, context, is_whole=False)
            await choices.start(self.comment_seconds or None)
        except Exception as error:
            raise self._failure(error, prepared, record) from error
        written = writer(prepared)
        send = partial(self._send, prepared, choices, written, record)
        return AnswerStream(send, choices, prepared.headers(record), written.failed)

    # -- before the first byte --------------------------------------------------------------------

    async def _prepared(
        self, read: Read, context: RequestContext, *, is_whole: bool
    ) -> tuple[PreparedRequest, Choices]:
        """Return a request and its choices. Nothing else has the prompts, which go when workers
        have begun. ``is_whole``: the answer is not streamed. Raises ApiError.
        """
        record = context.record
        record.phase, record.preparing_at = "preparing", time.perf_counter()
        prepared, prompts = await self._prepare(read, context)
        record.prepare_s = time.perf_counter() - record.preparing_at
        record.phase, record.backend = "waiting", prepared.constraint.backend
        self.metrics.left_out(record)
        interval = WHOLE_INTERVAL if is_whole and not prepared.sampling.stop else 1
        return prepared, self._choices(prepared, prompts, context, interval)

    def _choices(
        self,
        prepared: PreparedRequest,
        prompts: Sequence[PromptTokens],
        context: RequestContext,
        interval: int,
    ) -> Choices:
        record = context.record
        on_chunk, total = record.count, sum(len(prompt.ids) for prompt in prompts)
        if len(prompts) > 1:
            # a chunk has the tokens of its own prompt, the record those of all
            def on_chunk(chunk: Chunk) -> None:
                record.count(chunk._replace(prompt_tokens=total))

        counts = record.counts if len(prompts) == 1 else None
        each = prepared.sampling.choices
        return Choices(
            [
                self._choice(
                    prepared, choice, prompts[number // each], context, on_chunk, counts, interval
                )
                for number, choice in enumerate(prepared.choices)
            ],
            timeout=self.settings.request_timeout,
            sweep=self.deadlines,
        )

    def _failure(
        self, error: Exception, prepared: PreparedRequest | None, record: RequestRecord
    ) -> ApiError:
        """Return the error for the client; until it is prepared, a request names its own fields."""
        failure = self.faults.as_api_error(error, record.id)
        return failure if prepared is None else failure.named(prepared.names)

    async def read(self, read: Callable[[], Result], client: str, size: int) -> Result:
        """Return what is read; like the parsing of its body, that of a large one runs in a thread.

        ``size``: bytes of the body. Raises ApiError.
        """
        return read() if size < LARGE_BYTES else await self.offload.run(client, size, read)

    async def _prepare(
        self, read: Read, context: RequestContext
    ) -> tuple[PreparedRequest, Sequence[PromptTokens]]:
        request = await self.read(read, context.client, context.size)
        context.record.ignored += request.ignored
        try:
            return await self._ready(request, context)
        except (ApiError, PromptTooLong) as error:
            failure = self.faults.as_api_error(error, context.record.id)
            raise failure.named(request.names) from error

    async def _ready(
        self, request: GenerationRequest, context: RequestContext
    ) -> tuple[PreparedRequest, Sequence[PromptTokens]]:
        vocabulary, client = self.tokenizer.vocabulary, context.client
        supported = self.pool.supported_sampling
        sampling = once(
            request.made,
            ("sampling", self.settings.served_model, supported),
            lambda: sampling_params(
                request.sampling,
                self.settings,
                vocabulary,
                supported,
                prompts=len(request.prompts) or 1,
            ),
        )
        planner = self.planner.of_text() if request.prompts else self.planner
        planner = await planner.of_client(client)
        loaded = await self.prompts.load(request, client)

        def step() -> tuple[OutputSpec, Sequence[PromptTokens], Found, ChatPrompt | None]:
            if request.prompts:
                output, prompts = self._texts(request)
                return output, prompts, planner.find(output), None
            chat = self._chat(request, loaded, client)
            return chat.output, [chat.tokens], planner.find(chat.output), chat

        weight = weight_of(request, context.size)
        output, prompts, found, chat = await self.offload.run(client, weight, step)
        context.record.ignored += () if chat is None else chat.left_out
        constraint = await planner.compiled(found, client)
        check_ending(sampling.options, constraint.format_plan.spec["format"], vocabulary)
        choices = plans_of(prompts, sampling)
        salt = self._salt(request, client)
        prepared = PreparedRequest(
            request.names,
            output,
            sampling,
            constraint,
            choices,
            context.priority,
            salt,
            taught=self.tokenizer.evidence.taught if output.prompt_tools else None,
            taken_ids=() if chat is None else chat.call_ids,
        )
        return prepared, prompts

    async def count(self, read: Read, context: RequestContext) -> int:
        """Return how many tokens a prompt has. Raises ApiError."""
        request = await self.read(read, context.client, context.size)
        record, client = context.record, context.client
        record.ignored += request.ignored
        try:
            loaded = await self.prompts.load(request, client)
            step = partial(self.prompts.read, request, loaded, client)
            chat = await self.offload.run(client, weight_of(request, context.size), step)
            prompt = chat.tokens
            record.ignored += chat.left_out
            self.metrics.left_out(record)
            if not prompt.images:
                return len(prompt.ids)
            # workers know how many tokens an image has
            salt = self._salt(request, client)
            return await self._counted(prompt, salt, context)
        except Exception as error:
            raise self.faults.as_api_error(error, record.id).named(request.names) from error

    async def _counted(
        self, prompt: PromptTokens, salt: str | None, context: RequestContext
    ) -> int:
        """Return how many tokens a worker counts in a prompt: it makes one more. A client has one
        prompt counted at a time.
        """
        generation = Generation(
            token_hex(16),
            prompt.ids,
            None,
            max_tokens=1,
            temperature=0.0,
            images=prompt.images,
            priority=context.priority,
            cache_salt=salt,
        )
        count = len(prompt.ids)
        own = self.counting.setdefault(context.client, asyncio.Semaphore())

        def receive(chunk: Chunk) -> bool:
            nonlocal count
            count = chunk.prompt_tokens
            return True

        try:
            async with asyncio.timeout(self.settings.request_timeout), own:
                await self.pool.generate(generation, lambda attempt: receive)
        except PromptTooLong as error:
            return error.got
        return count

    def prompt(self, request: GenerationRequest) -> list[int]:
        """Return the prompt alone, with one placeholder for each image; takes time in proportion to
        ``weight_of``. Raises ApiError.
        """
        try:
            return self.prompts.read(request, self.prompts.unread(request)).tokens.ids
        except ApiError as error:
            raise error.named(request.names) from error

    def _salt(self, request: GenerationRequest, client: str) -> str | None:
        """Return the salt of a request. Raises ApiError 400: no worker could do what it asks."""
        if request.cache_salts and not self.pool.takes_salts:
            name = "cache_salt" if request.cache_salts[0] else "extra_key"
            raise bad_request(
                f"'{name}' has no effect: the workers of this model do not keep cached prompts "
                "apart.",
                name,
                "unsupported_by_backend",
            )
        return self.salts.of(client, request.cache_salts)

    def _texts(self, request: GenerationRequest) -> tuple[OutputSpec, list[PromptTokens]]:
        """Return the output spec and the prompts of a request without messages.

        Raises:
            ApiError: 400.
        """
        output = replace(self.prompts.output(request), reasoning="off", thinking_tokens=None)
        return output, read_prompts(request.prompts, self.tokenizer, self.pool.max_model_len)

    def _chat(self, request: GenerationRequest, loaded: Loaded | None, client: str) -> ChatPrompt:
        """Return the output spec and the prompt of messages.

        Raises:
            ApiError: 400.
            PromptTooLong: before anything is compiled; images count as one token.
        """
        prompt = self.prompts.read(request, loaded, client)
        limit, got = self.pool.max_model_len, len(prompt.tokens.ids)
        if limit is not None and got >= limit:
            raise PromptTooLong(got, limit)
        return prompt

    def _choice(
        self,
        prepared: PreparedRequest,
        choice: ChoicePlan,
        prompt: PromptTokens,
        context: RequestContext,
        on_chunk: Callable[[Chunk], None],
        counts: TokenCounts | None,
        interval: int,
    ) -> Choice:
        sampling, constraint = prepared.sampling, prepared.constraint
        may_end = prepared.output.may_be_text or not constraint.is_enforced
        generation = Generation(
            # ids of one length: SGLang aborts every request whose id begins with the given one
            rid=token_hex(16),
            prompt=prompt.ids,
            spec=constraint.spec,
            spec_kind=constraint.spec_kind,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=choice.seed,
            sampling=sampling.options,
            images=prompt.images,
            interval=interval,
            priority=prepared.priority,
            cache_salt=prepared.cache_salt,
            lora=context.adapter,
        )
        tokens, plan = self.tokenizer.vocabulary.tokens, constraint.format_plan

        def decoder() -> ChoiceDecoder:
            parser, stops = constraint.parser(), ContentStops(sampling.stop, may_end=may_end)
            if sampling.options.logprobs is None:
                return ChoiceDecoder(parser, plan.reader(prepared.taken_ids), stops, tokens)
            traced = plan.traced_reader(prepared.taken_ids)
            return ChoiceDecoder(parser, traced, stops, tokens, ContentLogprobs(traced, tokens))

        generate = partial(self.pool.generate, generation, on_attempt=context.record.asked)
        return Choice(generate, decoder, on_chunk, counts)

    # -- answers -----------------------------------------------------------------------------------

    async def _send(
        self,
        prepared: PreparedRequest,
        choices: Choices,
        writer: EventWriter,
        record: RequestRecord,
        write: Write,
    ) -> None:
        """Write the events of an answer, the last ones also if it fails."""

        def take(batch: Batch) -> None:
            self._count(batch, prepared, record)
            if events := writer.write(batch):
                write(events)

        def write_text(number: int, delta: TextDelta) -> TextWriter:
            return writer.text_encoder(number, delta), write

        try:
            if events := writer.begin():
                write(events)
            await choices.start()
            self.metrics.first_token(record)
            await choices.send_to(take, write_text)
            if events := await writer.end():
                write(events)
        except Exception as error:
            self.metrics.stream_errors.inc()
            failure = self._failure(error, prepared, record)
            record.error = failure.code
            write(writer.failed(failure))
        finally:
            self.metrics.answered(record)

    def _count(self, batch: Batch, prepared: PreparedRequest, record: RequestRecord) -> None:
        """Count the choices that end, and their tokens; the prompt counts once."""
        for number, item in batch:
            if isinstance(item, ChoiceEnd):
                reason = finish_reason(item, prepared.output.tool_choice)
                self.metrics.finished(reason)
                record.finish.append(reason)
                record.reasoning_tokens += item.reasoning_tokens
                self.metrics.tokens("completion", item.completion_tokens)
                if prepared.choices[number].is_first:
                    self.metrics.tokens("prompt", item.prompt_tokens)


def weight_of(request: GenerationRequest, size: int) -> int:
    """Return the weight of reading a request: its bytes without those of images, its messages, and
    the calls and images in them.
    """
    messages = request.messages or ()
    turns = len(messages)
    for message in messages:
        for part in message.parts:
            if isinstance(part, Media) and part.url is not None:
                turns += 1
                size -= len(part.url)
            elif isinstance(part, Call):
                turns += 1
    return max(0, size) + turns * min(TURN_BYTES, PAIR_BYTES * turns)


class AnswerStream:
    """A started answer. Send it once, then close it; or only close it.

    ``failed``: returns the last events, for an error that ends the answer from outside.
    """

    def __init__(
        self,
        send: Callable[[Write], Awaitable[None]],
        choices: Choices | None,
        headers: dict[str, str],
        failed: Callable[[ApiError], bytes],
    ) -> None:
        self._send = send
        self._choices = choices
        self.headers = headers
        self.failed = failed

    @classmethod
    def of(cls, events: Iterable[bytes], headers: dict[str, str]) -> "AnswerStream":
        """Return events that no worker makes."""

        async def send(write: Write) -> None:
            for event in events:
                write(event)

        return cls(send, None, headers, lambda error: b"")

    async def send_to(self, write: Write) -> None:
        """Write all events; an error is the last one. Cancel it to end the answer."""
        await self._send(write)

    def pause(self) -> None:
        """Ask for no more events; some still come."""
        if self._choices is not None:
            self._choices.pause()

    def resume(self) -> None:
        if self._choices is not None:
            self._choices.resume()

    async def aclose(self) -> None:
        if self._choices is not None:
            await self._choices.aclose()
