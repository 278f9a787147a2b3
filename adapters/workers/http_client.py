"""The HTTP client of remote workers: requests to one server whose answers stream.

aiohttp parses answers in C, and hands out all bytes that have arrived as one piece. With httpx,
which does neither, a gateway served a quarter of the streams.

Bounds           a head, with the informational answers (1xx) before it, has at most HEAD_BYTES.
                 aiohttp bounds each head alone, and skips 1xx without an end or a pause.
Errors           every failure is a WorkerError whose reason says what kind it was.
Proxies          those in the environment (HTTP_PROXY) are not used.
Not here         the paths and bodies of a server (sglang); deadlines of answers, which also bound a
                 server that does not read a request (the app's).
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from types import MappingProxyType, SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

from .base import FailureReason, WorkerError

#: seconds for a connection by default; a lost SYN is sent again after one second
CONNECT_S = 2.0
#: seconds that an idle connection is kept; servers close theirs after 5
KEEPALIVE_S = 2.0
#: bytes of an answer's head, and of all that comes before it
HEAD_BYTES = 65_536
#: bytes that aiohttp parses at once until the head is complete
HEAD_PIECE = 4_096
#: bytes of a body that is sent at once; 40 MB at once held up the event loop for 0.3 s
LONG_BODY = 1 << 20
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class Response:
    """An answer whose head has arrived."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.status = answer.status
        self._answer = answer

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives. Raises WorkerError."""
        try:
            async for piece in self._answer.content.iter_any():
                yield piece
        except (aiohttp.ClientError, TimeoutError) as error:
            raise broken(error) from error


class AiohttpClient:
    """A client of one server, which keeps connections open between requests.

    Even a healthy server may close a kept connection at the moment when a request is sent on it.
    Then the request is sent once more.

    Args:
        headers: of every request.
        connect_seconds: for a new connection, with name resolution and TLS.
        tls: of https servers; None: the system's CAs and no certificate.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        connect_seconds: float = CONNECT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._tls = tls
        self._base = base_url
        self._connect_seconds = connect_seconds
        # compressed answers could be bombs
        self._headers = {"Accept-Encoding": "identity", **headers}
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        read_s: float | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> AsyncGenerator[Response, None]:
        """Send a request; leaving the context early closes its connection.

        ``content``: a JSON body. ``read_s``: seconds without a byte of the answer; None: no limit.
        ``headers``: further ones.

        Raises:
            WorkerError: no connection, no answer, or no HTTP.
        """
        own = {} if content is None else {"Content-Type": "application/json"}
        timeout = aiohttp.ClientTimeout(total=None, connect=self._connect_seconds, sock_read=read_s)
        connection = SimpleNamespace(is_reused=False)
        send = partial(
            self._open().request,
            method,
            self._base + path,
            headers={**own, **headers},
            timeout=timeout,
            allow_redirects=False,
            trace_request_ctx=connection,
        )
        try:
            try:
                answer = await send(data=_payload(content))
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
                if not connection.is_reused:
                    raise
                answer = await send(data=_payload(content))
            content = None  # a long body is not kept while the answer streams
            async with answer:
                yield Response(answer)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise broken(error) from error

    def _open(self) -> aiohttp.ClientSession:
        """Return the session, made on first use: it belongs to the running loop."""
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0, keepalive_timeout=KEEPALIVE_S, ssl=self._tls or True
            )
            # private: aiohttp's public bounds (max_line_size, max_field_size, max_headers) are
            # those of one head, and nothing bounds the number of 1xx before an answer
            connector._factory = partial(_BoundedHead, loop=connector._loop)  # type: ignore[assignment]
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trace_configs=[_watching_reuse()],
            )
        return self._session

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def _payload(content: bytes | None) -> bytes | BytesIO | None:
    """Return a long body as a file, which aiohttp sends in pieces."""
    return content if content is None or len(content) <= LONG_BODY else BytesIO(content)


class _BoundedHead(ResponseHandler):
    """A connection that breaks when the head of an answer exceeds HEAD_BYTES."""

    def set_response_params(self, **options: Any) -> None:
        """Begin an answer. Called by aiohttp for each request."""
        self._head_left = HEAD_BYTES
        super().set_response_params(**options)

    def feed_data(self, data: Any, size: int = 0) -> None:
        """Take the head of an answer. Called by aiohttp."""
        if data[0].code >= 200:
            self._head_left = -1
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        """Take bytes, in small pieces until the head is complete."""
        at = 0
        while getattr(self, "_head_left", -1) >= 0 and at < len(data):
            piece = data[at : at + HEAD_PIECE]
            at += len(piece)
            self._head_left -= len(piece)
            if self._head_left < 0:
                error = HttpProcessingError(message=f"a head of more than {HEAD_BYTES:,} bytes")
                if self.transport is not None:
                    self.transport.close()
                self.set_exception(error)
                return
            super().data_received(piece)
        if at < len(data) or not data:
            super().data_received(data[at:])


def _watching_reuse() -> aiohttp.TraceConfig:
    """Return hooks that note in a request's ``is_reused`` that an earlier one used its connection.

    Hooks of aiohttp cost 0.02 ms a request.
    """

    async def note(_: aiohttp.ClientSession, context: SimpleNamespace, __: object) -> None:
        context.trace_request_ctx.is_reused = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(note)
    return config


def broken(error: Exception) -> WorkerError:
    """Return the error of a connection that failed, broke, or carried something else."""
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return WorkerError(502, message, reason="connection")
    if isinstance(error, TimeoutError):
        return WorkerError(504, message, reason="timeout")
    # a body that breaks off, or whose framing is broken, is the end of its connection
    is_broken = isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError)
    reason: FailureReason = "connection" if is_broken else "protocol"
    return WorkerError(502, message, reason=reason)
