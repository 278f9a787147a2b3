"""Whether a worker sees images: a red square costs more tokens than its placeholder.

A server may ignore images without an error, and its model then answers as if there were none. Its
count of the prompt's tokens shows that: it is the count of the ids that it got.
"""

import base64
import json
import struct
import zlib
from typing import Any

from ..observability import RequestRecord
from ..pool import Member
from ..protocol import ChatRequest, TokenizeRequest
from ..service import RequestContext, ServedModel
from .finding import Finding

#: pixels of a side; models scale smaller images up, and larger ones down
SMALL, LARGE = 64, 512


async def examine_images(served: ServedModel, member: Member) -> Finding | None:
    """Return the finding about the only worker that takes requests; None: images are not meant.

    Raises:
        ApiError: a request with an image fails.
    """
    place = f"worker {member.name}"
    shows, sees = served.tokenizer.shows_images, member.worker.sees_images is True
    # the noise worker takes images and has no model that sees them
    if shows == sees and (not sees or served.settings.worker_kind == "noise"):
        return None
    if not sees:
        reason = member.health.details.get("vision_error")
        return Finding(
            "warning",
            place,
            "the chat template shows images, but the worker's model does not see them"
            + (f": {reason}" if reason else ""),
            "serve the model with its vision part; requests with images get 400 until then",
        )
    if not shows:
        return Finding(
            "warning",
            place,
            "the worker's model sees images, but the chat template does not show them",
            "use the tokenizer folder of the vision model, with its own chat template",
        )
    small, large = [await _tokens(served, side) for side in (SMALL, LARGE)]
    return _verdict(place, small, large)


def _verdict(place: str, small: int, large: int) -> Finding:
    """Return the finding about the tokens of two squares."""
    if min(small, large) < 2:
        return Finding(
            "error",
            place,
            "it does not see images: a red square adds no tokens to the ids of its prompt",
            "see the log of the worker; its model or its version may have no vision",
        )
    if large < small:
        return Finding(
            "warning",
            place,
            f"a red square of {LARGE} x {LARGE} pixels costs {large:,} tokens, "
            f"one of {SMALL} x {SMALL} costs {small:,}",
            "a larger image should not cost less; see the log of the worker",
        )
    text = f"sees images: {small:,} tokens for {SMALL} x {SMALL} pixels, {large:,} for "
    return Finding("ok", place, f"{text}{LARGE} x {LARGE}")


async def _tokens(served: ServedModel, side: int) -> int:
    """Return the tokens that a square costs; 1: no more than its placeholder."""
    asked = _request(served.name, side)
    size = len(asked["messages"][0]["content"][0]["image_url"]["url"])
    counted = TokenizeRequest.model_validate({name: asked[name] for name in ("model", "messages")})
    ids: int = json.loads(await served.tokenizing.tokenize(counted, size, "doctor"))["count"]
    record = RequestRecord("doctor")
    context = RequestContext(
        client="doctor", priority=0, model=served.name, size=size, record=record
    )
    answer = await served.chat.complete(ChatRequest.model_validate(asked), context)
    prompt: int = answer.body["usage"]["prompt_tokens"]
    return prompt - ids + 1


def _request(model: str, side: int) -> dict[str, Any]:
    image = {"type": "image_url", "image_url": {"url": red_square(side)}}
    text = {"type": "text", "text": "Which colour is this?"}
    return {
        "model": model,
        "messages": [{"role": "user", "content": [image, text]}],
        "max_completion_tokens": 1,
    }


def red_square(side: int) -> str:
    """Return the data URL of a PNG file with ``side`` x ``side`` red pixels."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    # each row begins with its filter, 0: none
    pixels = (b"\0" + b"\xff\0\0" * side) * side
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    file = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)
    return f"data:image/png;base64,{base64.b64encode(file).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
