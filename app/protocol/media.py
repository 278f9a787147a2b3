"""Images, files and sounds in messages and in results of tools.

    image_url, input_image               an image: its URL, as a text or in an object
    file, input_file, input_audio, ...   what no model here reads; its name is kept

An image of a user must have its fields. In results and in other messages, which tools and servers
write, one that cannot be read has no URL: it must not end a session.

Not here   whether the model sees an image (conversation); blocks of Anthropic's API (anthropic).
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, get_args

from pydantic import BaseModel, Field
from pydantic_core import PydanticCustomError

from .validation import Lenient

#: types of parts that are images, and of all media
IMAGES = ("image_url", "input_image")
MEDIA = (*IMAGES, "file", "input_audio", "input_file", "video_url")

Detail = Literal["auto", "low", "high", "original"]
#: fields of a file that lists of items repeat
_FILE = ("file_data", "file_id", "file_url", "filename")
#: types of values that are no media
_PLAIN = frozenset((str, int, float, bool, dict, type(None)))


class ImageUrl(Lenient):
    url: str
    detail: Detail | None = None


class MediaPart(Lenient):
    """A part that may be media.

    ``image_url``    of an image; None: it cannot be read.
    ``file``         texts about a file, by their names.
    ``media_chars``  characters that are media, and no text.
    """

    type: str
    image_url: ImageUrl | None = None
    file: dict[str, str] = Field(default_factory=dict)
    media_chars: int = 0

    @property
    def url(self) -> str | None:
        return None if self.image_url is None else self.image_url.url

    @property
    def detail(self) -> str | None:
        return None if self.image_url is None else self.image_url.detail


def media_fields(
    kind: str, part: Mapping[str, Any], image: Callable[[Mapping[str, Any]], Any]
) -> dict[str, Any]:
    """Return the fields of a part of type MEDIA. ``image``: reads its URL."""
    inner = part.get("file")
    about = inner if isinstance(inner, Mapping) else part
    file = {name: about[name] for name in _FILE if isinstance(about.get(name), str)}
    found = {"type": kind, "file": file, "media_chars": _chars(part)}
    return {**found, "image_url": image(part)} if kind in IMAGES else found


def image_of_user(part: Mapping[str, Any]) -> Any:
    """Return the URL for validation; None: the image is a file. Raises PydanticCustomError."""
    given, detail = part.get("image_url"), part.get("detail")
    if given is None and not isinstance(part.get("file_id"), str):
        raise PydanticCustomError("missing_text", "an image needs it", {"kind": "image_url"})
    if isinstance(given, str):
        return {"url": given, "detail": detail}
    return {"detail": detail, **given} if isinstance(given, Mapping) else given


def image_of_others(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the URL of an image; None: it cannot be read."""
    given = part.get("image_url")
    if isinstance(given, str):
        given = {"url": given, "detail": part.get("detail")}
    if not isinstance(given, Mapping) or not isinstance(given.get("url"), str):
        return None
    detail = given.get("detail")
    is_known = isinstance(detail, str) and detail in get_args(Detail)
    return {"url": given["url"], "detail": detail if is_known else None}


def _chars(part: Mapping[str, Any]) -> int:
    """Count the characters of texts in a part and in the objects directly inside of it, but not
    those of names of files, which prompts show.
    """
    objects = (part, *(each for each in part.values() if isinstance(each, Mapping)))
    texts = (each for below in objects for each in below.items() if each[0] != "filename")
    return sum(len(text) for _, text in texts if isinstance(text, str))


def media_chars(value: Any) -> int:
    """Count the characters of all media in a request, which prompts do not show as text."""
    if isinstance(value, list):
        return sum(media_chars(each) for each in value if type(each) not in _PLAIN)
    if not isinstance(value, BaseModel):
        return 0
    own: int = value.media_chars if _counts_media(type(value)) else 0  # type: ignore[attr-defined]
    inner = [each for each in vars(value).values() if type(each) not in _PLAIN]
    return own + media_chars(inner)


@cache
def _counts_media(kind: type[BaseModel]) -> bool:
    """Whether objects have the attribute; pydantic takes 2 us to say of one that it has not."""
    return "media_chars" in kind.model_fields or hasattr(kind, "media_chars")
