"""Request bodies: bytes are counted while they arrive, then parsed as JSON, then validated.

Invariants   I1 no more than the limit is kept in memory, whatever Content-Length says; a body that
                is announced as too large is refused unread. The limit holds for the decoded body.
             I2 text that is not JSON in UTF-8, too deep nesting, too many values, and numbers that
                JSON cannot write again are refused. The parser's own depth limit is 200.
             I3 the bodies of all clients that are arriving have a bound (arriving_bodies).
             I4 values are counted before any is created: a million small arrays in 4 MiB would stop
                every thread for a second.
"""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from ..concurrency import LARGE_BYTES, Offload
from ..errors import ApiError, bad_request, client_left
from ..protocol import UnknownFields, has_more_values, ignored_fields, parse_json
from .arriving_bodies import ArrivingBodies
from .content_coding import BodyDecoder
from .exchange import exchange_of
from .surrogates import lone_surrogate
from .validation_errors import from_validation

_JSON_TYPE = re.compile(r"application/([a-z0-9!#$&^_.+-]+\+)?json")

Parsed = TypeVar("Parsed", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Read bodies within the limits of one app. ``arriving``: all of them.

    ``ignores_unknown``: fields that this server does not know, see UnknownFields.
    """

    offload: Offload
    arriving: ArrivingBodies
    _: KW_ONLY
    max_bytes: int
    max_values: int
    timeout_s: float
    ignores_unknown: bool = False

    async def read(self, kind: type[Parsed], request: Request) -> tuple[Parsed, int]:
        """Return the request and the bytes of its body. Raises ApiError for an invalid one."""
        check_type(request)
        if announced_size(request) > self.max_bytes:
            raise too_large(self.max_bytes)
        coding = ",".join(request.headers.getlist("content-encoding"))
        client = exchange_of(request).client.id
        try:
            async with self.arriving.body(client, self.timeout_s) as arriving:
                add = partial(self.arriving.add, arriving)
                await read_body(request.stream(), add, self.max_bytes, coding)
                body = bytes(arriving.data)
        except TimeoutError:
            raise ApiError(
                408,
                f"The request's body did not arrive within {self.timeout_s:g} seconds.",
                code="request_timeout",
            ) from None
        step = partial(
            parse, kind, body, max_values=self.max_values, ignores_unknown=self.ignores_unknown
        )
        is_small = len(body) < LARGE_BYTES
        asked, ignored = step() if is_small else await self.offload.run(client, len(body), step)
        if ignored:
            exchange_of(request).record.ignored += ignored
        return asked, len(body)

    async def value(self, text: bytes, client: str) -> Any:
        """Return the JSON value of a message of a client. Raises ApiError 400."""
        step = partial(_decoded, text, self.max_values)
        is_small = len(text) < LARGE_BYTES
        return step() if is_small else await self.offload.run(client, len(text), step)


def check_type(request: Request) -> None:
    """Raise ApiError 415 unless the body is said to be JSON.

    Browsers let pages of any site send other types without asking first. A program may leave the
    type out; a browser, which says in these headers whose page it is, may not.
    """
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    from_page = "origin" in request.headers or "sec-fetch-site" in request.headers
    if (not given and not from_page) or _JSON_TYPE.fullmatch(given):
        return
    raise ApiError(
        415,
        "Unsupported Content-Type: send the JSON body with the header 'Content-Type: "
        f"application/json', got {given[:100]!r}.",
        code="unsupported_content_type",
    )


def announced_size(request: Request) -> int:
    """Return the bytes of the body according to its headers; 0: they do not say it."""
    announced = request.headers.get("content-length", "")
    return int(announced[:20]) if announced.isdecimal() else 0


async def read_body(
    stream: AsyncIterator[bytes], add: Callable[[bytes], None], max_bytes: int, coding: str = ""
) -> None:
    """Add all parts of a body, decoded; raise ApiError 413 as soon as it exceeds ``max_bytes``, and
    400 or 415 if it is not in its content coding.
    """
    decoder = BodyDecoder(coding, max_bytes)
    try:
        async for part in stream:
            decoded = decoder.feed(part)
            if decoded is None:
                raise too_large(max_bytes)
            add(decoded)
    except ClientDisconnect:
        raise client_left() from None
    decoder.finish()


def too_large(max_bytes: int) -> ApiError:
    """Return the 413 of a body with more than ``max_bytes``."""
    return ApiError(
        413,
        f"Request body too large: at most {max_bytes:,} bytes are allowed.",
        code="request_too_large",
    )


def parse(
    kind: type[Parsed], body: bytes, *, max_values: int, ignores_unknown: bool = False
) -> tuple[Parsed, list[str]]:
    """Return the request, and the fields in it that are ignored. Raises ApiError 400 that names the
    field.
    """
    value = _decoded(body, max_values)
    unknown = UnknownFields(is_ignoring=ignores_unknown)
    request = validated(kind, value, unknown)
    # both know the fields of some items
    ignored = dict.fromkeys([*ignored_fields(kind, value), *unknown.listed(request, value)])
    return request, list(ignored)


def _decoded(body: bytes, max_values: int) -> Any:
    """Return the JSON value of a body. Raises ApiError 400."""
    if has_more_values(body, max_values):
        raise bad_request(
            f"The request's body has too many JSON values: at most {max_values:,} are allowed, "
            "got more.",
            code="too_many_values",
        )
    try:
        return parse_json(body)
    except ValueError as error:
        if named := lone_surrogate(body):
            raise named from None
        raise bad_request(
            "We could not parse the JSON body of your request. "
            f"(HINT: this likely means you aren't using your HTTP library correctly. {error}.)",
            code="invalid_json",
        ) from None


def validated(kind: type[Parsed], value: Any, unknown: UnknownFields | None = None) -> Parsed:
    """Validate a JSON value. Raises ApiError 400 that names the field."""
    context = unknown or UnknownFields()
    try:
        return kind.model_validate(value, context=context)
    except ValidationError as error:
        raise from_validation(error, value, context) from None
