"""Routes that generate, found by method and path before FastAPI's routing.

FastAPI looks for a route in each included router, and encloses its endpoint in exit stacks for
dependencies and files: 100 us of CPU for a request that needs neither. FastAPI still has the
routes: for the OpenAPI document, for 405, and for an app that is mounted below another path.

Invariants   I1 errors are answered as error_responses answers those of other routes.
Not here     middleware, which encloses these routes like all others.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import ApiError
from .error_responses import error_response
from .exchange import exchange_of

#: routes by method and path
Direct = MutableMapping[tuple[str, str], APIRoute]


class DirectRoutes:
    """The innermost middleware; see the file's header. ``routes`` may be added later."""

    def __init__(self, app: ASGIApp, *, routes: Direct) -> None:
        self._app = app
        self._routes = routes

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        route = self._routes.get((scope.get("method", ""), scope.get("path", "")))
        if route is None or scope["type"] != "http":
            return self._app(scope, receive, send)
        return self._answered(route, scope, receive, send)

    async def _answered(self, route: APIRoute, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = route
        request = _Request(scope, receive, send)
        answer: Callable[[Request], Awaitable[Response]] = route.endpoint
        try:
            response = await answer(request)
        except ApiError as error:
            exchange = exchange_of(request)
            exchange.record.error = error.code
            response = error_response(error, exchange)
        await response(scope, receive, send)


class _Headers(Headers):
    """Headers in a table, the first of each name. The base class reads all for each look-up, which
    takes 12 us a request.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope=scope)
        self._table: dict[bytes, bytes] = dict(reversed(self._list))

    def __getitem__(self, key: str) -> str:
        return self._table[key.lower().encode("latin-1")].decode("latin-1")

    def get(self, key: str, default: Any = None) -> Any:
        value = self._table.get(key.lower().encode("latin-1"))
        return default if value is None else value.decode("latin-1")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower().encode("latin-1") in self._table


class _Request(Request):
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(scope, receive, send)
        self._headers = _Headers(scope)


def add_direct(routes: Direct, router: APIRouter) -> None:
    """Add the routes of a router whose endpoints alone answer requests."""
    for route in router.routes:
        assert isinstance(route, APIRoute)
        for method in route.methods or ():
            routes[method, route.path] = route
