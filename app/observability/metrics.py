"""Metrics, in a registry of their own: two apps in one process share no numbers.

Invariants   I1 every label has few values, whatever clients send: methods and routes come from
                closed sets, keywords beyond ``MOST_KEYWORDS`` are "other".
             I2 ``parse_divergence`` and ``internal_errors`` count Switchyard's own bugs: they must
                stay 0.
Not here     the workers' own metrics: each worker has a /metrics.
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

#: values of the label ``method``; HTTP allows any other
METHODS = frozenset(
    ("CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE")
)
#: distinct values of the label ``keyword``; JSON Schema has about 60 keywords
MOST_KEYWORDS = 100

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_COMPILE_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


def method_label(method: str) -> str:
    """Return the method as a label: one of ``METHODS``, or "other"."""
    return method if method in METHODS else "other"


class Metrics:
    """All counters of one app. Safe to call from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._keywords: set[str] = set()
        self.requests = Counter(
            "switchyard_http_requests",
            "Answered requests",
            ["method", "route", "code"],
            registry=self.registry,
        )
        self.request_seconds = self._histogram(
            "http_request_duration", "Request to last byte", ["route"]
        )
        self.in_flight = Gauge(
            "switchyard_requests_in_flight", "Running requests", registry=self.registry
        )
        self.first_token_seconds = self._histogram(
            "time_to_first_token", "Request to first chunk of output"
        )
        self.compile_seconds = self._histogram(
            "compile", "Compiling one grammar", buckets=_COMPILE_SECONDS
        )
        self.tokens = self._counter("tokens", "Tokens read and written", ["kind"])
        self.finished = self._counter("choices_finished", "Choices by finish reason", ["reason"])
        self.stream_errors = self._counter(
            "stream_errors", "Streams that ended with an error event"
        )
        self.responses_unstored = self._counter(
            "responses_unstored", "Responses that were answered but could not be stored"
        )
        self._refused = self._counter("refused_schemas", "Schemas refused, by keyword", ["keyword"])
        self._relaxed = self._counter(
            "relaxed_keywords", "Keywords removed from schemas that are not strict", ["keyword"]
        )
        self.disconnects = self._counter("client_disconnects", "Clients that left before the end")
        self._connections_refused = self._counter(
            "connections_refused", "Connections ended before a request, by error code", ["code"]
        )
        self.worker_failures = self._counter(
            "worker_failures", "Failed attempts and probes, by worker", ["worker", "reason"]
        )
        self.worker_ejections = self._counter(
            "worker_ejections", "Ejections of a worker", ["worker"]
        )
        self.parse_divergence = self._counter(
            "parse_divergence", "Answers that do not fit their own grammar"
        )
        self.internal_errors = self._counter(
            "internal_errors", "Requests ended by a fault of our own"
        )

    def _counter(self, name: str, text: str, labels: list[str] | None = None) -> Counter:
        return Counter(f"switchyard_{name}", text, labels or [], registry=self.registry)

    def _histogram(
        self,
        name: str,
        text: str,
        labels: list[str] | None = None,
        buckets: tuple[float, ...] = _SECONDS,
    ) -> Histogram:
        return Histogram(
            f"switchyard_{name}_seconds",
            text,
            labels or [],
            buckets=buckets,
            registry=self.registry,
        )

    def refused(self, keyword: str) -> None:
        """Count a refused schema; ``keyword``: the unenforceable one, or the kind of error."""
        self._refused.labels(self._bounded(keyword)).inc()

    def connection_refused(self, code: str) -> None:
        """Count a refused connection; ``code``: of the error it was sent."""
        self._connections_refused.labels(code).inc()

    def relaxed(self, keyword: str) -> None:
        """Count a keyword that was removed from a schema."""
        self._relaxed.labels(self._bounded(keyword)).inc()

    def _bounded(self, keyword: str) -> str:
        if keyword not in self._keywords and len(self._keywords) >= MOST_KEYWORDS:
            return "other"
        self._keywords.add(keyword)
        return keyword

    def describe(self, **facts: str) -> None:
        """Export facts as labels of ``switchyard_build_info``; other series are joined with it when
        a fleet serves several formats or vocabularies.
        """
        Info("switchyard_build", "Version and facts of this gateway", registry=self.registry).info(
            facts
        )

    def watch(self, name: str, text: str, read: Callable[[], Mapping[str, int | float]]) -> None:
        """Export a mapping of numbers, which is read on each request for /metrics."""
        self.registry.register(_Watched(f"switchyard_{name}", text, read))


class _Watched(Collector):
    """A gauge family whose label ``what`` is the mapping's key."""

    def __init__(self, name: str, text: str, read: Callable[[], Mapping[str, int | float]]) -> None:
        self._name, self._text, self._read = name, text, read

    def describe(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(self._name, self._text, labels=["what"])

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(self._name, self._text, labels=["what"])
        for what, value in self._read().items():
            family.add_metric([what], float(value))
        yield family
