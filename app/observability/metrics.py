"""Metrics, in a registry of their own: two apps in one process share no numbers.

Invariants   I1 every label has few values, whatever clients send: methods and routes come from
                closed sets, models are the configured names, keywords beyond ``MAX_KEYWORDS``
                are "other", as adapters of a model beyond ``MAX_ADAPTERS``.
             I2 with several processes, GET /metrics of each has the numbers of all. Counters of a
                process that has ended stay in its file, which the next process of its number
                continues; its gauges are removed.
             I3 ``parse_divergence`` and ``internal_errors`` count Switchyard's own bugs: they must
                stay 0.
Not here     the workers' own metrics: each worker has a /metrics.
"""

import asyncio
import os
from contextlib import suppress
from http import HTTPMethod
from typing import Literal, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
    values,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from adapters.workers import FailureReason

from .request_record import RequestRecord
from .watched import Across, Numbers, Published, PublishedProcess, Watched

#: values of the label ``kind``; "cached" tokens are part of the prompt's, "reasoning" tokens of the
#: completion's
TokenKind = Literal["prompt", "completion", "cached", "reasoning"]
#: values of the label ``method``; HTTP allows any other
METHODS = frozenset(HTTPMethod)
#: distinct values of the label ``keyword``; JSON Schema has about 60 keywords
MAX_KEYWORDS = 100
#: distinct values of the label ``adapter`` for each model: workers load and unload adapters
MAX_ADAPTERS = 100

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5)
_TOKEN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 5)
_COMPILE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


def method_label(method: str) -> str:
    """Return the method as a label: one of ``METHODS``, or "other"."""
    return method if method in METHODS else "other"


def keep_values_in(folder: str, number: int) -> None:
    """Keep the values of all later metrics in files of the folder, under this process's number."""
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    values.ValueClass = values.MultiProcessValue(lambda: number)  # type: ignore[no-untyped-call]


def drop_gauges(folder: str, number: int) -> None:
    """Remove the gauges of a process that has ended."""
    mark_process_dead(number, folder)  # type: ignore[no-untyped-call]


