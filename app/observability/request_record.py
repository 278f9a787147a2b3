"""The record of one request for an answer: for its log line, /debug/requests, metrics and spans.

The record begins with the request's headers; each layer adds what it learns.

Invariants   I1 it has names and numbers, never text of a client: ``model`` is a configured name,
                ``adapter`` one that a worker or a setting has, ``error`` one of our codes. Only
                ``id`` may be the client's: short and printable. ``key`` may be the subject of a
                token: signed by the issuer, escaped to ASCII.
Threads      the event loop only.
"""

import time
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from typing_extensions import TypedDict

from adapters.text_path import TokenCounts
from adapters.workers import Chunk

from .trace_context import TraceContext, new_span_id

#: parts left out that a log line names
MAX_IGNORED = 20

#: "reading" the body; "queued" for admission; "preparing": template, tokenizer, compile;
#: "waiting" for the first token; "answering"
Phase = Literal["reading", "queued", "preparing", "waiting", "answering"]


@dataclass(slots=True, eq=False)
class Attempt:
    """A generation at a worker. ``traceparent``: for the worker, None without traces.

    ``error``: why it failed; "cancelled" until it has ended otherwise.
    """

    worker: str
    traceparent: str | None = None
    span_id: int = 0
    started: float = field(default_factory=time.perf_counter)
    ended: float | None = None
    error: str | None = "cancelled"

    def end(self) -> None:
        """Note the time of the end."""
        self.ended = time.perf_counter()


class RequestFacts(TypedDict, total=False):
    """The known facts of a request; unknown ones are absent. ``adapter``: the LoRA adapter that
    answers; ``key``: the name of its API key; ``token_ms``: the mean of the tokens after the first;
    ``ignored``: parts that were left out; ``workers``: those asked, in order; ``error``: the code
    of the error that ended it.
    """

    model: str
    adapter: str
    key: str
    stream: bool
    queue_ms: float
    prepare_ms: float
    first_token_ms: float
    token_ms: float
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    reasoning_tokens: int
    backend: str
    ignored: list[str]
    workers: list[str]
    finish_reasons: list[str]
    error: str
    trace_id: str


@dataclass(slots=True, eq=False)
class RequestRecord:
    """One request. Times are of ``time.perf_counter``; None: has not happened.

    ``key`` is the name of the client's API key or token. ``attempts``: at workers, in order; with
    several choices those of each. ``backend``: the grammar engine that enforced the answer.
    ``ignored``: parts that were left out, each with its place and kind (left_out).
    ``counts``: its tokens, those of all prompts and choices. ``error``: the code of the error that
    ended the request, also after status 200. ``trace``: None without traces.
    """

    id: str
    key: str = ""
    started: float = field(default_factory=time.perf_counter)
    model: str | None = None
    adapter: str | None = None
    is_stream: bool = False
    phase: Phase = "reading"
    queued_at: float | None = None
    queue_s: float | None = None
    preparing_at: float | None = None
    prepare_s: float | None = None
    counts: TokenCounts = field(default_factory=TokenCounts)
    reasoning_tokens: int = 0
    attempts: list[Attempt] = field(default_factory=list)
    backend: str | None = None
    ignored: list[str] = field(default_factory=list)
    finish: list[str] = field(default_factory=list)
    error: str | None = None
    trace: TraceContext | None = None

    def asked(self, worker: str) -> Attempt:
        """Note an attempt at a worker, and return it."""
        attempt = Attempt(worker)
        if self.trace is not None:
            attempt.span_id = new_span_id()
            attempt.traceparent = self.trace.traceparent(attempt.span_id)
        self.attempts.append(attempt)
        return attempt

    def count(self, chunk: Chunk) -> None:
        """Count the tokens of a worker's chunk; the prompt counts once for all choices."""
        self.counts.take(len(chunk.token_ids), chunk.prompt_tokens, chunk.cached_tokens)
        self.phase = "answering"

    @property
    def first_token_at(self) -> float | None:
        return self.counts.first_at

    @property
    def last_token_at(self) -> float | None:
        return self.counts.last_at

    @property
    def prompt_tokens(self) -> int:
        return self.counts.prompt

    @property
    def cached_tokens(self) -> int:
        return self.counts.cached

    @property
    def completion_tokens(self) -> int:
        return self.counts.completion

    @property
    def per_token_s(self) -> float | None:
        """Return the mean seconds of a token after the first; None: there are none."""
        if self.first_token_at is None or self.last_token_at is None or self.completion_tokens < 2:
            return None
        return (self.last_token_at - self.first_token_at) / (self.completion_tokens - 1)

    def facts(self) -> RequestFacts:
        """Return what is known, for people: times in milliseconds, without what is not known."""
        first = None if self.first_token_at is None else self.first_token_at - self.started
        facts: dict[str, Any] = {
            "model": self.model,
            "adapter": self.adapter,
            "key": self.key or None,
            "stream": None if self.model is None else self.is_stream,
            "queue_ms": milliseconds(self.queue_s),
            "prepare_ms": milliseconds(self.prepare_s),
            "first_token_ms": milliseconds(first),
            "token_ms": milliseconds(self.per_token_s, 2),
            "prompt_tokens": self.prompt_tokens or None,
            "cached_tokens": self.cached_tokens or None,
            "completion_tokens": self.completion_tokens or None,
            "reasoning_tokens": self.reasoning_tokens or None,
            "backend": self.backend,
            "ignored": self.ignored[:MAX_IGNORED] or None,
            "workers": [attempt.worker for attempt in self.attempts] or None,
            "finish_reasons": self.finish or None,
            "error": self.error,
            "trace_id": None if self.trace is None else self.trace.shown_id,
        }
        known = {name: value for name, value in facts.items() if value is not None}
        return cast(RequestFacts, known)


def milliseconds(seconds: float | None, digits: int = 1) -> float | None:
    """Return rounded milliseconds; None for None."""
    return None if seconds is None else round(1000 * seconds, digits)
