"""One connection to a server: a request at a time, whose answer is passed on by plain calls.

llhttp (httptools) parses answers. All bytes of a body that one read brings are passed on together.
With aiohttp, whose answers are pulled, a worker's stream of 64 chunks cost 2.5 times as much CPU
(1.4 ms and 0.56 ms, with 16 streams and pauses between the chunks).

Invariants       I1 a connection is kept only if its request is sent, its answer ended where the
                    framing says, the server keeps it too, and no byte followed.
                 I2 after its end, an exchange is not called again.
                 I3 bytes that arrive before a fault are passed on before it is reported.
Bounds           a head, with the informational answers (1xx) before it, has at most HEAD_BYTES, and
                 so have lines between two pieces of a body (extensions and trailers of chunks).
Plain text       an answer's path of text gets a body before its receiver; llhttp reads all of it.
Refused          a second length, another transfer encoding than chunked, another version than 1.x,
                 101 (no request asks for another protocol).
Not here         new and kept connections (http_pool), second attempts, deadlines (http_exchange).
"""

import asyncio
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from .base import FailureReason, TextPath, WorkerError

#: bytes of an answer's head, and of all that comes before it
HEAD_BYTES = 65_536
#: bytes that are parsed at once until the head is complete
HEAD_PIECE = 4_096
#: bytes of a body that is sent at once; 40 MB at once held up the event loop for 0.3 s
LONG_BODY = 1 << 20
#: bytes of a longer one that are sent at a time
BODY_PIECE = 1 << 18
#: bytes and seconds that the unwanted rest of an answer may take
REST_BYTES, REST_S = 65_536, 1.0


class Receiver(Protocol):
    """Takes an answer by plain calls. An exception ends the answer."""

    def on_head(self, status: int) -> None:
        """Take the status. Called once, before any data."""

    def on_data(self, data: bytes) -> None:
        """Take the next bytes of the body."""


class Answered(Receiver, Protocol):
    """A request, as its connection sees it. ``text_path``: takes what it can from the body."""

    text_path: TextPath | None

    def on_end(self, error: BaseException | None) -> None:
        """Take the end of the answer. None: it is complete."""


class Owner(Protocol):
    """The pool of a connection."""

    def on_idle(self, connection: "Connection") -> None:
        """Take a connection that is ready for another request."""

    def on_lost(self, connection: "Connection") -> None:
        """Forget a connection that has ended."""


