"""The request's body: bytes counted while they come in, then JSON, then a request.

Invariants       I1 never more than the limit is kept in memory, whatever Content-Length says or
                 leaves out.
                 I2 what is not JSON in UTF-8, is nested too deep for any later recursion, or holds
                    a number that JSON can't write again, is refused here. The parser's own depth
                    limit is 200.
"""

import json
import re
from collections.abc import AsyncIterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import ClientDisconnect, Request

from ..errors import ApiError, bad_request
from ..request import ChatRequest
from .errors import from_validation

Parsed = TypeVar("Parsed", bound=BaseModel)

#: how much of a body that is too large is read and thrown away before the answer, as a multiple of
#: the limit: a client that is still sending when its connection closes may never see the answer
DRAIN = 8

#: what a number needs to become infinite: an exponent, or more digits than a float holds
_MAYBE_INFINITE = re.compile(rb"[0-9][eE]|[0-9]{300}")


async def read_request(request: Request, max_bytes: int) -> ChatRequest:
    """Raises ApiError for whatever is not a chat request."""
    return await read_as(ChatRequest, request, max_bytes)


async def read_as(kind: type[Parsed], request: Request, max_bytes: int) -> Parsed:
    """Raises ApiError for whatever is not of this kind."""
    return parse_as(kind, await read_body(request.stream(), max_bytes))


async def read_body(stream: AsyncIterator[bytes], max_bytes: int) -> bytes:
    """The whole body; 413 past ``max_bytes``."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in stream:
            size += len(part)
            if size <= max_bytes:
                parts.append(part)
            else:
                parts.clear()
            if size > DRAIN * max_bytes:
                break
    except ClientDisconnect:
        raise ApiError(499, "The client closed the connection.", code="client_disconnect") from None
    if size > max_bytes:
        raise ApiError(
            413,
            f"Request body too large: at most {max_bytes:,} bytes are allowed.",
            code="request_too_large",
        )
    return b"".join(parts)


def parse_request(body: bytes) -> ChatRequest:
    """JSON text -> request. Raises ApiError 400 that names the place."""
    return parse_as(ChatRequest, body)


def parse_as(kind: type[Parsed], body: bytes) -> Parsed:
    """JSON text -> a request of this kind. Raises ApiError 400 that names the place."""
    try:
        value = parse_json(body)
    except ValueError as error:
        raise bad_request(
            "We could not parse the JSON body of your request. "
            f"(HINT: this likely means you aren't using your HTTP library correctly. {error}.)",
            code="invalid_json",
        ) from None
    return validated(kind, value)


def parse_json(body: bytes) -> Any:
    """JSON text -> value. Raises ValueError, also for a number that JSON can't write again."""
    value = from_json(body, allow_inf_nan=False)
    if _MAYBE_INFINITE.search(body):
        json.dumps(value, allow_nan=False)
    return value


def validated(kind: type[Parsed], value: Any) -> Parsed:
    """A JSON value -> a request of this kind. Raises ApiError 400 that names the place."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise from_validation(error, value) from None
