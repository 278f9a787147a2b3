"""The use case of /v1/chat/completions: the only place that knows the order of the steps.

    request -> limits -> Ask -> prompt -> plan and grammar -> a worker per choice -> deltas ->
    answer

Invariants       I1 everything that can be refused is refused before the first byte: ``stream``
                    returns when every choice has shown its first chunk, or when the workers have
                    been silent for ``stream_comment_seconds``. What fails later is an event.
                 I2 whoever drops an answer (cancellation, ``aclose``) ends the workers' generations
                    too.
                 I3 an answer that could not be finished is an error, never a shorter answer.
Not here         HTTP (api), wording of answers (answers), the rules of requests (asking,
                 conversation, strict).
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

from adapters.workers import Generation, PromptTooLong

from ..constraints.output import Asking, behind_prompt, make_asking, template_variables
from ..constraints.planner import Planned, Planner
from ..constraints.relaxation import header
from ..conversation.history import check_order, plain_messages
from ..conversation.tokenizer import Prompt, Tokenizer
from ..errors import model_not_found
from ..generation.choice_decoder import Deltas, Ended, Item, read_choice
from ..generation.content_stops import ContentStops
from ..generation.multiplexer import Merge
from ..generation.sampling import Sampling, check_ending, make_sampling
from ..observability.metrics import Metrics
from ..pool.worker_pool import Pool
from ..protocol.answers import ChoiceStream, Head, Message, choice, finish_reason, usage
from ..protocol.chat_request import ChatRequest, ToolMode
from ..server.event_stream import DONE, cancel, event
from ..server.offload import Offload
from ..settings import Settings
from .faults import Faults

#: which grammar engine enforced the answer
BACKEND_HEADER = "x-switchyard-backend"
#: what a message or a past call weighs beside its bytes: some chat templates look at all others for
#: each, seconds for 2,000 of them
TURN_BYTES = 256


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request that a worker can take."""

    asking: Asking
    sampling: Sampling
    planned: Planned
    prompt: Prompt

    @property
    def headers(self) -> dict[str, str]:
        """What the answer's headers must tell."""
        return {BACKEND_HEADER: self.planned.backend, **header(self.planned.relaxed)}


@dataclass(frozen=True, slots=True)
class Completion:
    """A whole answer, and the headers it goes with."""

    body: dict[str, Any]
    headers: dict[str, str]


