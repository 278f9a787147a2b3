"""Traces of requests for answers, exported with OTLP over HTTP.

Spans are made from the record of a request when it has ended, so that a chunk of an answer costs
nothing more. Only the ids are drawn earlier, because workers receive them.

    POST /v1/chat/completions    attributes of OpenTelemetry's conventions for HTTP and GenAI
      queue                      waiting for admission
      prepare                    template, tokenizer, compile
      generate                   one for each attempt at a worker

Invariants   I1 spans have what the record has: names and numbers, no text of a client.
             I2 a collector that is down, slow or hostile costs spans and at most one log line in
                ``LOG_SECONDS``: the queue is bounded, a thread of its own exports, and bodies of
                the collector's answers are not read.
             I3 ``aclose`` returns within ``CLOSE_SECONDS``.
Threads      the event loop, beside the exporter's thread.
Imports      import this module only if traces are on: OpenTelemetry's SDK takes 0.1 s.
"""

import asyncio
import logging
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    INVALID_SPAN_CONTEXT,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from .logs import Logger
from .request_record import Attempt, RequestRecord
from .trace_context import TraceContext, new_span_id

#: waiting spans; 2,048 take about 4 MB. Further ones replace the oldest
MAX_SPANS = 2048
#: spans of an export; encoding 256 holds the interpreter's lock for 10 ms, in slices
BATCH = 256
#: milliseconds between exports
EXPORT_MS = 2000
#: seconds for a connection to the collector, and for each read
COLLECTOR_SECONDS = 5.0
#: seconds that a shutdown waits for the last export
CLOSE_SECONDS = 3.0
#: seconds between log lines about failures
LOG_SECONDS = 60.0
#: characters of such a line that come from a library, which may quote the collector
MESSAGE_CHARS = 300
#: the error of requests whose client left, which is no failure of the gateway
CLIENT_LEFT = "client_disconnect"


class Tracer:
    """Draws the ids of requests, and exports their spans. Close it last.

    Args:
        endpoint: URL of the collector, without the path /v1/traces.
        share: of the requests without ``traceparent`` that are exported.
        version: of the gateway.
    """

    def __init__(self, endpoint: str, share: float, *, version: str, logger: Logger) -> None:
        self._share = share
        self._handler = _Reports(logger)
        library = logging.getLogger("opentelemetry")
        library.addHandler(self._handler)
        # for failures after the close, which would go to stderr
        library.addHandler(logging.NullHandler())
        library.propagate = False
        exporter = OTLPSpanExporter(
            f"{endpoint.rstrip('/')}/v1/traces", timeout=COLLECTOR_SECONDS, session=_Session()
        )
        self._ids = _Ids()
        own = Resource({"service.name": "switchyard", "service.version": version})
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,  # TraceContext has decided
            resource=own.merge(OTELResourceDetector().detect()),
            shutdown_on_exit=False,
            id_generator=self._ids,
            span_limits=SpanLimits(max_attribute_length=200),
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                exporter,
                max_queue_size=MAX_SPANS,
                schedule_delay_millis=EXPORT_MS,
                max_export_batch_size=BATCH,
            )
        )
        self._tracer = self._provider.get_tracer("switchyard", version)

    def begin(self, traceparent: str | None) -> TraceContext:
        """Return the place of a request in a trace; ``traceparent``: the client's header."""
        return TraceContext.begin(traceparent, self._share)

    def end(self, record: RequestRecord, *, method: str, route: str, status: int) -> None:
        """Make the spans of a request that has ended."""
        trace = record.trace
        if trace is None or not trace.is_sampled:
            return
        spans = _Spans(self._tracer, self._ids, trace)
        facts = {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": status,
            **_gen_ai(record, route),
        }
        error = record.error or (str(status) if status >= 400 else None)
        is_failure = status >= 500 or (status < 400 and error not in (None, CLIENT_LEFT))
        with suppress(Exception):  # traces never fail a request
            parent = None if trace.parent_id is None else spans.context(trace.parent_id, True)
            spans.add(
                f"{method} {route}",
                trace.span_id,
                parent,
                (record.started, spans.now),
                facts,
                error=error,
                is_failure=is_failure,
                kind=SpanKind.SERVER,
            )
            self._add_steps(spans, record, error)

    def _add_steps(self, spans: "_Spans", record: RequestRecord, error: str | None) -> None:
        """Add the spans below that of the request; ``error`` ended the step that has no end."""
        parent = spans.context(spans.trace.span_id, False)
        phases = (
            ("queue", record.queued_at, record.queue_s),
            ("prepare", record.preparing_at, record.prepare_s),
        )
        for name, start, seconds in phases:
            if start is not None:
                end = spans.now if seconds is None else start + seconds
                failed = error if seconds is None else None
                spans.add(
                    name, new_span_id(), parent, (start, end), {}, error=failed, is_failure=False
                )
        for each in record.attempts:
            spans.add(
                f"generate {record.model}",
                each.span_id,
                parent,
                (each.started, each.ended or spans.now),
                _attempt(each, record),
                error=each.error,
                is_failure=each.error != "cancelled",
                kind=SpanKind.CLIENT,
            )

    async def aclose(self) -> None:
        """Export what waits, for at most ``CLOSE_SECONDS``."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def close() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # the loop is closed: this took too long
                loop.call_soon_threadsafe(done.set)

        # not a thread of the loop's pool, which the interpreter waits for
        threading.Thread(target=close, name="traces-close", daemon=True).start()
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), CLOSE_SECONDS)
        logging.getLogger("opentelemetry").removeHandler(self._handler)


class _Spans:
    """Makes the spans of one request from times of ``time.perf_counter``."""

    def __init__(self, tracer: Any, ids: "_Ids", trace: TraceContext) -> None:
        self.trace, self.now = trace, time.perf_counter()
        self._tracer, self._ids = tracer, ids
        self._offset = time.time_ns() - int(self.now * 1e9)

    def context(self, span_id: int, is_remote: bool) -> SpanContext:
        """Return the context of a span of this trace."""
        return SpanContext(self.trace.trace_id, span_id, is_remote, TraceFlags(TraceFlags.SAMPLED))

    def add(
        self,
        name: str,
        span_id: int,
        parent: SpanContext | None,
        times: tuple[float, float],
        facts: dict[str, Any],
        *,
        error: str | None,
        is_failure: bool = True,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        """Add an ended span; ``is_failure``: whether ``error`` is one of the span's own."""
        self._ids.trace_id, self._ids.span_id = self.trace.trace_id, span_id
        above = NonRecordingSpan(parent or INVALID_SPAN_CONTEXT)
        start, end = (self._offset + int(seconds * 1e9) for seconds in times)
        if error is not None:
            facts = {**facts, "error.type": error}
        span = self._tracer.start_span(
            name, set_span_in_context(above), kind, attributes=facts, start_time=start
        )
        if error is not None and is_failure:
            span.set_status(Status(StatusCode.ERROR))
        span.end(end)


