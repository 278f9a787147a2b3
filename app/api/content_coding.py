"""Content codings of request bodies: gzip and deflate, decoded while the body arrives.

Invariants   I1 no more than PIECE_BYTES are decoded at a time, whatever the compressed size.
             I2 a body that ends early, goes on after its end, or is not in its coding is refused.
Not here     the limit of a body (body_limit); answers are never compressed (a proxy may do it).
"""

import zlib
from collections.abc import Iterable, Iterator

from ..errors import ApiError, bad_request

#: windows of zlib's decoders: of gzip and zlib by their headers, and of data without a header
_ANY_HEADER, _NO_HEADER = 47, -15
#: bytes that are decoded at a time, in a millisecond or so
PIECE_BYTES = 256 << 10


class BodyDecoder:
    """Decodes one body. ``coding``: the Content-Encoding."""

    def __init__(self, coding: str) -> None:
        self._coding = coding.strip().lower()
        if self._coding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ApiError(
                415,
                f"Unsupported Content-Encoding: '{coding[:100]}'. Supported values are: 'gzip', "
                "'deflate' and 'identity'.",
                code="unsupported_content_encoding",
            )
        self._is_plain = self._coding in ("", "identity")
        self._decoder: zlib._Decompress | None = None

    def decoded(self, data: bytes) -> Iterable[bytes]:
        """Return the decoded bytes in pieces. Iterating raises ApiError 400."""
        return (data,) if self._is_plain else self._pieces(data)

    def _pieces(self, data: bytes) -> Iterator[bytes]:
        while data:
            piece, data = self._piece(data)
            yield piece

    def finish(self) -> None:
        """Raise ApiError 400 unless the body is complete."""
        if not self._is_plain and (self._decoder is None or not self._decoder.eof):
            raise self._broken("it ends early")

    def _piece(self, data: bytes) -> tuple[bytes, bytes]:
        """Return a piece, and the data that is left."""
        decoder = self._decoder
        try:
            if decoder is None:
                decoder = self._decoder = self._new(data)
            piece = decoder.decompress(data, PIECE_BYTES)
        except zlib.error as error:
            raise self._broken(str(error)) from None
        if decoder.unused_data:
            raise self._broken("data follows its end")
        return piece, decoder.unconsumed_tail

    def _new(self, data: bytes) -> "zlib._Decompress":
        """Return a decoder. Many clients send "deflate" without zlib's header, whose first byte has
        8 as its lower half; without one this half is 8 only in a stored block that is not padded
        with zeros.
        """
        is_raw = self._coding == "deflate" and data[0] & 15 != 8
        return zlib.decompressobj(_NO_HEADER if is_raw else _ANY_HEADER)

    def _broken(self, reason: str) -> ApiError:
        return bad_request(
            f"The request's body is not valid '{self._coding}': {reason}.", code="invalid_encoding"
        )
