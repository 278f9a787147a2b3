"""Why an image cannot be read."""

from dataclasses import dataclass
from typing import Literal

#: OpenAI's codes of the same meaning, and one of our own for hosts
ImageErrorCode = Literal[
    "invalid_image_url",
    "invalid_base64_image",
    "empty_image_file",
    "image_file_too_large",
    "image_too_large",
    "unsupported_image_media_type",
    "invalid_image_format",
    "image_parse_error",
    "failed_to_download_image",
    "image_host_not_allowed",
]


@dataclass(frozen=True, slots=True)
class UnreadableImage:
    """``reason`` completes "... cannot be read: {reason}"; it says what is allowed and what came.

    ``code``: for clients.
    """

    reason: str
    code: ImageErrorCode


class ImageError(Exception):
    """An image cannot be read; inside of this room only."""

    def __init__(self, code: ImageErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.unreadable = UnreadableImage(reason, code)


def shortened(text: str, most: int = 60) -> str:
    """Return a client's text in quotes, cut after ``most`` characters."""
    return repr(text if len(text) <= most else text[:most] + "...")
