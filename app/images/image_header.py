"""The structure of an image file: format, size and whether it is animated, without decoding.

Each reader walks the chunks, segments or blocks of its format up to the end of the file, so that a
cut file is known, and the number of steps is bounded.

Bounds    blocks of a file: BLOCKS, and one more for each BYTES_A_BLOCK; scans of a JPEG: MAX_SCANS,
          each of which goes through all pixels again.
Metadata  of a JPEG is left out of ``Header.data``: EXIF made versions of Pillow hold the file
          thousands of times.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .unreadable import ImageError

ImageFormat = Literal["PNG", "JPEG", "WEBP", "GIF"]

#: blocks of any file, 100 times as many as real ones have; large files have large blocks
BLOCKS = 10_000
BYTES_A_BLOCK = 128
#: scans of a JPEG, thumbnails included; progressive ones have about 10, and each scan of 50 million
#: pixels takes 50 ms
MAX_SCANS = 64
#: first bytes of other files, to refuse these by name
_OTHERS = (
    (re.compile(rb"%PDF-"), "a PDF"),
    (re.compile(rb"II\*\x00|MM\x00\*"), "a TIFF"),
    (re.compile(rb"BM"), "a BMP"),
    (re.compile(rb".{4}ftyp(avif|avis)", re.DOTALL), "an AVIF"),
    (re.compile(rb".{4}ftyp(hei[cfmsx]|hev[cmsx]|mif1|msf1)", re.DOTALL), "a HEIC"),
    (re.compile(rb"\x00\x00\x01\x00"), "an ICO"),
    (re.compile(rb"8BPS"), "a Photoshop file"),
    (
        re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml.*?|<!--.*?)?<(!doctype\s+)?svg", re.S | re.I),
        "an SVG",
    ),
    (re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype\s+)?html", re.IGNORECASE), "an HTML page"),
)


@dataclass(frozen=True, slots=True)
class Header:
    """Facts of a file's structure. ``data``: the file without metadata, for a decoder."""

    format: ImageFormat
    width: int
    height: int
    is_animated: bool
    data: bytes


def read_header(data: bytes) -> Header:
    """Return the header of a PNG, JPEG, WebP or GIF file. Raises ImageError."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _png(data)
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _gif(data)
    start = data[:1024]
    kind = next((name for pattern, name in _OTHERS if pattern.match(start)), None)
    got = f"it is {kind}" if kind else f"it begins with the bytes {data[:8].hex(' ')}"
    raise ImageError("unsupported_image_media_type", f"it must be PNG, JPEG, WebP or GIF; {got}")


def _cut(kind: ImageFormat, size: int) -> ImageError:
    return ImageError(
        "image_parse_error",
        f"its {kind} file is cut or corrupt: it ends too early, at byte {size:,}",
    )


class _Count:
    """Counts the blocks of a file. Raises ImageError beyond the bound."""

    def __init__(self, kind: ImageFormat, size: int) -> None:
        self._kind, self._most = kind, BLOCKS + size // BYTES_A_BLOCK
        self._left = self._most

    def one(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ImageError(
                "image_parse_error", f"its {self._kind} file has more than {self._most:,} blocks"
            )


# -- PNG -------------------------------------------------------------------------------------------
def _png(data: bytes) -> Header:
    """Read chunks: a length, a type, the data and a checksum."""
    size = len(data)
    if size < 33 or data[12:16] != b"IHDR":
        raise _cut("PNG", size)
    frames, at, count, has_pixels = 1, 8, _Count("PNG", size), False
    while at < size:
        count.one()
        kind, end = data[at + 4 : at + 8], at + 12 + int.from_bytes(data[at : at + 4])
        if end > size:
            raise _cut("PNG", size)
        has_pixels |= kind == b"IDAT"
        if kind == b"acTL" and not has_pixels:
            frames = int.from_bytes(data[at + 8 : at + 12])
        at = size if kind == b"IEND" else end
    if not has_pixels:
        raise _cut("PNG", size)
    width, height = int.from_bytes(data[16:20]), int.from_bytes(data[20:24])
    return Header("PNG", width, height, frames > 1, data)


# -- JPEG ------------------------------------------------------------------------------------------
#: markers of frames, without DHT, JPG and DAC
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
#: application data and comments, except JFIF and Adobe's colours, which decoders need
_METADATA = frozenset({*range(0xE1, 0xF0), 0xFE}) - {0xEE}


def _jpeg(data: bytes) -> Header:
    """Read segments up to the first scan; count the scans."""
    size, kept, pixels = len(data), [data[:2]], None
    for marker, start, end in _segments(data):
        if marker == 0xDA:
            kept.append(data[start:])
            _check_scans(data, start)
            break
        if marker in _FRAMES and pixels is None:
            height, width = data[start + 5 : start + 7], data[start + 7 : start + 9]
            pixels = int.from_bytes(width), int.from_bytes(height)
        if marker not in _METADATA:
            kept.append(data[start:end])
    else:
        raise _cut("JPEG", size)
    if pixels is None:
        raise ImageError("image_parse_error", "its JPEG file is corrupt: a scan without a frame")
    return Header("JPEG", *pixels, is_animated=False, data=b"".join(kept))


def _segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield marker, start and end of each segment; a scan ends with its header."""
    at, size, count = 2, len(data), _Count("JPEG", len(data))
    while at + 4 <= size:
        count.one()
        marker = data[at + 1]
        if data[at] != 0xFF or marker in (0x00, 0xFF):
            # decoders skip what is no marker
            at += 1
            continue
        # TEM and RST0 to RST7 have no length
        has_length = marker != 0x01 and not 0xD0 <= marker <= 0xD7
        end = at + 2 + has_length * int.from_bytes(data[at + 2 : at + 4])
        if marker == 0xD9 or end > size:
            raise _cut("JPEG", size)
        yield marker, at, end
        at = end


