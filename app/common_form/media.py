"""Media parts of chat completions and of the Responses API in the common form."""

from ..generation import Media
from ..protocol import MediaPart


def common_media(part: MediaPart, place: str, *, has_images: bool) -> Media:
    """Return a part of type MEDIA; without a URL where no model sees images."""
    url, detail = (part.url, part.detail) if has_images else (None, None)
    return Media(part.type, place, url, detail, part.file.get("filename"))
