"""Images for tests, made in code."""

import base64
import struct
import zlib


def png(side: int = 1, color: tuple[int, int, int] = (255, 0, 0)) -> bytes:
    """Return a square of one colour as a PNG file."""
    row = b"\0" + bytes(color) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(row * side)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + checksum


def base64_of(file: bytes) -> str:
    return base64.b64encode(file).decode()


def data_url(file: bytes, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{base64_of(file)}"