class Connection(asyncio.Protocol):
    """See the head of this file. ``is_reused``: an earlier request was answered on it."""

    def __init__(self, owner: Owner) -> None:
        self.is_reused = False
        self.idle_since = 0.0
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._asked: Answered | None = None
        self._path: TextPath | None = None
        self._head_left = HEAD_BYTES
        self._unsent: memoryview | None = None
        self._is_full = False
        #: None: no answer is due
        self._parser: HttpResponseParser | None = None
        self._pieces: list[bytes] = []
        #: called by the parser for each piece of a body
        self.on_body = self._pieces.append
        self._rest_timer: asyncio.TimerHandle | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_answered(self) -> bool:
        """Return whether a byte of the last answer arrived."""
        return self._head_left < HEAD_BYTES

    @property
    def _is_sent(self) -> bool:
        """Return whether the whole request has left this process."""
        transport = self._transport
        return self._unsent is None and not (transport and transport.get_write_buffer_size())

    # -- requests

    def ask(self, asked: Answered, head: bytes, content: bytes) -> None:
        """Send a request."""
        self._asked, self._path = asked, asked.text_path
        self._head_left = self._blank_left = HEAD_BYTES
        self._rest_left = REST_BYTES
        #: 0 until the head is complete
        self._status = 0
        self._is_head_new = self._is_framed = self._is_kept = self._is_whole = False
        self._parser = HttpResponseParser(self)
        if self._transport is None:
            self.fail("the server closed it")
        elif len(content) <= LONG_BODY:
            self._transport.write(head + content)
        else:
            self._transport.write(head)
            self._unsent = memoryview(content)
            self._send_more()

    def _send_more(self) -> None:
        if self._unsent is None or self._transport is None or self._is_full:
            return
        piece, self._unsent = self._unsent[:BODY_PIECE], self._unsent[BODY_PIECE:]
        if not len(self._unsent):
            self._unsent = None
        self._transport.write(piece)
        if self._unsent is not None and not self._is_full:
            # other connections get their share of the event loop
            asyncio.get_running_loop().call_soon(self._send_more)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._send_more()

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def stop(self, asked: Answered, *, is_ending: bool) -> None:
        """Pass nothing more on. ``is_ending``: the rest of the answer is short and comes soon, so
        that it is worth while to read it, and to keep the connection.
        """
        if self._asked is not asked:
            return
        if not (is_ending or self._is_whole):
            self.abort()
            return
        self._asked = self._path = None
        self.resume()
        if not self._is_whole:
            self._rest_timer = asyncio.get_running_loop().call_later(REST_S, self.abort)

    def leave(self, asked: Answered) -> None:
        """End the connection if it still belongs to this request."""
        if self._asked is asked:
            self.abort()

    def abort(self) -> None:
        self._release()
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """End a connection without a request; TLS says goodbye."""
        if self._transport is not None:
            self._transport.close()

    # -- events of the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        parser, fault = self._parser, ""
        if parser is None:
            self.abort()  # bytes without a request
            return
        try:
            if self._status:
                parser.feed_data(data)
            else:
                self._feed_head(parser, data)
        except (HttpParserError, HttpParserUpgrade) as error:
            fault = f"an invalid answer: {error.__context__ or error}"
        pieces, path = self._pieces, self._path
        if path is not None and len(pieces) == 1 and not (fault or self._is_whole):
            # the usual read of a stream: without the calls below, its event takes 1.5 us less
            asked, piece = self._asked, pieces.pop()
            try:
                used = path.push(piece)
            except BaseException as error:
                self._on_fault(asked, error)
                return
            if used == len(piece):
                self._blank_left = HEAD_BYTES
                return
            pieces.append(piece[used:])
        self._pass_on(len(data))
        if self._parser is None:
            return
        if self._is_whole:
            self._end(is_kept=self._is_kept and not fault)
        elif fault:
            self.fail(fault, is_broken=False)

    def _feed_head(self, parser: HttpResponseParser, data: bytes) -> None:
        """Parse in small pieces until the head is complete. Raises HttpParserError."""
        at = 0
        while not self._status and at < len(data):
            piece = data[at : at + min(HEAD_PIECE, self._head_left)]
            if not piece:
                raise HttpParserError(f"a head of more than {HEAD_BYTES:,} bytes")
            at += len(piece)
            self._head_left -= len(piece)
            parser.feed_data(piece)
        self._blank_left = HEAD_BYTES + at
        if at < len(data):
            parser.feed_data(data[at:])

    def _pass_on(self, size: int) -> None:
        """Pass on what was parsed, of ``size`` bytes."""
        pieces, asked, data = self._pieces, self._asked, b""
        if pieces:
            data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.clear()
            self._blank_left = HEAD_BYTES
        elif self._status:
            self._blank_left -= size
            if self._blank_left < 0:
                self.fail(f"more than {HEAD_BYTES:,} bytes between two of a body", is_broken=False)
                return
        if asked is None:
            self._rest_left -= size
            if self._rest_left < 0:
                self.abort()
            return
        try:
            if self._is_head_new:
                self._is_head_new = False
                asked.on_head(self._status)
            if data:
                asked.on_data(data)
        except BaseException as error:
            self._on_fault(asked, error)

    def _on_fault(self, asked: Answered | None, error: BaseException) -> None:
        """End an answer whose receiver has raised an error."""
        self.abort()
        if asked is not None:
            asked.on_end(error)
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error

    def eof_received(self) -> None:
        """Take the end of what the server sends; it may be that of a body without a length."""
        if self._parser is not None and self._status and not self._is_framed:
            self._end(is_kept=False)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._owner.on_lost(self)
        self.fail("the server closed it" if error is None else f"{type(error).__name__}: {error}")

    # -- events of the parser

    def on_message_begin(self) -> None:
        if self._is_whole:
            raise HttpParserError("bytes follow the answer")
        self._is_framed = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, or a trailer."""
        name = name.lower()
        if self._status or name not in (b"content-length", b"transfer-encoding"):
            return
        if self._is_framed:
            raise HttpParserError("a second length")
        if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
            raise HttpParserError("another transfer encoding than chunked")
        self._is_framed = True

    def on_headers_complete(self) -> None:
        parser = cast(HttpResponseParser, self._parser)
        status = parser.get_status_code()
        if 100 <= status < 200 and status != 101:
            return
        if status < 200 or parser.get_http_version() not in ("1.1", "1.0"):
            raise HttpParserError(f"status {status} of HTTP {parser.get_http_version()}")
        self._status = status
        self._is_head_new = True
        self._is_kept = parser.should_keep_alive()

    def on_message_complete(self) -> None:
        """Take the end of an answer, or of an informational one."""
        self._is_whole = self._status > 0

    # -- ends

    def _end(self, *, is_kept: bool) -> None:
        """End a complete answer."""
        is_sent = self._is_sent
        asked = self._release()
        if is_kept and is_sent and self.is_open:
            self.is_reused = True
            self.resume()
            self._owner.on_idle(self)
        elif is_sent:
            self.close()
        else:
            self.abort()  # ``close`` would wait for a server that may never read
        if asked is not None:
            asked.on_end(None)

    def fail(self, how: str, *, is_broken: bool = True) -> None:
        """End the connection, and an answer that is not complete."""
        asked = self._asked
        self.abort()
        if asked is not None:
            where = "in" if self.is_answered else "before"
            message = f"the connection broke {where} the answer: {how}" if is_broken else how
            reason: FailureReason = "connection" if is_broken else "protocol"
            asked.on_end(WorkerError(502, message, reason=reason))

    def _release(self) -> Answered | None:
        """Forget the request, and return it."""
        asked = self._asked
        self._asked = self._path = self._parser = self._unsent = None
        self._pieces.clear()
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None
        return asked