class Metrics:
    """All counters of one app. Safe to call from any thread.

    ``folder``: where several processes keep their values, after ``keep_values_in``.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.registry = CollectorRegistry()
        self._folder = folder
        #: of one process: facts, which prometheus_client does not keep in files
        self._facts = CollectorRegistry() if folder else self.registry
        self._keywords: set[str] = set()
        self._watched: dict[str, Watched | Published] = {}
        self._build = Info(
            "switchyard_build",
            "Version and facts of this gateway's models",
            ["model"],
            registry=self._facts,
        )
        self._add_requests()
        self._add_answers()
        self._add_constraints()
        self._add_images()
        self._add_workers()
        self._add_shadow()
        self._process = PublishedProcess() if folder else None
        if folder is None:
            ProcessCollector(registry=self.registry)

    def _add_requests(self) -> None:
        """Add the series of HTTP, admission and the process."""
        self.requests = self._counter(
            "http_requests", "Answered requests", "method", "route", "code"
        )
        self.request_seconds = self._histogram(
            "http_request_duration", "Request to last byte", "route"
        )
        self.in_flight = Gauge(
            "switchyard_requests_in_flight",
            "Running requests",
            registry=self.registry,
            multiprocess_mode="livesum",
        )
        self.loop_lag_seconds = self._histogram(
            "event_loop_lag", "Delay of a timer in the event loop", buckets=_LAG_SECONDS
        )
        self.disconnects = self._counter("client_disconnects", "Clients that left before the end")
        self.connections_refused = self._counter(
            "connections_refused", "Connections ended before a request, by error code", "code"
        )
        self.internal_errors = self._counter(
            "internal_errors", "Requests ended by a fault of our own"
        )
        self.admission_refused = self._counter(
            "admission_refused", "Requests refused by limits or for lack of capacity", "reason"
        )
        self.queue_seconds = self._histogram("queue", "Waiting for admission")

    def _add_answers(self) -> None:
        """Add the series of answers: times, tokens, ends."""
        self.first_token_seconds = self._histogram(
            "time_to_first_token", "Request to first chunk of output", "model"
        )
        self.token_seconds = self._histogram(
            "time_per_output_token", "Mean of an answer's tokens", "model", buckets=_TOKEN_SECONDS
        )
        self.answer_seconds = self._histogram(
            "e2e_request_latency", "Request to last token, if there was one", "model"
        )
        self.tokens = self._counter("tokens", "Tokens read and written", "model", "kind")
        adapter = ("model", "adapter")
        self.adapter_answers = self._counter("adapter_answers", "Answers by LoRA adapter", *adapter)
        self.adapter_tokens = self._counter(
            "adapter_tokens", "Tokens read and written, by LoRA adapter", *adapter, "kind"
        )
        self.finished = self._counter(
            "choices_finished", "Choices by finish reason", "model", "reason"
        )
        self.stream_errors = self._counter(
            "stream_errors", "Streams that ended with an error event"
        )
        self.responses_unstored = self._counter(
            "responses_unstored", "Responses that were answered but could not be stored"
        )

    def _add_constraints(self) -> None:
        """Add the series of schemas and compiles."""
        self.compile_seconds = self._histogram(
            "compile", "Compiling one grammar", buckets=_COMPILE_SECONDS
        )
        self._refused = self._counter("refused_schemas", "Schemas refused, by keyword", "keyword")
        self._relaxed = self._counter(
            "relaxed_keywords", "Keywords removed from schemas that are not strict", "keyword"
        )
        self.ignored = self._counter(
            "ignored_parts", "Parts of requests that were left out, by kind", "kind"
        )
        self.parse_divergence = self._counter(
            "parse_divergence", "Answers that do not fit their own grammar"
        )

    def _add_images(self) -> None:
        """Add the series of images."""
        self.images = self._counter(
            "images", "Images of requests, read or not for a reason, each time sent", "result"
        )
        self.image_fetch_failures = self._counter(
            "image_fetch_failures", "Images that could not be fetched, by reason", "reason"
        )

    def _add_workers(self) -> None:
        """Add the series of workers."""
        worker = ("model", "worker")
        self.worker_failures = self._counter(
            "worker_failures", "Failed attempts and probes, by worker", *worker, "reason"
        )
        self.worker_ejections = self._counter("worker_ejections", "Ejections of a worker", *worker)
        self.worker_retries = self._counter(
            "worker_retries",
            "Retries at another worker, by whether the budget allowed",
            "model",
            "outcome",
        )

    def _add_shadow(self) -> None:
        """Add the series of shadow constraints."""
        self.shadow_requests = self._counter(
            "shadow_requests",
            "Requests in shadow mode by what enforcing would have done",
            "model",
            "outcome",
        )
        self._shadow_refused = self._counter(
            "shadow_refused_schemas",
            "Schemas that enforcing would have refused, by keyword",
            "model",
            "keyword",
        )
        self.shadow_answers = self._counter(
            "shadow_answers", "Answers that are compared with their grammar", "model"
        )
        self.shadow_divergences = self._counter(
            "shadow_divergences", "Answers that left their grammar, by place", "model", "place"
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"switchyard_{name}", text, labels, registry=self.registry)

    def _histogram(
        self, name: str, text: str, *labels: str, buckets: tuple[float, ...] = _SECONDS
    ) -> Histogram:
        name = f"switchyard_{name}_seconds"
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)

    def refused(self, keyword: str) -> None:
        """Count a refused schema; ``keyword``: the unenforceable one, or the kind of error."""
        self._refused.labels(self._bounded(keyword)).inc()

    def shadow_refused(self, model: str, keyword: str) -> None:
        """Count a schema that enforcing would have refused; ``keyword``: see ``refused``."""
        self._shadow_refused.labels(model, self._bounded(keyword)).inc()

    def relaxed(self, keyword: str) -> None:
        """Count a keyword that was removed from a schema."""
        self._relaxed.labels(self._bounded(keyword)).inc()

    def _bounded(self, keyword: str) -> str:
        if keyword not in self._keywords and len(self._keywords) >= MAX_KEYWORDS:
            return "other"
        self._keywords.add(keyword)
        return keyword

    def describe(self, model: str, **facts: str) -> None:
        """Export facts of a model as labels of ``switchyard_build_info``; other series are joined
        with it when a fleet serves several formats or vocabularies.
        """
        self._build.labels(model).info(facts)

    def watch(
        self,
        name: str,
        text: str,
        read: Numbers,
        *,
        across: Across = "livesum",
        **labels: str,
    ) -> None:
        """Export a mapping of numbers, which is read on each request for /metrics.

        Several mappings may have one name, with the same label names and different values.
        ``across``: how the numbers of several processes are joined.
        """
        watched = self._watched.get(name)
        if watched is None:
            watched = self._watch(f"switchyard_{name}", text, tuple(labels), across)
            self._watched[name] = watched
        watched.add(tuple(labels.values()), read)

    def _watch(
        self, name: str, text: str, labels: tuple[str, ...], across: Across
    ) -> Watched | Published:
        if self._folder is not None:
            return Published(name, text, labels, across)
        watched = Watched(name, text, labels)
        self.registry.register(watched)
        return watched

    def publish(self) -> None:
        """Read the watched mappings and the process, for requests to other processes."""
        if self._process is not None:
            self._process.publish()
        for each in self._watched.values():
            if isinstance(each, Published):
                each.publish()

    async def exposition(self) -> bytes:
        """Return all numbers as Prometheus reads them."""
        if self._folder is None:
            return generate_latest(self.registry)
        self.publish()
        # reading the files of four processes takes 10 ms
        return await asyncio.to_thread(self._of_all, self._folder)

    def _of_all(self, folder: str) -> bytes:
        joined = CollectorRegistry()
        MultiProcessCollector(joined, folder)  # type: ignore[no-untyped-call]
        return generate_latest(joined) + generate_latest(self._facts)


class ModelMetrics:
    """The metrics of one model: the app's, with the label ``model``."""

    def __init__(self, metrics: Metrics, model: str) -> None:
        self._metrics, self._model = metrics, model
        self._first_token = metrics.first_token_seconds.labels(model)
        self._token = metrics.token_seconds.labels(model)
        self._answer = metrics.answer_seconds.labels(model)
        self._tokens: dict[TokenKind, Counter] = {}
        self._adapters: set[str] = set()
        self._finished: dict[str, Counter] = {}
        self.stream_errors = metrics.stream_errors

    def tokens(self, kind: TokenKind, number: int) -> None:
        """Count tokens."""
        counter = self._tokens.get(kind)
        if counter is None:
            counter = self._tokens[kind] = self._metrics.tokens.labels(self._model, kind)
        counter.inc(number)

    def first_token(self, record: RequestRecord) -> None:
        """Observe the time to the first token."""
        if record.first_token_at is not None:
            self._first_token.observe(record.first_token_at - record.started)

    def answered(self, record: RequestRecord) -> None:
        """Observe the times of an answer that has ended, and count the tokens that are parts."""
        if record.last_token_at is None:
            return
        self._answer.observe(record.last_token_at - record.started)
        if (seconds := record.per_token_s) is not None:
            self._token.observe(seconds)
        self.tokens("cached", record.cached_tokens)
        self.tokens("reasoning", record.reasoning_tokens)
        if record.adapter is not None:
            self._adapter_answered(record.adapter, record)

    def _adapter_answered(self, name: str, record: RequestRecord) -> None:
        """Count an answer of an adapter, and its tokens."""
        if name not in self._adapters and len(self._adapters) >= MAX_ADAPTERS:
            name = "other"
        self._adapters.add(name)
        self._metrics.adapter_answers.labels(self._model, name).inc()
        tokens = self._metrics.adapter_tokens
        tokens.labels(self._model, name, "prompt").inc(record.prompt_tokens)
        tokens.labels(self._model, name, "completion").inc(record.completion_tokens)

    def left_out(self, record: RequestRecord) -> None:
        """Count the parts of a request that are left out."""
        for part in record.ignored:
            self._metrics.ignored.labels(part.rpartition(" ")[2]).inc()

    def finished(self, reason: str) -> None:
        """Count a choice by its finish reason."""
        counter = self._finished.get(reason)
        if counter is None:
            counter = self._finished[reason] = self._metrics.finished.labels(self._model, reason)
        counter.inc()

    def worker_failed(self, worker: str, reason: str) -> None:
        """Count a failed attempt or probe."""
        self._metrics.worker_failures.labels(self._model, worker, reason).inc()

    def worker_ejected(self, worker: str) -> None:
        """Count an ejection."""
        self._metrics.worker_ejections.labels(self._model, worker).inc()

    def retried(self, is_allowed: bool) -> None:
        """Count a retry at another worker, or one that the retry budget denied."""
        self._metrics.worker_retries.labels(
            self._model, "allowed" if is_allowed else "denied"
        ).inc()

    def forget_worker(self, name: str) -> None:
        """Drop the series of a worker that has left, whose address never returns."""
        metrics, worker = self._metrics, (self._model, name)
        series = [(metrics.worker_failures, (*worker, why)) for why in get_args(FailureReason)]
        for counter, labels in [*series, (metrics.worker_ejections, worker)]:
            with suppress(KeyError):  # older versions raise it for a missing series
                counter.remove(*labels)
