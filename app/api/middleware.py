"""The outermost middleware: request ids, times, log lines, metrics, and unexpected exceptions.

Pure ASGI, so that disconnects and bodies pass through unchanged.

Invariants   I1 every answer carries x-request-id: the client's if it is short and printable, else a
                new one.
             I2 no exception reaches the server: before the first byte it becomes a 500, after it
                the connection closes before the body's end, so that no client takes the answer for
                a complete one.
             I3 a path may end with a slash.
             I4 callbacks in the exchange's ``at_end`` are called at the end of every request; its
                ``answer_headers`` go with every answer, its ``record`` becomes the log line.
             I5 a request with both Transfer-Encoding and Content-Length is refused and its
                connection closed: a proxy may see another end of it (RFC 9112, 6.1).
             I6 a request that the end of a shutdown cancels gets a 503, or an error event at the
                end of its stream, which the exchange's ``failed`` writes.
             I7 a handshake of a WebSocket that is refused gets an error object.
"""

from functools import cache

import structlog
from prometheus_client import Counter, Histogram
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import ApiError, internal_error
from ..observability import Logger, Metrics, Outcome, RequestLog, method_label
from ..server import Drain
from .error_responses import error_response, refuse_socket
from .exchange import Exchange

#: routes whose success is not logged: monitors request them every few seconds
_QUIET = ("/health", "/health/live", "/health/ready", "/metrics")


class RequestMiddleware:
    """See the file's header."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics,
        logger: Logger,
        drain: Drain | None = None,
        requests: RequestLog | None = None,
    ) -> None:
        self._app = app
        self._requests = requests or RequestLog()
        self._drain = drain or Drain()
        self._metrics = metrics
        self._logger = logger
        # methods, routes and statuses are few; making labels takes 3 us
        self._series = cache(self._new_series)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            try:
                await self._app(scope, receive, send)
            except ApiError as error:  # before a WebSocket is accepted
                await refuse_socket(error, send)
            return
        if scope["path"].endswith("/"):
            scope["path"] = scope["path"].rstrip("/") or "/"
        exchange = Exchange(scope, send, self._drain)
        structlog.contextvars.bind_contextvars(request_id=exchange.id)
        self._metrics.in_flight.inc()
        try:
            async with self._drain.request():
                with exchange.at_end:
                    if exchange.is_framed_twice:
                        raise _framed_twice()
                    await self._app(scope, receive, exchange.send)
        except ApiError as error:  # of framing and the shutdown; routes answer their own
            exchange.record.error = error.code
            if not exchange.status:
                answer = error_response(error, exchange)
                await answer(scope, receive, exchange.send)
            elif exchange.streams:
                self._metrics.stream_errors.inc()
                body = exchange.failed(error)
                await exchange.send({"type": "http.response.body", "body": body})
        except Exception as error:
            self._metrics.internal_errors.inc()
            self._logger.error("request failed", exc_info=error)
            if not exchange.status:
                answer = error_response(internal_error(exchange.id), exchange)
                await answer(scope, receive, exchange.send)
        finally:
            self._metrics.in_flight.dec()
            self._account(scope, exchange)
            structlog.contextvars.unbind_contextvars("request_id", "model")

    def _new_series(self, method: str, route: str, status: int) -> tuple[Counter, Histogram]:
        metrics = self._metrics
        return metrics.requests.labels(method, route, status), metrics.request_seconds.labels(route)

    def _account(self, scope: Scope, exchange: Exchange) -> None:
        method = method_label(scope["method"])
        route = getattr(scope.get("route"), "path", None) or "other"
        # 499: the client left before there was an answer
        status, seconds = exchange.status or 499, exchange.seconds
        requests, request_seconds = self._series(method, route, status)
        requests.inc()
        request_seconds.observe(seconds)
        outcome: Outcome = {"route": route, "status": status, "ms": round(seconds * 1000, 1)}
        facts = self._requests.end(exchange.record, method=method, outcome=outcome)
        if route not in _QUIET or status >= 400:
            self._logger.info("request", method=method, **outcome, **facts)


def _framed_twice() -> ApiError:
    message = "A request must not have both Transfer-Encoding and Content-Length."
    return ApiError(400, message, code="invalid_http", headers={"connection": "close"})
