"""Refusals and failures of SGLang: their meaning, by code and words.

Tested with      SGLang 0.5.23: the words of its errors are no interface.
Not here         failures of the connection (http_client), of the stream (sglang_wire).
"""

import re
from collections.abc import Callable
from typing import Any

from .base import FailureReason, PromptTooLong, WorkerError
from .sglang_values import printable

#: characters of a server's message that clients see; some contain the whole grammar
MESSAGE_CHARS = 500
#: of a reason why an image cannot be read; it begins with the data
REASON_CHARS = 200
#: what a half of a generation says when the other half, or the way to it, fails
_TRANSFER = re.compile(
    r"(?:Prefill|Decode) (?:bootstrap|handshake|transfer) failed"
    r"|Could not fetch prefill parallel info"
    r"|KV checksum mismatch|Metadata corruption detected"
)


class LessRoom(WorkerError):
    """The prompt's images leave ``room`` tokens for the answer, fewer than its limit."""

    def __init__(self, room: int) -> None:
        super().__init__(400, f"the prompt leaves room for {room:,} tokens")
        self.room = room


class RankGone(WorkerError):
    """The server has no rank of this number any more: it has restarted with fewer."""

    def __init__(self) -> None:
        super().__init__(503, "the server has no data-parallel rank of this number")


def server_error(
    error: Any, *, status: int | None = None, other: FailureReason = "status"
) -> WorkerError:
    """Convert an error of SGLang: text, or an object with message and code.

    400, 413 and 422 mean that the request is wrong, 429 and 503 that the server has no room for it.
    ``other`` is the reason of all other errors, except those of a transfer between two servers.
    """
    message = error.get("message") if isinstance(error, dict) else error
    code = error.get("code") if isinstance(error, dict) else None
    code = status if status is not None else code
    text = printable(str(message or "no reason given"))
    if code in (400, 413, 422):
        return _known_refusal(text) or WorkerError(413 if code == 413 else 400, _told(text))
    if code in (429, 503):
        return WorkerError(503, _told(text), reason="full" if _FULL.search(text) else "unavailable")
    return WorkerError(502, _told(text), reason="transfer" if _TRANSFER.match(text) else other)


def _told(text: str) -> str:
    return f"SGLang: {text[:MESSAGE_CHARS]}"


def _known_refusal(text: str) -> WorkerError | None:
    for words, meaning in _REFUSALS:
        match = words.match(text)
        if match is not None:
            return meaning(match)
    return None


def _bad_image(match: re.Match[str]) -> WorkerError:
    """Name the image, and leave out its data."""
    place = "an image" if match["at"] is None else f"image {int(match['at']) + 1}"
    reason = match["reason"][:REASON_CHARS]
    return WorkerError(400, f"the worker cannot read {place} of the prompt: {reason}")


def _too_many_images(match: re.Match[str]) -> WorkerError:
    message = f"the worker takes at most {match['limit']} images in a prompt, got {match['got']}"
    return WorkerError(400, message)


def _too_long(match: re.Match[str]) -> WorkerError:
    return PromptTooLong(int(match["got"]), int(match["limit"]))


def _no_adapter(match: re.Match[str]) -> WorkerError:
    return WorkerError(503, _told(match[0].partition("\n")[0]), reason="adapter")


def _less_room(match: re.Match[str]) -> WorkerError:
    return LessRoom(int(match["limit"]) - int(match["got"]))


def _rank_gone(match: re.Match[str]) -> WorkerError:
    return RankGone()


#: a bounded queue (``--max-queued-requests``), with and without priorities
_FULL = re.compile(
    r"The request queue is full\.|The request is aborted by a higher priority request\."
)
_REFUSALS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], WorkerError]], ...] = (
    (
        re.compile(
            r"The input \((?P<got>\d{1,9}) tokens\) is longer than the model's context length"
            r" \((?P<limit>\d{1,9}) tokens\)"
        ),
        _too_long,
    ),
    (
        re.compile(
            r"Input length \((?P<got>\d{1,9}) tokens\) exceeds the maximum allowed length"
            r" \((?P<limit>\d{1,9}) tokens\)"
        ),
        _too_long,
    ),
    (
        re.compile(
            r"Multimodal prompt is too long after expanding multimodal tokens\."
            r".* (?P<got>\d{1,9}) >= (?P<limit>\d{1,9})\."
        ),
        _too_long,
    ),
    (
        re.compile(
            r"Requested token count exceeds the model's maximum context length of"
            r" (?P<limit>\d{1,9}) tokens\..* (?P<got>\d{1,9}) tokens from the input messages"
        ),
        _less_room,
    ),
    (
        re.compile(
            r"(?:An exception occurred while loading "
            r"(?:IMAGE data at index (?P<at>\d{1,9})|multimodal data): )?"
            r"(?:Error while loading data data:\S*: )?"
            r"Could not decode image: (?P<reason>[^<]*[^< ])",
            re.DOTALL,
        ),
        _bad_image,
    ),
    (re.compile(r"routed_dp_rank=-?\d{1,9} out of range"), _rank_gone),
    (
        # unknown; gone between two steps; a server without LoRA; evicted, and its files are gone
        re.compile(
            r"(?:Got LoRA adapter that has never been loaded: "
            r"|The following requested LoRA adapters are not loaded: "
            r"|LoRA adapter '.{0,200}' was requested, but LoRA is not enabled"
            r"|Failed to implicitly load LoRA adapter ).{0,500}"
        ),
        _no_adapter,
    ),
    (
        re.compile(r"Image count (?P<got>\d{1,9}) exceeds limit (?P<limit>\d{1,9}) per request"),
        _too_many_images,
    ),
)
