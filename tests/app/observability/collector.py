"""A collector of traces over real HTTP, which decodes what it receives."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Seen:
    """A span, with attributes as plain values."""

    span: Span
    facts: dict[str, Any]

    @property
    def seconds(self) -> float:
        return (self.span.end_time_unix_nano - self.span.start_time_unix_nano) / 1e9

    @property
    def has_failed(self) -> bool:
        return self.span.status.code == self.span.status.STATUS_CODE_ERROR


class Collector:
    """``act``: answers a request in the place of a 200, to be a bad collector."""

    def __init__(self, act: Callable[[BaseHTTPRequestHandler], None] | None = None) -> None:
        self.spans: list[Seen] = []
        self.bodies: list[bytes] = []
        self.requests = 0
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.requests += 1
                if act is not None:
                    act(self)
                    return
                assert self.path == "/v1/traces"
                collector.receive(body)
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def receive(self, body: bytes) -> None:
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.spans += (Seen(span, _plain(span.attributes)) for span in scope.spans)

    def trace(self, request_id: str) -> tuple[Seen, list[Seen]]:
        """Return the server span of a request, and the spans below it by their start."""
        (top,) = [
            each for each in self.spans if each.facts.get("switchyard.request.id") == request_id
        ]
        below = [each for each in self.spans if each.span.parent_span_id == top.span.span_id]
        assert {each.span.trace_id for each in below} <= {top.span.trace_id}
        return top, sorted(below, key=lambda each: each.span.start_time_unix_nano)

    def __enter__(self) -> "Collector":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)
