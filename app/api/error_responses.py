"""Error answers: exceptions of routes as the error object of the client's API.

Handles ApiError, unexpected exceptions, and the router's 404 and 405. validation_errors has the
words for mistakes in bodies.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from ..errors import ApiError, bad_request, internal_error
from ..protocol import is_response_id
from .exchange import Exchange, exchange_of
from .surfaces import error_answer

#: characters of a path that an error repeats
_SHOWN_CHARS = 100
#: methods of the routes
_METHODS = ("DELETE", "GET", "HEAD", "POST")
#: statuses of requests whose body was not read to its end
_UNREAD = (408, 413, 415)
#: seconds in which the rest of such a body is read and dropped: closing a connection while its
#: client sends resets it, and the client may never see the answer
LINGER_S = 1.0


class ClosingResponse(JSONResponse):
    """A response that is sent at once, then leaves the client LINGER_S to stop sending."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = [*self.raw_headers, (b"connection", b"close")]
        await send({"type": "http.response.start", "status": self.status_code, "headers": head})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while (await receive()).get("more_body"):
                    pass
        await send({"type": "http.response.body", "body": b""})


def error_response(error: ApiError, exchange: Exchange) -> JSONResponse:
    """Return the answer of an error."""
    kind = ClosingResponse if error.status in _UNREAD else JSONResponse
    status, body = error_answer(error, exchange.surface, exchange.id)
    return kind(body, status_code=status, headers=error.headers)


async def refuse_socket(error: ApiError, send: Send) -> None:
    """Answer the handshake of a WebSocket with an error object."""
    headers = {"content-type": "application/json", **error.headers}
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    start = {"type": "websocket.http.response.start", "status": error.status, "headers": encoded}
    await send(start)
    await send({"type": "websocket.http.response.body", "body": to_json(error.body())})


def endpoints_of(routers: Iterable[APIRouter]) -> list[str]:
    """Return the endpoints without an id, for the answer to an unknown path: many clients also ask
    for embeddings, images or speech.
    """
    return [
        f"{method} {route.path}"
        for router in routers
        for route in router.routes
        if isinstance(route, APIRoute) and "{" not in route.path
        for method in sorted(route.methods or ())
    ]


def install_error_handlers(app: FastAPI) -> None:
    """Answer every failure of a route with an error object."""
    # those of clients' routes, which are added later (endpoints_of)
    app.state.endpoints = []

    def answer(request: Request, error: ApiError) -> JSONResponse:
        return error_response(error, exchange_of(request))

    async def on_api_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ApiError)
        exchange_of(request).record.error = error.code
        return answer(request, error)

    async def on_http_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return answer(request, _from_http(request, error))

    async def on_validation_error(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        message = f"Invalid request: {error.errors()[0]['msg']}"
        return answer(request, bad_request(message))

    async def on_fault(request: Request, error: Exception) -> JSONResponse:
        # it is raised on, and the middleware logs it
        return answer(request, internal_error(exchange_of(request).id))

    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(Exception, on_fault)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_validation_error)


def _from_http(request: Request, error: HTTPException) -> ApiError:
    place = f"{request.method} {request.url.path[:_SHOWN_CHARS]}"
    headers = dict(error.headers or {})
    if error.status_code == 405 and _names_nothing(request.scope):
        error, headers = HTTPException(404), {}
    if error.status_code == 404:
        message = (
            f"Invalid URL ({place}). This server is Switchyard, a gateway for text generation. Its "
            f"endpoints are: {', '.join(request.app.state.endpoints)}."
        )
        return ApiError(404, message, code="unknown_url", headers=headers)
    if error.status_code == 405:
        message = f"Not allowed to {request.method} on {request.url.path[:_SHOWN_CHARS]}"
        headers["Allow"] = ", ".join(_allowed(request))
        return ApiError(405, message, code="method_not_supported", headers=headers)
    return ApiError(error.status_code, str(error.detail), headers=headers)


def _names_nothing(scope: Scope) -> bool:
    """Whether a path is known only because an id may stand there, and this is none: clients ask for
    endpoints such as /v1/responses/compact, and fall back if the answer is 404.
    """
    name = scope.get("path_params", {}).get("response_id")
    return name is not None and not is_response_id(name)


def _allowed(request: Request) -> list[str]:
    """Return the methods of a path, which several routes may have."""
    return [
        method
        for method in _METHODS
        if any(
            match is Match.FULL and not _names_nothing(scope)
            for match, scope in (
                route.matches({**request.scope, "method": method})
                for route in iter_route_contexts(request.app.routes)
            )
        )
    ]
