"""Error answers: exceptions of routes as the error object of the client's API.

Handles ApiError, the router's 404 and 405, and pydantic's validation errors. The middleware handles
unexpected exceptions.
"""

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute, iter_route_contexts
from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_json
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from ..errors import ApiError, bad_request, missing_parameter, unsupported_parameter
from ..protocol import is_response_id
from .exchange import Exchange, exchange_of
from .surfaces import error_answer

#: characters of a client's value that an error repeats
_SHOWN_CHARS = 100

_EXPECTED = {
    "string_type": "a string",
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "a boolean",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_BOUNDS = {
    "greater_than_equal": ("below minimum value", "below_min_value", ">=", "ge"),
    "greater_than": ("below minimum value", "below_min_value", ">", "gt"),
    "less_than_equal": ("above maximum value", "above_max_value", "<=", "le"),
    "less_than": ("above maximum value", "above_max_value", "<", "lt"),
}
_LENGTHS = {
    "too_short": ("array", "too short", "minimum", "min_length", "array_below_min_length"),
    "too_long": ("array", "too long", "maximum", "max_length", "array_above_max_length"),
    "string_too_short": ("string", "too short", "minimum", "min_length", "string_below_min_length"),
    "string_too_long": ("string", "too long", "maximum", "max_length", "string_above_max_length"),
}


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

    app.add_exception_handler(ApiError, on_api_error)
    app.add_exception_handler(HTTPException, on_http_error)
    app.add_exception_handler(RequestValidationError, on_validation_error)


def _from_http(request: Request, error: HTTPException) -> ApiError:
    place = f"{request.method} {request.url.path[:_SHOWN_CHARS]}"
    headers = dict(error.headers or {})
    if error.status_code == 405 and _names_nothing(request):
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


def _names_nothing(request: Request) -> bool:
    """Whether a path is known only because an id may stand there, and this is none: clients ask for
    endpoints such as /v1/responses/compact, and fall back if the answer is 404.
    """
    given = request.scope.get("path_params", {}).get("response_id")
    return given is not None and not is_response_id(given)


def _allowed(request: Request) -> list[str]:
    """Return the methods of a path, which several routes may have. Those of routes without an id
    come first: the word in its place is no id of an object.
    """
    path, routes = request.url.path, request.app.router.routes
    exact = {
        method
        for route in iter_route_contexts(routes)
        if route.path_format == path and isinstance(route.original_route, APIRoute)
        for method in route.methods or ()
    }

    def is_allowed(method: str) -> bool:
        scope = {**request.scope, "method": method}
        return any(route.matches(scope)[0] is Match.FULL for route in routes)

    return [each for each in _METHODS if (each in exact if exact else is_allowed(each))]


def from_validation(error: ValidationError, body: object) -> ApiError:
    """Return the first validation error in OpenAI's words, with its place in the body."""
    problem = error.errors(include_url=False)[0]
    lacking = problem["input"] if problem["type"] == "missing" else None
    param = param_of(problem["loc"], body, lacking=lacking)
    return _worded(problem, param or None)


def param_of(loc: Sequence[int | str], body: object, *, lacking: object = None) -> str:
    """Return ``tools[0].function.name`` for ``("tools", 0, "function", "name")``.

    The place is followed through the body itself, so that names which only pydantic knows (the tags
    of unions) drop out. ``lacking``: the object that lacks the last part; None: it is in the body.
    """
    found, place = _followed(loc, body, lacking)
    if not found and isinstance(lacking, Mapping):
        # a validator has changed the object
        _, place = _followed(loc, body, _ANY)
    return place.removeprefix(".")


#: any object may lack the last part
_ANY = object()


def _followed(loc: Sequence[int | str], here: object, lacking: object) -> tuple[bool, str]:
    """Whether the last part was found, and the place. A tag that is a key as well (``json_schema``)
    counts as a tag if the last part is found that way only.
    """
    if not loc:
        return False, ""
    part, rest = loc[0], loc[1:]
    below: object
    if isinstance(part, int) and isinstance(here, list) and part < len(here):
        step, below = f"[{part}]", here[part]
    elif (
        isinstance(part, str)
        and isinstance(here, Mapping)
        and (part in here or (not rest and (lacking is _ANY or here == lacking)))
    ):
        step, below = f".{part}", here.get(part)
    else:
        return _followed(rest, here, lacking)
    if not rest:
        return True, step
    found, place = _followed(rest, below, lacking)
    if not found and (other := _followed(rest, here, lacking))[0]:
        return other
    return found, step + place


def _worded(problem: ErrorDetails, param: str | None) -> ApiError:
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    match kind:
        case "missing":
            return missing_parameter(param or "")
        case "extra_forbidden":
            return bad_request(f"Unknown parameter: '{param}'.", param, "unknown_parameter")
        case "unsupported_parameter":
            return bad_request(problem["msg"], context["name"], kind)
        case "unsupported_field":
            reason = f"is not supported by this server.{context['instead']}"
            return unsupported_parameter(_below(param, context["name"]), reason)
        case "unsupported_here":
            return bad_request(problem["msg"], param, "unsupported_value")
        case "unsupported_value":
            return bad_request(problem["msg"], _below(param, "type"), kind)
        case "missing_text":
            return missing_parameter(_below(param, context["kind"]))
        case "union_tag_not_found":
            return missing_parameter(_below(param, str(context["discriminator"]).strip("'")))
    if kind in _EXPECTED or kind == "unexpected_type":
        return _wrong_type(param, _EXPECTED.get(kind, problem["msg"]), value)
    return _out_of_bounds(kind, context, value, param) or _other(problem, param)


def _below(param: str | None, field: str) -> str:
    return f"{param}.{field}" if param else field


def _wrong_type(param: str | None, expected: str, value: Any) -> ApiError:
    what = f"expected {expected}, but got {_named(value)} instead"
    return bad_request(f"Invalid type for '{param or 'body'}': {what}.", param, "invalid_type")


def _out_of_bounds(
    kind: str, context: Mapping[str, Any], value: Any, param: str | None
) -> ApiError | None:
    if kind in _BOUNDS:
        words, suffix, sign, key = _BOUNDS[kind]
        sort = "integer" if isinstance(value, int) else "decimal"
        what = (
            f"{sort} {words}. Expected a value {sign} {_number(context[key])}, "
            f"but got {_shown(value)} instead"
        )
        return bad_request(f"Invalid '{param}': {what}.", param, f"{sort}_{suffix}")
    if kind in _LENGTHS:
        sort, words, bound, key, code = _LENGTHS[kind]
        one = f"an {sort}" if sort == "array" else f"a {sort}"
        expected = f"Expected {one} with {bound} length {context[key]}"
        if value:
            what = f"{sort} {words}. {expected}, but got {one} with length {len(value)} instead"
        else:
            code = f"empty_{sort}"
            what = f"empty {sort}. {expected}, but got an empty {sort} instead"
        return bad_request(f"Invalid '{param}': {what}.", param, code)
    return None


def _other(problem: ErrorDetails, param: str | None) -> ApiError:
    kind, context, value = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind == "literal_error":
        what = f"Supported values are: {_listed(context['expected'])}"
        return bad_request(f"Invalid value: {_shown(value)}. {what}.", param, "invalid_value")
    if kind == "union_tag_invalid":
        field = str(context["discriminator"]).strip("'")
        place = _below(param, field)
        tag = value.get(field) if isinstance(value, Mapping) else None
        if tag is None:
            return missing_parameter(place)
        if not isinstance(tag, str):
            return _wrong_type(place, "a string", tag)
        what = f"Supported values are: {_listed(context['expected_tags'])}"
        return bad_request(
            f"Invalid value: '{_cut(context['tag'])}'. {what}.", place, "invalid_value"
        )
    if kind == "string_pattern_mismatch":
        what = f"Expected a string that matches the pattern '{context['pattern']}'"
        return bad_request(
            f"Invalid '{param}': string does not match pattern. {what}.", param, "invalid_value"
        )
    return bad_request(f"Invalid '{param or 'body'}': {problem['msg']}.", param, "invalid_value")


def _listed(values: Any) -> str:
    """Return pydantic's "'a', 'b' or 'c'" as OpenAI writes it: "'a', 'b', and 'c'"."""
    found = re.findall(r"'(?:[^'\\]|\\.)*'|[^\s,']+", str(values))
    names = [name for name in found if name != "or"]
    if len(names) < 3:
        return " and ".join(names)
    return f"{', '.join(names[:-1])}, and {names[-1]}"


def _number(bound: float) -> float:
    """Return a bound as JSON writes it: 2, not 2.0."""
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _named(value: Any) -> str:
    """Return a JSON type's name with its article."""
    names = {bool: "a boolean", int: "an integer", float: "a decimal", str: "a string"}
    names |= {list: "an array", dict: "an object", type(None): "null"}
    return names.get(type(value), "something else")


def _shown(value: Any) -> str:
    return _cut(f"'{value}'" if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _cut(text: Any) -> str:
    text = str(text)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."
