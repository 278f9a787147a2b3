"""The base64 of images in the text of a body, which has a limit of its own.

    "url": "data:image/png;base64,iVBORw0..."    the data of a URL
    "data": "iVBORw0..."                         as Anthropic's API and sounds have it

Representation   spans of the body of MIN_BYTES or more. Each has characters of base64 and escaped
                 slashes only, and is inside of one string: without it, the body has the same
                 values, and the same errors.
Cost             one pass, two for a body that is not JSON; at most one span per MIN_BYTES.
Not here         whether a span is an image in the end, and not a text (protocol.media_chars).
"""

import re
from collections.abc import Iterator

#: bytes of a span: a body has few of them, so that finding them is a matter of C code
MIN_BYTES = 1024
#: what begins a span, followed by enough of what may be base64
_BEGIN = re.compile(
    rb'(?:;base64,|"data"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}")(?=[A-Za-z0-9+/=_\\-]{%d})' % MIN_BYTES
)
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/=_-]++|\\/)*+")
_BACKSLASH = ord("\\")
#: bytes from the beginning of a span that are needed to find it
_HEAD_BYTES = MIN_BYTES + 32
#: bytes that are read at a time, in two milliseconds at most
STEP_BYTES = 64 << 10


class ImageData:
    """The spans of one body, found while it arrives. ``size``: their bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._spans: list[tuple[int, int]] = []
        self._read = 0
        self._is_inside = False

    @property
    def outside(self) -> int:
        """Bytes that are in no span, as far as the body has been read."""
        return self._read - self.size

    def read(self, body: bytes | bytearray) -> bool:
        """Find the spans in the next STEP_BYTES of a body; return whether more is left."""
        stop = min(len(body), self._read + STEP_BYTES)
        while True:
            if self._is_inside:
                self._go_on(body, stop)
            if self._is_inside or (begin := _BEGIN.search(body, self._read, stop)) is None:
                break
            self._read, self._is_inside = begin.end(), True
            self._spans.append((self._read, self._read))
        if not self._is_inside:
            self._read = max(self._read, stop - _HEAD_BYTES)
        return stop < len(body)

    def _go_on(self, body: bytes | bytearray, stop: int) -> None:
        """Extend the last span."""
        match = _BASE64.match(body, self._read, stop)
        assert match is not None, "a span may be empty"
        end = match.end()
        self.size += end - self._read
        self._spans[-1], self._read = (self._spans[-1][0], end), end
        # half of an escaped slash may be the last byte
        self._is_inside = end == stop or (end == stop - 1 and body[end] == _BACKSLASH)

    def outline(self, body: bytes | bytearray) -> bytes | bytearray:
        """Return a body without its spans."""
        if not self._spans:
            return body
        return b"".join(body[start:end] for start, end in self._between(len(body)))

    def unescaped(self, body: bytes | bytearray) -> bytes | bytearray:
        """Return a body whose spans have no escaped slashes, or few: the parser takes 40 ms for
        30 MB with those of PHP, and 14 ms without, in which no other thread runs.
        """
        if not any(body.find(b"\\", *span) >= 0 for span in self._spans):
            return body
        pieces: list[bytes | bytearray] = []
        for (start, end), (begin, stop) in zip(
            self._between(len(body)), [*self._spans, (0, 0)], strict=True
        ):
            pieces.append(body[start:end])
            for at in range(begin, stop, STEP_BYTES):
                pieces.append(body[at : min(at + STEP_BYTES, stop)].replace(b"\\/", b"/"))
        return b"".join(pieces)

    def _between(self, size: int) -> Iterator[tuple[int, int]]:
        """Yield the places before, between and behind the spans."""
        start = 0
        for begin, end in self._spans:
            yield start, begin
            start = end
        yield start, size