class ChatService:
    """One for an app; holds no state of a request."""

    def __init__(
        self,
        *,
        settings: Settings,
        offload: Offload,
        planner: Planner,
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
        """A whole completion; ``size``: bytes of the request's body. Raises ApiError."""
        try:
            start = time.perf_counter()
            prepared = await self._prepare(request, client, size)
            merge = self._merge(prepared)
            await self._begin(merge, start)
            async with aclosing(merge):
                return Completion(await self._collect(prepared, merge), prepared.headers)
        except Exception as error:
            raise self._faults.as_api_error(error, request_id) from error

    async def stream(
        self, request: ChatRequest, request_id: str, client: str = "", *, size: int = 0
    ) -> "AnswerStream":
        """The events of a completion, from the first to [DONE]. Raises ApiError, but only here."""
        start = time.perf_counter()
        try:
            prepared = await self._prepare(request, client, size)
            merge = self._merge(prepared)
            begun = asyncio.create_task(self._begin(merge, start))
            await _settle(begun, self._settings.stream_comment_seconds or None)
        except Exception as error:
            raise self._faults.as_api_error(error, request_id) from error
        options = request.stream_options
        include_usage = options is not None and bool(options.include_usage)
        events = self._events(prepared, merge, begun, include_usage, request_id)
        return AnswerStream(events, merge, begun, prepared.headers)

    # -- before the first byte
    # ------------------------------------------------------------------------

    def _merge(self, prepared: Prepared) -> Merge:
        return Merge(
            [self._choice(prepared, number) for number in range(prepared.sampling.choices)],
            timeout=self._settings.request_timeout,
        )

    async def _begin(self, merge: Merge, start: float) -> None:
        """Waits for the first chunk of every choice."""
        await merge.start()
        self._metrics.first_token_seconds.observe(time.perf_counter() - start)

    async def _prepare(self, request: ChatRequest, client: str, size: int) -> Prepared:
        if request.model != self._settings.served_model:
            raise model_not_found(request.model)
        vocabulary = self._tokenizer.vocabulary
        sampling = make_sampling(request, self._settings, vocabulary, self._pool.supported_sampling)
        weight = size + TURN_BYTES * _turns(request)
        asking, prompt = await self._offload.run(weight, partial(self._read, request))
        self._check_room(prompt)
        planned = await self._planner.plan(asking, client)
        check_ending(sampling.options, planned.plan.spec["format"], vocabulary)
        return Prepared(asking, sampling, planned, prompt)

    def _check_room(self, prompt: Prompt) -> None:
        """Raises PromptTooLong before anything is compiled."""
        limit = self._pool.max_model_len
        if limit is not None and not isinstance(prompt, str) and len(prompt) >= limit:
            raise PromptTooLong(len(prompt), limit)

    def _read(self, request: ChatRequest) -> tuple[Asking, Prompt]:
        """The steps that take time in proportion to the request. Raises ApiError."""
        check_order(request.messages)
        asking = make_asking(request, self._settings)
        rendered = self._tokenizer.render(
            plain_messages(request),
            asking.shown,
            asking.ask,
            template_variables(request, asking.ask),
        )
        profile = self._tokenizer.profile
        one_call = profile is not None and profile.calls and not profile.parallel_calls
        return behind_prompt(asking, rendered.thought, one_call=one_call), rendered.prompt

    def _choice(self, prepared: Prepared, number: int) -> AsyncGenerator[Item, None]:
        sampling, planned = prepared.sampling, prepared.planned
        may_end = prepared.asking.ask.may_be_text
        generation = Generation(
            # one length for all: SGLang takes a request id for a prefix when it aborts
            rid=uuid.uuid4().hex,
            prompt=prepared.prompt,
            spec=planned.wire,
            spec_kind=planned.wire_kind,
            max_tokens=sampling.max_tokens,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed_of(number),
            sampling=sampling.options,
        )
        return self._pool.generate(
            generation,
            lambda chunks: read_choice(
                chunks,
                planned.parser(),
                planned.plan.reader(),
                ContentStops(sampling.stop, may_end=may_end),
                self._tokenizer.vocabulary.tokens,
            ),
        )

    # -- answers
    # --------------------------------------------------------------------------------------

    async def _collect(self, prepared: Prepared, merge: Merge) -> dict[str, Any]:
        messages = [Message() for _ in range(prepared.sampling.choices)]
        endings: dict[int, Ended] = {}
        async with aclosing(merge.items()) as items:
            async for number, item in items:
                if isinstance(item, Deltas):
                    messages[number].add(item.deltas)
                else:
                    endings[number] = item
        mode = prepared.asking.ask.tool_choice
        choices = [
            choice(number, message.as_json(), self._finished(endings[number], mode))
            for number, message in enumerate(messages)
        ]
        return self._head().completion(choices, self._usage(list(endings.values())))

    async def _events(
        self,
        prepared: Prepared,
        merge: Merge,
        begun: "asyncio.Task[None]",
        include_usage: bool,
        request_id: str,
    ) -> AsyncGenerator[bytes, None]:
        head = self._head()
        try:
            await begun
            async for chunk in self._chunks(head, prepared, merge, include_usage):
                yield event(chunk)
        except Exception as error:
            self._metrics.stream_errors.inc()
            yield event(self._faults.as_api_error(error, request_id).body())
            return
        yield DONE

    async def _chunks(
        self, head: Head, prepared: Prepared, merge: Merge, include_usage: bool
    ) -> AsyncIterator[dict[str, Any]]:
        """With ``include_usage`` every chunk has the key, and a last one has the numbers."""
        extra = {"usage": None} if include_usage else {}
        streams = [ChoiceStream(head, number) for number in range(prepared.sampling.choices)]
        mode = prepared.asking.ask.tool_choice
        endings: list[Ended] = []
        async for number, item in merge.items():
            if isinstance(item, Deltas):
                chunks = streams[number].deltas(item.deltas)
            else:
                endings.append(item)
                chunks = streams[number].end(self._finished(item, mode))
            for chunk in chunks:
                yield chunk | extra
        used = self._usage(endings)
        if include_usage:
            yield head.chunk([]) | {"usage": used}

    def _head(self) -> Head:
        return Head(
            f"chatcmpl-{uuid.uuid4().hex}",
            int(time.time()),
            self._settings.served_model,
            self._system_fingerprint,
        )

    def _finished(self, ended: Ended, mode: ToolMode) -> Any:
        reason = finish_reason(ended, mode)
        self._metrics.finished.labels(reason).inc()
        return reason

    def _usage(self, endings: list[Ended]) -> dict[str, Any]:
        used = usage(endings)
        self._metrics.tokens.labels("prompt").inc(used["prompt_tokens"])
        self._metrics.tokens.labels("completion").inc(used["completion_tokens"])
        return used


def _turns(request: ChatRequest) -> int:
    """Messages, and calls in them."""
    calls = (getattr(message, "tool_calls", None) or () for message in request.messages)
    return len(request.messages) + sum(map(len, calls))


class AnswerStream:
    """A started answer: iterate it once, then close it; or only close it."""

    def __init__(
        self,
        events: AsyncGenerator[bytes, None],
        merge: Merge,
        begun: "asyncio.Task[None]",
        headers: dict[str, str],
    ) -> None:
        self.headers = headers
        self._events = events
        self._merge = merge
        self._begun = begun

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events

    async def aclose(self) -> None:
        await self._events.aclose()
        await cancel(self._begun)
        await self._merge.aclose()


async def _settle(task: "asyncio.Task[None]", seconds: float | None) -> None:
    """Waits until the task is done, but no longer than ``seconds``; raises what it raised. A caller
    that is cancelled takes the task with it.
    """
    try:
        await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        await cancel(task)
        raise
    if task.done():
        task.result()
