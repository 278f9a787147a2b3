"""Request bodies: bytes are counted while they arrive, then parsed as JSON, then validated.

Invariants   I1 no more than the limit is kept in memory, whatever Content-Length says; a body that
                is announced as too large is refused unread. The limit holds for the decoded body.
             I2 text that is not JSON in UTF-8, too deep nesting, too many values, and numbers that
                JSON cannot write again are refused. The parser's own depth limit is 200.
             I3 values are counted before any is created: a million small arrays in 4 MiB would stop
                every thread for a second.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from ..errors import ApiError, bad_request, client_left
from ..protocol.chat_request import ChatRequest
from ..protocol.json_text import has_more_values, parse_json
from ..server.offload import LARGE_BYTES, Offload
from .content_coding import BodyDecoder
from .error_responses import from_validation
from .surrogates import lone_surrogate

Parsed = TypeVar("Parsed", bound=BaseModel)


class BodyReader:
    """Read bodies within the limits of one app."""

    def __init__(
        self, offload: Offload, *, max_bytes: int, max_values: int, timeout_s: float
    ) -> None:
        self._offload = offload
        self._max_bytes = max_bytes
        self._max_values = max_values
        self._timeout_s = timeout_s

    async def read(self, kind: type[Parsed], request: Request) -> tuple[Parsed, int]:
        """Return the request and the bytes of its body. Raises ApiError for an invalid one."""
        if announced_size(request) > self._max_bytes:
            raise too_large(self._max_bytes)
        coding = ",".join(request.headers.getlist("content-encoding"))
        try:
            async with asyncio.timeout(self._timeout_s):
                body = await read_body(request.stream(), self._max_bytes, coding)
        except TimeoutError:
            raise ApiError(
                408,
                f"The request's body did not arrive within {self._timeout_s:g} seconds.",
                code="request_timeout",
            ) from None
        parse = partial(parse_as, kind, body, max_values=self._max_values)
        if len(body) < LARGE_BYTES:
            return parse(), len(body)
        client: str = request.state.record.client
        return await self._offload.run(client, len(body), parse), len(body)


def announced_size(request: Request) -> int:
    """Return the bytes of the body according to its headers; 0: they do not say it."""
    announced = request.headers.get("content-length", "")
    return int(announced[:20]) if announced.isdecimal() else 0


async def read_body(stream: AsyncIterator[bytes], max_bytes: int, coding: str = "") -> bytes:
    """Return the whole body, decoded; raise ApiError 413 as soon as it exceeds ``max_bytes``, and
    400 or 415 if it is not in its content coding.
    """
    decoder = BodyDecoder(coding, max_bytes)
    parts: list[bytes] = []
    try:
        async for part in stream:
            decoded = decoder.feed(part)
            if decoded is None:
                raise too_large(max_bytes)
            parts.append(decoded)
    except ClientDisconnect:
        raise client_left() from None
    decoder.finish()
    return b"".join(parts)


def too_large(max_bytes: int) -> ApiError:
    """Return the 413 of a body with more than ``max_bytes``."""
    return ApiError(
        413,
        f"Request body too large: at most {max_bytes:,} bytes are allowed.",
        code="request_too_large",
    )


def parse_request(body: bytes) -> ChatRequest:
    """Parse a chat completion. Raises ApiError 400 that names the field."""
    return parse_as(ChatRequest, body)


def parse_as(kind: type[Parsed], body: bytes, *, max_values: int | None = None) -> Parsed:
    """Parse a request of this kind. Raises ApiError 400 that names the field."""
    if max_values is not None and has_more_values(body, max_values):
        raise bad_request(
            f"The request's body has too many JSON values: at most {max_values:,} are allowed, "
            "got more.",
            code="too_many_values",
        )
    try:
        value = parse_json(body)
    except ValueError as error:
        if named := lone_surrogate(body):
            raise named from None
        raise bad_request(
            "We could not parse the JSON body of your request. "
            f"(HINT: this likely means you aren't using your HTTP library correctly. {error}.)",
            code="invalid_json",
        ) from None
    return validated(kind, value)


def validated(kind: type[Parsed], value: Any) -> Parsed:
    """Validate a JSON value. Raises ApiError 400 that names the field."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise from_validation(error, value) from None