class _Ids(IdGenerator):
    """Gives the SDK the ids that were drawn at the start of the request."""

    trace_id = span_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id


def _gen_ai(record: RequestRecord, route: str) -> dict[str, Any]:
    """Return what is known of the answer, by the names of the GenAI conventions."""
    first = record.first_token_at
    facts: dict[str, Any] = {
        "gen_ai.operation.name": "text_completion" if route == "/v1/completions" else "chat",
        "gen_ai.provider.name": "switchyard",
        "gen_ai.request.model": record.model,
        "switchyard.adapter": record.adapter,
        "gen_ai.request.stream": None if record.model is None else record.is_stream,
        "gen_ai.response.finish_reasons": tuple(record.finish) or None,
        "gen_ai.response.time_to_first_chunk": None if first is None else first - record.started,
        "switchyard.request.id": record.id,
        "switchyard.grammar.backend": record.backend,
    }
    if first is not None:
        facts |= {
            "gen_ai.usage.input_tokens": record.prompt_tokens,
            "gen_ai.usage.output_tokens": record.completion_tokens,
            "gen_ai.usage.cache_read.input_tokens": record.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": record.reasoning_tokens,
        }
    return {name: value for name, value in facts.items() if value is not None}


def _attempt(attempt: Attempt, record: RequestRecord) -> dict[str, Any]:
    """Return the worker of an attempt; names of remote ones end with their host and port."""
    facts: dict[str, Any] = {"switchyard.worker": attempt.worker}
    if record.model is not None:
        facts["gen_ai.request.model"] = record.model
    with suppress(ValueError):
        address = urlsplit("//" + attempt.worker.rpartition(" ")[2])
        if address.hostname and address.port:
            facts |= {"server.address": address.hostname, "server.port": address.port}
    return facts


class _Session(requests.Session):
    """A session that does not read the bodies of answers, which may be endless.

    Redirects are failures, and proxies and passwords of the environment are not used.
    """

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        """Send a request; return status and headers of the answer."""
        options |= {"stream": True, "allow_redirects": False}
        with super().send(request, **options) as answer:
            if answer.is_redirect:
                raise requests.TooManyRedirects("the collector redirects")
            short = requests.Response()
            short.status_code, short.headers = answer.status_code, answer.headers
            short.url, short.request = answer.url, request
            return short


class _Reports(logging.Handler):
    """Logs failures of the exporter, one in ``LOG_SECONDS``."""

    def __init__(self, logger: Logger) -> None:
        super().__init__(logging.WARNING)
        self._logger, self._next = logger, 0.0

    def emit(self, record: logging.LogRecord) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + LOG_SECONDS
            reason = record.getMessage()[:MESSAGE_CHARS]
            self._logger.warning("failed to export traces", reason=reason)