def _check_scans(data: bytes, start: int) -> None:
    """Raise ImageError for more than MAX_SCANS scans. Within a scan, FF is followed by 00."""
    scans, at = 0, start
    while (at := data.find(b"\xff\xda", at)) >= 0:
        scans, at = scans + 1, at + 2
        if scans > MAX_SCANS:
            raise ImageError("image_parse_error", f"its JPEG file has more than {MAX_SCANS} scans")


# -- WebP ------------------------------------------------------------------------------------------
def _webp(data: bytes) -> Header:
    """Read RIFF chunks: a type, a length, data of an even number of bytes."""
    size = len(data)
    end = 8 + int.from_bytes(data[4:8], "little")
    if size < 30 or end > size:
        raise _cut("WEBP", size)
    at, frames, count = 12, 0, _Count("WEBP", size)
    while at + 8 <= end:
        count.one()
        frames += data[at : at + 4] == b"ANMF"
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8 + length + length % 2
    if at > end + 1:
        raise _cut("WEBP", size)
    width, height = _webp_size(data)
    return Header("WEBP", width, height, frames > 1, data)


def _webp_size(data: bytes) -> tuple[int, int]:
    """Return the size of the canvas, from the first chunk."""
    kind = data[12:16]
    if kind == b"VP8X":
        return (
            int.from_bytes(data[24:27], "little") + 1,
            int.from_bytes(data[27:30], "little") + 1,
        )
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = data[26:28], data[28:30]
        return int.from_bytes(width, "little") & 0x3FFF, int.from_bytes(height, "little") & 0x3FFF
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    raise ImageError("image_parse_error", "its WEBP file is corrupt: no size in its first chunk")


# -- GIF -------------------------------------------------------------------------------------------
def _gif(data: bytes) -> Header:
    """Read blocks: extensions and images."""
    size = len(data)
    if size < 14:
        raise _cut("GIF", size)
    width, height = int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    at, images = 13 + _colours(data[10]), list[tuple[int, int]]()
    # versions of Pillow copy a comment with each of its blocks
    count, extensions = _Count("GIF", size), _Count("GIF", 0)
    # the trailer is often left out
    while at < size and data[at] != 0x3B and len(images) < 2:
        if data[at] == 0x21:
            at = _after_blocks(data, at + 2, extensions)
        elif data[at] == 0x2C and at + 10 <= size:
            end = _after_blocks(data, at + 11 + _colours(data[at + 9]), count)
            images.append((at, end))
            at = end
        else:
            # decoders skip it
            count.one()
            at += 1
    if not images:
        raise _cut("GIF", size)
    at, end = images[0]
    x, y, w, h = (
        int.from_bytes(data[at + each : at + each + 2], "little") for each in (1, 3, 5, 7)
    )
    # decoders enlarge the screen for its first image
    width, height = max(width, x + w), max(height, y + h)
    return Header("GIF", width, height, len(images) > 1, data[:end])


def _colours(flags: int) -> int:
    """Return the bytes of a table of colours."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int, count: _Count) -> int:
    """Return the index after the data blocks that begin at ``at``: a length and as many bytes."""
    size = len(data)
    while at < size and data[at]:
        count.one()
        at += 1 + data[at]
    return at + 1
