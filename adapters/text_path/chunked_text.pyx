"""Events of texts, and the bodies in chunks of HTTP/1.1 that take them."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t
from libc.string cimport memcpy


cdef bint is_plain(const char* text, Py_ssize_t size) noexcept nogil:
    """Return whether JSON has these bytes as they are, and they hold no line end of Unicode: U+0085, U+2028, U+2029."""
    cdef Py_ssize_t k
    cdef uint8_t byte
    for k in range(size):
        byte = text[k]
        if byte < 0x20 or byte == c'"' or byte == c'\\' or byte == 0xC2 or byte == 0xE2:
            return False
    return True


cdef int put_size(char* at, size_t size) noexcept nogil:
    """Write the line before a chunk, and return its length."""
    cdef int digits = 1, k
    while size >> 4 * digits:
        digits += 1
    for k in range(digits):
        at[k] = (<const char*>"0123456789abcdef")[size >> 4 * (digits - 1 - k) & 15]
    at[digits], at[digits + 1] = c'\r', c'\n'
    return digits + 2


cdef class TextEvent:
    """Events that differ in one text only; the rest is encoded once.

    Args:
        parts: the bytes around the text, which may occur more often than once. Its quotation marks belong to them.
        quote: makes the JSON string of a text.
    """

    def __init__(self, tuple parts not None, quote):
        self.parts, self.quote = parts, quote
        for part in parts:
            self.size += len(<bytes?>part)

    def __call__(self, str text not None):
        """Encode the event of a text."""
        return self.of(text, False)

    cdef bytes of(self, str text, bint is_chunk):
        """Encode the event of a text; ``is_chunk``: as a chunk of HTTP/1.1."""
        cdef Py_ssize_t n, size
        cdef const char* start = PyUnicode_AsUTF8AndSize(text, &n)
        cdef char* at
        # of a chunk: 16 digits and a line end
        cdef char frame[18]
        cdef int framed = 0
        cdef bytes quoted, made
        cdef bint is_first = True
        if not is_plain(start, n):
            quoted = self.quote(text)
            start, n = PyBytes_AS_STRING(quoted) + 1, len(quoted) - 2
        size = self.size + n * (len(self.parts) - 1)
        if is_chunk:
            framed = put_size(frame, size)
            size += framed + 2
        made = PyBytes_FromStringAndSize(NULL, size)
        at = PyBytes_AS_STRING(made)
        memcpy(at, frame, framed)
        at += framed
        for part in self.parts:
            if not is_first:
                memcpy(at, start, n)
                at += n
            is_first = False
            memcpy(at, PyBytes_AS_STRING(part), len(<bytes>part))
            at += len(<bytes>part)
        if is_chunk:
            memcpy(at, <const char*>"\r\n", 2)
        return made


cdef class ChunkedBody:
    """A body in chunks, written to a transport.

    ``source``: of its data; None: nothing may be written. ``put`` takes chunks: at first the write of the transport.
    ``has_written``: set by every write, for an observer to clear. A body is also the callable that writes.
    """

    def __init__(self, transport):
        self.transport, self.put = transport, transport.write

    def __call__(self, bytes data not None):
        self.write(data)

    def write(self, bytes data not None):
        """Write data as a chunk."""
        # a chunk of no bytes would end the body
        if data:
            self.write_chunk(b"%x\r\n%b\r\n" % (len(data), data))

    cdef int write_chunk(self, bytes chunk) except -1:
        if self.source is not None and not self.transport.is_closing():
            self.has_written = True
            self.put(chunk)
        return 0
