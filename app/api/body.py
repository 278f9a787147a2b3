"""Request bodies: bytes are counted while they arrive, then parsed as JSON, then validated.

Invariants   I1 a body has no more bytes than its limit (body_limit); what counted as an image while
                it arrived is counted again once it is validated.
             I2 text that is not JSON in UTF-8, too deep nesting, too many values, and numbers that
                JSON cannot write again are refused. The parser's own depth limit is 200.
             I3 the bodies of all clients that are arriving have a bound (arriving_bodies).
             I4 values are counted before any is created: a million small arrays in 4 MiB would stop
                every thread for a second.
             I5 the data of images is read once, by the parser, if all else is JSON: each call that
                reads all of it holds the GIL for 10 to 50 ms.
"""

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import Request

from ..concurrency import LARGE_BYTES, Offload
from ..errors import ApiError, bad_request
from ..protocol import (
    ChatRequest,
    ConversationItemsRequest,
    ConversationRequest,
    PromptFields,
    ResponseRequest,
    TokenizeRequest,
    UnknownFields,
    has_more_values,
    ignored_fields,
    media_chars,
    parse_json,
)
from .arriving_bodies import ArrivingBodies
from .body_limit import BodyLimit, BodyParts, announced_size, read_body
from .exchange import exchange_of
from .image_data import ImageData
from .repeated_fields import RepeatedFields
from .surrogates import lone_surrogate
from .validation_errors import from_validation

_JSON_TYPE = re.compile(r"application/([a-z0-9!#$&^_.+-]+\+)?json")

#: bodies that may have images
_WITH_MEDIA = (
    *(ChatRequest, PromptFields, ResponseRequest, TokenizeRequest),
    *(ConversationItemsRequest, ConversationRequest),
)

Parsed = TypeVar("Parsed", bound=BaseModel)
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Read(Generic[Parsed]):
    """A request, what is ignored in it, and bytes of media, counted in large bodies only."""

    asked: Parsed
    ignored: list[str]
    media: int


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Read bodies within the limits of one app. ``arriving``: all of them.

    ``limit``: of bodies with messages; others have its ``text``. ``ignores_unknown``: fields that
    this server does not know, see UnknownFields.
    """

    offload: Offload
    arriving: ArrivingBodies
    _: KW_ONLY
    limit: BodyLimit
    max_values: int
    timeout_s: float
    ignores_unknown: bool = False
    repeated: RepeatedFields = field(default_factory=RepeatedFields)

    async def read(self, kind: type[Parsed], request: Request) -> tuple[Parsed, int]:
        """Return the request and the bytes of its body. Raises ApiError for an invalid one."""
        check_type(request)
        limit = self.limit if issubclass(kind, _WITH_MEDIA) else self.limit.without_images
        limit.check(size := announced_size(request), size)
        try:
            read, size = await self._arrived(kind, request, limit)
        except TimeoutError:
            raise ApiError(
                408,
                f"The request's body did not arrive within {self.timeout_s:g} seconds.",
                code="request_timeout",
            ) from None
        exchange = exchange_of(request)
        exchange.media_bytes = read.media
        if read.ignored:
            exchange.record.ignored += read.ignored
        return read.asked, size

    async def value(self, text: bytes, client: str) -> Any:
        """Return the JSON value of a message of a client. Raises ApiError 400 or 413."""

        def step() -> Any:
            images = ImageData()
            if len(text) > self.limit.text:
                while images.read(text):
                    pass
                self.limit.check(len(text), images.size)
            return _decoded(text, self.max_values, images)

        return await self.run(client, len(text), step)

    async def _arrived(
        self, kind: type[Parsed], request: Request, limit: BodyLimit
    ) -> tuple[_Read[Parsed], int]:
        """Return a request and the bytes of its body. Raises ApiError, TimeoutError."""
        headers = request.headers
        coding = ""
        if "content-encoding" in headers:
            coding = ",".join(headers.getlist("content-encoding"))
        client = exchange_of(request).client.id
        async with self.arriving.body(client, self.timeout_s) as arriving:
            add = partial(self.arriving.add, arriving)
            images = await read_body(BodyParts(request), add, limit, coding)
            arriving.end()
            size = len(arriving.data)
            step = partial(self._parsed, kind, arriving.data, images, limit, client)
            return await self.run(client, size, step), size

    def _parsed(
        self,
        kind: type[Parsed],
        body: bytearray,
        images: ImageData,
        limit: BodyLimit,
        client: str,
    ) -> _Read[Parsed]:
        asked, ignored = parse(
            kind,
            body,
            max_values=self.max_values,
            ignores_unknown=self.ignores_unknown,
            images=images,
            repeated=partial(self.repeated.read, client),
        )
        is_large = len(body) >= min(LARGE_BYTES, limit.text)
        media = media_chars(asked) if is_large else 0
        limit.check(len(body), media)
        return _Read(asked, ignored, media)

    async def run(self, client: str, size: int, step: Callable[[], Result]) -> Result:
        """Return the result of a step, which runs in a thread if it has many bytes to read."""
        return step() if size < LARGE_BYTES else await self.offload.run(client, size, step)


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


def parse(
    kind: type[Parsed],
    body: bytes | bytearray,
    *,
    max_values: int,
    ignores_unknown: bool = False,
    images: ImageData | None = None,
    repeated: Callable[[Any, Callable[[], ChatRequest], UnknownFields], Any] | None = None,
) -> tuple[Parsed, list[str]]:
    """Return the request, and the fields in it that are ignored. ``repeated``: see RepeatedFields.
    Raises ApiError 400 that names the field.
    """
    value = _decoded(body, max_values, images)
    unknown = UnknownFields(is_ignoring=ignores_unknown)
    if repeated is not None and kind is ChatRequest:
        request = repeated(value, partial(validated, ChatRequest, value, unknown), unknown)
    else:
        request = validated(kind, value, unknown)
    # both know the fields of some items
    ignored = dict.fromkeys([*ignored_fields(kind, value), *unknown.listed(request, value)])
    return request, list(ignored)


def _decoded(body: bytes | bytearray, max_values: int, images: ImageData | None) -> Any:
    """Return the JSON value of a body. Raises ApiError 400."""
    outline = body if images is None else images.outline(body)
    if has_more_values(outline, max_values):
        raise bad_request(
            f"The request's body has too many JSON values: at most {max_values:,} are allowed, "
            "got more.",
            code="too_many_values",
        )
    try:
        value = parse_json(outline)
        if images is not None and outline is not body:
            value = from_json(images.unescaped(body))
        return value
    except ValueError as error:
        if named := lone_surrogate(outline):
            raise named from None
        where = "" if outline is body else ", without the data of its images"
        raise bad_request(
            "We could not parse the JSON body of your request. "
            f"(HINT: this likely means you aren't using your HTTP library correctly. {error}"
            f"{where}.)",
            code="invalid_json",
        ) from None


def validated(kind: type[Parsed], value: Any, unknown: UnknownFields | None = None) -> Parsed:
    """Validate a JSON value. Raises ApiError 400 that names the field."""
    context = unknown or UnknownFields()
    try:
        return kind.model_validate(value, context=context)
    except ValidationError as error:
        raise from_validation(error, value, context) from None
