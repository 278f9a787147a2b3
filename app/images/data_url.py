"""Data URLs of images: `data:image/png;base64,...` to bytes.

Read as browsers and lenient servers do: the scheme, the type and `base64` in any case, further
parameters, white space anywhere in the data, the URL-safe alphabet, missing padding. The declared
type only has to be one of images, or no type at all: the bytes tell which it is (image_file).

Cost      decoding is one call of C for each PIECE characters, about 1 ms, after which the event
          loop may have the GIL: 20 MB in one call would hold it for 60 ms.
Threads   any.
"""

import re
from base64 import b64encode
from binascii import Error, a2b_base64

from .unreadable import ImageError, shortened

#: characters decoded by one call; a multiple of 4
PIECE = 256 << 10
#: characters before the comma: the longest one of real clients has about 40
MAX_HEAD = 1_024
#: white space and padding at the end of the data, in characters
MAX_TAIL = 1_024
SPACE = " \t\r\n\f"
#: declared by clients that do not know the type
UNTYPED = ("", "application/octet-stream")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_FOREIGN = re.compile(r"[^A-Za-z0-9+/_\- \t\r\n\f]")
ALLOWED_TYPES = "image/png, image/jpeg, image/webp and image/gif"


def is_data_url(url: str) -> bool:
    """Return whether the scheme is `data`."""
    return url[:5].lower() == "data:"


def decode_data_url(url: str, max_bytes: int) -> tuple[bytes, str]:
    """Return the bytes of a data URL, at most ``max_bytes``, and their Base64 in standard form.

    Raises:
        ImageError: the URL has another form, or too many bytes.
    """
    start = _data_start(url)
    end = _data_end(url, start)
    size = (end - start) * 3 // 4
    if size > max_bytes:
        spaces = sum(url.count(each, start, end) for each in SPACE)
        size = (end - start - spaces) * 3 // 4
    check_size(size, max_bytes)
    data = b"".join(_pieces(url, start, end))
    check_size(len(data), max_bytes)
    text = url[start:]
    return data, text if _is_standard(text, data) else encode(data)


def _is_standard(text: str, data: bytes) -> bool:
    """Return whether Base64 of these bytes is what ``encode`` would write."""
    end = b64encode(data[-(len(data) % 3 or 3) :]).decode()
    is_whole = len(text) == (len(data) + 2) // 3 * 4 and text.endswith(end)
    return is_whole and "-" not in text and "_" not in text


def encode(data: bytes) -> str:
    """Return bytes in Base64, encoded in pieces."""
    step = PIECE // 4 * 3
    return b"".join(b64encode(data[at : at + step]) for at in range(0, len(data), step)).decode()


def check_size(size: int, max_bytes: int) -> None:
    """Raise ImageError if a file of ``size`` bytes is empty or too large."""
    if size == 0:
        raise ImageError("empty_image_file", "its file is empty")
    if size > max_bytes:
        raise ImageError(
            "image_file_too_large", f"its file may have at most {max_bytes:,} bytes, got {size:,}"
        )


def _data_start(url: str) -> int:
    """Return the index after the comma. Raises ImageError unless the head declares Base64."""
    comma = url.find(",", 0, MAX_HEAD)
    if comma < 0:
        raise ImageError(
            "invalid_image_url",
            "its data URL must be data:image/png;base64, with the data behind the comma; "
            f"no comma in {shortened(url)}",
        )
    declared, *parameters = (part.strip().lower() for part in url[5:comma].split(";"))
    if not declared.startswith("image/") and declared not in UNTYPED:
        raise ImageError(
            "unsupported_image_media_type",
            f"the type of its data URL must be one of {ALLOWED_TYPES}, got {shortened(declared)}",
        )
    if "base64" not in parameters:
        raise ImageError(
            "invalid_image_url",
            "its data URL must have ;base64 before the comma, got " + shortened(url[: comma + 1]),
        )
    return comma + 1


def _data_end(url: str, start: int) -> int:
    """Return the index where padding and white space begin."""
    tail = url[max(start, len(url) - MAX_TAIL) :]
    return len(url) - len(tail) + len(tail.rstrip(SPACE + "="))


def _pieces(url: str, start: int, end: int) -> list[bytes]:
    """Return the decoded pieces of the data from ``start`` to ``end``."""
    pieces, left = [], b""
    for at in range(start, end, PIECE):
        part = url[at : min(at + PIECE, end)]
        try:
            piece = left + part.encode("ascii").translate(_STANDARD, SPACE.encode())
            whole = len(piece) - len(piece) % 4
            pieces.append(a2b_base64(piece[:whole], strict_mode=True) if whole else b"")
        except (UnicodeEncodeError, Error):
            raise _foreign_character(url, start, at) from None
        left = piece[whole:]
    if len(left) == 1:
        raise ImageError(
            "invalid_base64_image",
            "the Base64 of its data URL is cut: its length must not be 1 more than a multiple of 4",
        )
    try:
        pieces.append(a2b_base64(left + b"=" * (-len(left) % 4), strict_mode=bool(left)))
    except Error:
        raise _foreign_character(url, start, end) from None
    return pieces


def _foreign_character(url: str, start: int, at: int) -> ImageError:
    """Return the error of a character near ``at`` that is not Base64. Data begin at ``start``."""
    reason = "its data URL must have Base64 behind the comma"
    if foreign := _FOREIGN.search(url, max(start, at - PIECE), at + PIECE):
        reason += f", got {foreign[0]!r} at {foreign.start() - start:,} of the data"
    return ImageError("invalid_base64_image", reason)
