"""Descriptions of routes for the OpenAPI document: keyword arguments for FastAPI's decorators.

    @router.post("/v1/models", **operation("list_models", ...))

Routes read their bodies themselves and return responses as they are, so FastAPI knows neither. The
schemas are named here, and document.py makes them of the types.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import ApiError

#: whose key an operation needs: a client's, an operator's, or none
Key = Literal["client", "operator"] | None
#: the type of a body or of an answer, which gives the schema its name
SchemaType = Any
Parameters = Sequence[Mapping[str, Any]]

#: errors that every operation may answer with: the request is no proper HTTP, its headers are too
#: large or late, a fault, the gateway stops or is full
_ALWAYS = (400, 408, 431, 500, 503)
#: errors by the key that is needed
_OF_KEY: dict[Key, tuple[int, ...]] = {None: (), "client": (401, 403), "operator": (401, 403)}
#: errors of bodies
_OF_BODY = (413, 415)
#: errors of generations, besides those of a body and a key
_OF_GENERATION = (404, 429, 502, 504)
#: names of the security schemes
SCHEMES: dict[Key, str] = {"client": "ClientKey", "operator": "OperatorKey"}
#: headers of every answer; those of generations with keys that have limits; and of generations
_HEADERS = ("x-request-id", "openai-processing-ms")
LIMITS = tuple(
    f"x-ratelimit-{what}-{of}"
    for of in ("requests", "tokens")
    for what in ("limit", "remaining", "reset")
)
_GENERATION_HEADERS = (
    *LIMITS,
    "x-switchyard-backend",
    "x-switchyard-constraints",
    "x-switchyard-relaxed",
    "x-switchyard-taught",
    "x-switchyard-ignored",
)


@dataclass(frozen=True, slots=True)
class OwnErrors:
    """How an API answers errors, if not with OpenAI's object: ``kind``: the type of the body;
    ``write``: makes it of an error and the request's id; ``statuses``: its own in place of usual
    ones; ``id_header``: has the request's id, too.
    """

    kind: SchemaType
    write: Callable[[ApiError, str], Mapping[str, Any]]
    statuses: Mapping[int, int]
    id_header: str

    def answer(self, error: ApiError, request_id: str) -> tuple[int, Mapping[str, Any]]:
        """Return the status and the body of an error."""
        return self.statuses.get(error.status, error.status), self.write(error, request_id)

    def response(self) -> dict[str, Any]:
        """Return the answer of an error."""
        content = {"application/json": {"schema": schema(self.kind)}}
        names = (*_HEADERS, self.id_header, "Retry-After", "retry-after-ms", "WWW-Authenticate")
        return {"description": "An error.", "headers": headers(names), "content": content}


class Described(dict[str, Any]):
    """The facts of an operation that FastAPI lacks, and the types whose schemas it names."""

    bodies: tuple[SchemaType, ...] = ()
    answers: tuple[SchemaType, ...] = ()


def operation(
    number: str,
    summary: str,
    *,
    tag: str,
    description: str = "",
    key: Key = "client",
    body: SchemaType = None,
    answer: SchemaType = None,
    media_type: str = "application/json",
    events: SchemaType = None,
    errors: Sequence[int] = (),
    parameters: Parameters = (),
    example: Any = None,
    links: Mapping[str, Any] | None = None,
    own_errors: OwnErrors | None = None,
) -> dict[str, Any]:
    """Return the keyword arguments of one route.

    Args:
        number: the operation's id, which generated clients use as the name of a function.
        body, answer: types; no answer: there is none but errors.
        events: the type of an event; with a body, the operation is a generation that may stream.
        errors: statuses besides those that follow from the other arguments.
        links: operations that take values of the answer.
    """
    generates = None not in (body, events)
    found = {*_ALWAYS, *_OF_KEY[key], *errors}
    extra = Described({"parameters": list(parameters)} if parameters else {})
    extra.answers = tuple(kind for kind in (answer, events) if kind is not None)
    if body is not None:
        extra.bodies = (body,)
        found |= set(_OF_BODY)
        media: dict[str, Any] = {"schema": schema(body)}
        if example is not None:
            media["example"] = example
        extra["requestBody"] = {"required": True, "content": {"application/json": media}}
    if generates:
        found |= set(_OF_GENERATION)
    if key is not None:
        extra["security"] = [{SCHEMES[key]: []}]
    if own_errors is None:
        extra["responses"] = {str(status): error(status) for status in sorted(found)}
    else:
        found = {own_errors.statuses.get(status, status) for status in found}
        extra["responses"] = {str(status): own_errors.response() for status in sorted(found)}
        extra.answers += (own_errors.kind,)
    if answer is not None:
        names = (*_HEADERS, *(_GENERATION_HEADERS if generates else ()))
        names += (own_errors.id_header,) if own_errors else ()
        extra["responses"]["200"] = _success(answer, media_type, events, names)
        if links is not None:
            extra["responses"]["200"]["links"] = dict(links)
    return {
        "operation_id": number,
        "summary": summary,
        "description": description or f"{summary}.",
        "tags": [tag],
        "response_model": None,
        "openapi_extra": extra,
    }


def schema(kind: SchemaType) -> dict[str, str]:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def error(status: int) -> dict[str, str]:
    """Return a reference to the answer of an error."""
    return {"$ref": f"#/components/responses/Error{status}"}


def query(name: str, schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return an optional parameter of a query."""
    return {
        "name": name,
        "in": "query",
        "required": False,
        "schema": dict(schema),
        "description": description,
    }


def headers(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return references to headers."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _success(
    answer: SchemaType, media_type: str, events: SchemaType, names: Sequence[str]
) -> dict[str, Any]:
    content: dict[str, Any] = {media_type: {"schema": schema(answer)}}
    description = "The answer."
    if events is not None:
        description = "The answer; with `stream: true` its events."
        content["text/event-stream"] = {"schema": _event(events)}
    return {"description": description, "headers": headers(names), "content": content}


def _event(kind: SchemaType) -> dict[str, Any]:
    """Return the schema of one server-sent event: OpenAPI 3.1 has none for a stream of them."""
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": schema(kind)}
    return {
        "type": "object",
        "description": f"A server-sent event whose data is JSON, a {kind.__name__}.",
        "properties": {"event": {"type": "string"}, "data": data},
        "required": ["data"],
    }
