"""Media in prompts: the images that the model sees, and lines of text in place of all others.

    an image of a user, or in a result       seen, if the model sees images and this server can read
                                             it, and if it is one of the newest of them
    any other part                           a line of text; the part is named to the client
    any other part of the current message    an error that names the part

The current message is the last one of the user behind the last answer; there is none if results of
tools are there, too. Only there may a part be an error: agents send their history with each
request, so an error about a part of it would end their session. A message behind results belongs to
them: clients whose API has no images in results, such as Cline, send these in a message of the
user. A refused message becomes history, too. Codex sends it again before the next one. Claude Code
joins both, but leaves out an image whose error has the words of Anthropic's server (``_WORDS``).
The model setting ``unseen_media`` makes the error a line of text.

Not here   reading images (images), their placeholders (image_profile, image_marks).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from adapters.workers import Image

from ..errors import ApiError, bad_request
from ..generation import TEXT_ONLY, Media, Message, Part, Text
from ..images import UnreadableImage
from ..protocol import pointer

#: words of Anthropic's errors about its types of parts, which Claude Code knows
_WORDS = {"image": "Could not process image: ", "document": "Could not process PDF: "}
#: roles in whose messages models see images
_SEEING = ("user", "tool")


#: what was read, by URL
Loaded = Mapping[str, Image | UnreadableImage]


@dataclass(frozen=True, slots=True)
class ShownMedia:
    """Messages without media, with marks of the seen images.

    ``images``    by the number of their mark.
    ``left_out``  places and kinds of parts that are lines of text, and of details.
    """

    messages: Sequence[Message]
    images: Sequence[Image] = ()
    left_out: Sequence[str] = ()


class _Unseen(NamedTuple):
    """Why a part is not seen."""

    reason: str
    code: str = "unsupported_media"


def has_media(messages: Sequence[Message]) -> bool:
    """Whether a conversation has parts that are no text."""
    return any(isinstance(part, Media) for message in messages for part in message.parts)


def newest_images(messages: Sequence[Message], *, refuses: bool, most: int) -> list[Media]:
    """Return the images to be read: the last ``most`` of those that models may see.

    Raises:
        ApiError: see shown_media; the current message alone has more.
    """
    images = [*_images(messages)]
    current = [*_images(messages[_current(messages) :])]
    if refuses and len(current) > most:
        raise _refused(
            current[most],
            _Unseen(f"at most {most} images are allowed, got {len(current)}", "too_many_images"),
        )
    return images[-most:]


def _images(messages: Sequence[Message]) -> Iterator[Media]:
    for message in messages:
        if message.role in _SEEING:
            for part in message.parts:
                if isinstance(part, Media) and part.url is not None:
                    yield part


def shown_media(
    messages: Sequence[Message],
    loaded: Loaded | None,
    *,
    mark: Callable[[int], str],
    refuses: bool,
    most: int,
    reason: str = TEXT_ONLY,
) -> ShownMedia:
    """Return the conversation as a model sees it. ``mark``: returns the text of a seen image.

    ``loaded``: the images of ``newest_images``; None: the model sees none, for this ``reason``.
    ``refuses``: unseen parts of the current message are errors. ``most``: images that it sees.

    Raises:
        ApiError: 400 that names a part of the current message.
    """
    if not has_media(messages):
        return ShownMedia(messages)
    newest = set[int]()
    if loaded is not None:
        newest.update(map(id, newest_images(messages, refuses=refuses, most=most)))
    shown, images = list[Message](), list[Image]()
    left_out, details = list[str](), list[str]()
    first = _current(messages)
    for number, message in enumerate(messages):
        parts = list[Part]()
        for part in message.parts:
            if not isinstance(part, Media):
                parts.append(part)
                continue
            image = (
                _Unseen(reason) if loaded is None else _image_of(part, message.role, loaded, newest)
            )
            if isinstance(image, Image):
                parts.append(Text(mark(len(images))))
                images.append(image)
                if part.detail not in (None, "auto"):
                    details.append(f"{pointer(part.at)} detail")
            elif refuses and number >= first and message.role == "user":
                raise _refused(part, image)
            else:
                parts.append(Text(part.line_of(image.reason)))
                left_out.append(f"{pointer(part.at)} {part.kind}")
        shown.append(replace(message, parts=tuple(parts)))
    # no worker knows details: one place tells it
    return ShownMedia(shown, images, [*left_out, *details[:1]])


def _current(messages: Sequence[Message]) -> int:
    """Return the number of the current message; that behind the last one: there is none."""
    current = len(messages)
    for number in reversed(range(len(messages))):
        role = messages[number].role
        if role == "tool":
            return len(messages)
        if role == "assistant":
            break
        if role == "user" and current == len(messages):
            current = number
    return current


def _image_of(part: Media, role: str, loaded: Loaded, newest: Collection[int]) -> Image | _Unseen:
    """Return the image of a part, or why it is not seen. ``newest``: ids of parts in memory."""
    if part.url is None:
        is_image = "image" in part.kind
        return _Unseen(
            "it has no URL or data" if is_image else "this model sees images and text only"
        )
    if role not in _SEEING:
        return _Unseen("images are seen in messages of users and in results only")
    if id(part) not in newest:
        return _Unseen(f"only the newest {len(newest)} images are", "too_many_images")
    image = loaded[part.url]
    if isinstance(image, Image):
        return image
    return _Unseen(f"it cannot be read: {image.reason.rstrip('.')}", image.code)


def _refused(part: Media, unseen: _Unseen) -> ApiError:
    return bad_request(
        f"Invalid '{part.at}': {_WORDS.get(part.kind, '')}the part of type '{part.kind}' cannot be "
        f"shown to the model: {unseen.reason}.",
        part.at,
        unseen.code,
    )
