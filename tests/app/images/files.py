"""Files of images, real and hostile, made here."""

import struct
import zlib
from base64 import b64encode
from io import BytesIO
from typing import Any

from PIL import Image

MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}


def picture(kind: str, width: int = 8, height: int = 6, mode: str = "RGB", **options: Any) -> bytes:
    """A still image with a few colours."""
    image = Image.linear_gradient("L").resize((width, height)).convert(mode)
    return saved(image, kind, **options)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def animated(kind: str) -> bytes:
    frames = [Image.new("RGB", (8, 6), colour) for colour in ("red", "blue")]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:])


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(*chunks: bytes, width: int = 8, height: int = 6, rows: bytes | None = None) -> bytes:
    """A grey PNG with further chunks before its pixels; ``rows``: compressed, default: black."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes((width + 1) * height)) if rows is None else rows
    parts = [chunk(b"IHDR", header), *chunks, chunk(b"IDAT", pixels), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def one_frame() -> list[bytes]:
    """The chunks of an animated PNG that has one frame."""
    frame = struct.pack(">5IHHBB", 0, 8, 6, 0, 0, 0, 0, 0, 0)
    return [chunk(b"acTL", struct.pack(">II", 1, 0)), chunk(b"fcTL", frame)]


def segment(marker: int, data: bytes) -> bytes:
    """A segment of a JPEG."""
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg_with(*segments: bytes, width: int = 8, height: int = 6) -> bytes:
    """A JPEG with further segments at its beginning."""
    file = picture("JPEG", width, height)
    return file[:2] + b"".join(segments) + file[2:]


def jpeg_of_size(width: int, height: int) -> bytes:
    """A small JPEG that claims a size."""
    file = bytearray(picture("JPEG"))
    at = file.index(b"\xff\xc0") + 5
    file[at : at + 4] = struct.pack(">HH", height, width)
    return bytes(file)


def gif_of_size(width: int, height: int, *, frame: tuple[int, int] = (8, 6)) -> bytes:
    """A small GIF whose screen, and whose first frame, claim a size."""
    file = bytearray(picture("GIF"))
    file[6:10] = struct.pack("<HH", width, height)
    at = file.index(b"\x2c\x00\x00\x00\x00") + 5
    file[at : at + 4] = struct.pack("<HH", *frame)
    return bytes(file)


def webp_of_size(width: int, height: int) -> bytes:
    """A small WebP whose extended header claims a size."""
    inner = picture("WEBP")[12:]
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    extended = b"VP8X" + struct.pack("<I", 10) + bytes(4) + size
    return b"RIFF" + struct.pack("<I", 4 + len(extended) + len(inner)) + b"WEBP" + extended + inner


def exif_bomb() -> bytes:
    """EXIF data whose thousands of entries all hold the same 60 KB."""
    entries = [struct.pack(">HHII", tag, 7, 60_000, 0) for tag in range(0x8000, 0x8000 + 5_000)]
    ifd = b"MM\0*\0\0\0\x08" + struct.pack(">H", len(entries)) + b"".join(entries)
    return segment(0xE1, b"Exif\0\0" + ifd[:65_000])


def data_url(data: bytes, declared: str = "image/png") -> str:
    return f"data:{declared};base64,{b64encode(data).decode()}"
