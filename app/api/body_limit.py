"""The limit of one body, whose bytes are counted while it arrives.

    text    bytes without the data of images
    whole   bytes with it

Invariants   I1 no more than the limit is kept in memory, whatever Content-Length says; a body that
                is announced as too large is refused unread. The limit holds for the decoded body.
             I2 the event loop runs between two pieces of a part: a part of a few kilobytes may be
                one of many megabytes when it is decoded.
Not here     all bodies that are arriving (arriving_bodies); texts that look like images (body).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from starlette.requests import ClientDisconnect, Request

from ..errors import ApiError, client_left
from .content_coding import BodyDecoder
from .image_data import ImageData


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """See the file's header. ``whole``: as many bytes as ``text``, if the body has no images."""

    text: int
    whole: int

    @property
    def without_images(self) -> "BodyLimit":
        """The limit of a body that has none."""
        return BodyLimit(self.text, self.text)

    def error(self) -> ApiError:
        """Return the 413 of a larger body."""
        most = f"at most {self.whole:,} bytes are allowed"
        if self.whole > self.text:
            most += f", and {self.text:,} without the data of its images"
        return ApiError(413, f"Request body too large: {most}.", code="request_too_large")

    def check(self, size: int, media: int) -> None:
        """Raise ApiError 413 for a body of ``size`` bytes, ``media`` of which are images."""
        if size > self.whole or size - media > self.text:
            raise self.error()


def announced_size(request: Request) -> int:
    """Return the bytes of the body according to its headers; 0: they do not say it."""
    announced = request.headers.get("content-length", "")
    return int(announced[:20]) if announced.isdecimal() else 0


class BodyParts:
    """The parts of a body as they arrive: an iterator, since the event loop keeps a record of each
    generator.

    Raises:
        ClientDisconnect: the client has left.
    """

    def __init__(self, request: Request) -> None:
        self._receive = request.receive
        self._is_whole = False

    def __aiter__(self) -> "BodyParts":
        return self

    async def __anext__(self) -> bytes:
        if self._is_whole:
            raise StopAsyncIteration
        message = await self._receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        self._is_whole = not message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part


async def read_body(
    stream: AsyncIterator[bytes],
    add: Callable[[bytes], bytearray],
    limit: BodyLimit,
    coding: str = "",
) -> ImageData:
    """Add all pieces of a body, decoded; return the images in it, if it exceeds ``limit.text``.

    ``add``: returns the body so far.

    Raises:
        ApiError: 413, as soon as it exceeds the limit; 400 or 415, it is not in its content coding.
    """
    decoder, images, size = BodyDecoder(coding), ImageData(), 0
    try:
        async for part in stream:
            for number, piece in enumerate(decoder.decoded(part)):
                if number:
                    await asyncio.sleep(0)
                size += len(piece)
                limit.check(size, size)
                body = add(piece)
                if size > limit.text:
                    await _find(images, body, limit)
    except ClientDisconnect:
        raise client_left() from None
    decoder.finish()
    if size > limit.text:
        limit.check(size, images.size)
    return images


async def _find(images: ImageData, body: bytearray, limit: BodyLimit) -> None:
    """Read the images of a body that is larger than its text may be. Raises ApiError 413."""
    while images.read(body):
        limit.check(images.outside, 0)
        await asyncio.sleep(0)
    limit.check(images.outside, 0)
