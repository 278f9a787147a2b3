"""The HTTP client of remote workers: requests to one server whose answers stream.

Errors           every failure is a WorkerError whose reason says what kind it was.
Not here         connections (http_pool), requests (http_exchange), answers (http_connection);
                 redirects, cookies, proxies of the environment (HTTP_PROXY), compression and HEAD:
                 all unused; the paths and bodies of a server (sglang); deadlines of answers,
                 which also bound a server that does not read a request (the app's).
"""

import ssl
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from urllib.parse import quote, unquote, urlsplit

from .http_connection import Receiver
from .http_exchange import Exchange, WholeAnswer
from .http_pool import CONNECT_S, ConnectionPool

#: bytes of an answer that is not streamed, by default; /server_info of SGLang has about 20 KB
MAX_ANSWER_BYTES = 1 << 20
_BREAKS = frozenset("\r\n\0")
NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class HttpClient:
    """A client of one server, which keeps connections open between requests. Event loop only.

    Args:
        base_url: may contain a user and a password, and a path.
        headers: of every request.
        connect_seconds: for a new connection, with name resolution and TLS.
        tls: of https servers; None: the system's CAs and no certificate.

    Raises:
        ValueError: a header contains a line break.
    """

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        connect_seconds: float = CONNECT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(base_url)
        is_tls = parts.scheme == "https"
        host, port = parts.hostname or "", parts.port or (443 if is_tls else 80)
        self._pool = ConnectionPool(
            host,
            port,
            connect_seconds=connect_seconds,
            tls=(tls or _usual_tls()) if is_tls else None,
        )
        self._path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        fixed = {
            "Host": _host_header(host, parts.port),
            "User-Agent": "switchyard",
            "Accept": "*/*",
            "Accept-Encoding": "identity",  # compressed answers could be bombs
        }
        if parts.username is not None:
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            fixed["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
        self._fixed = _header_lines(fixed | dict(headers))

    def begin(
        self,
        method: str,
        path: str,
        receiver: Receiver,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] = NO_HEADERS,
        read_s: float | None = None,
    ) -> Exchange:
        """Return a request, which is sent by its ``wait``.

        ``content``: a JSON body. ``headers``: further ones. ``read_s``: seconds until the head of
        the answer, and without a byte of its body; None: no limit.

        Raises:
            ValueError: a header contains a line break.
        """
        head = f"{method} {self._path}{path} HTTP/1.1\r\n".encode() + self._fixed
        if content is not None:
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(content)
        if headers:
            head += _header_lines(headers)
        return Exchange(self._pool, head + b"\r\n", content or b"", receiver, read_s)

    async def fetch(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        read_s: float,
        most_bytes: int = MAX_ANSWER_BYTES,
    ) -> tuple[int, bytes]:
        """Return status and body of an answer of at most ``most_bytes``. Raises WorkerError."""
        whole = WholeAnswer(most_bytes)
        await self.begin(method, path, whole, content=content, read_s=read_s).wait()
        return whole.status, whole.body

    async def aclose(self) -> None:
        """Break all connections, those of running requests as well."""
        await self._pool.aclose()


@cache
def _usual_tls() -> ssl.SSLContext:
    """Return TLS with the system's CAs and no certificate. Loading the CAs takes 40 ms."""
    return ssl.create_default_context()


def _host_header(host: str, port: int | None) -> str:
    name = host if host.isascii() else host.encode("idna").decode()
    name = f"[{name}]" if ":" in name else name
    return name if port is None else f"{name}:{port}"


def _header_lines(headers: Mapping[str, str]) -> bytes:
    """Return the headers as lines.

    Raises:
        ValueError: one contains a line break or NUL, and so could add others.
    """
    for name, value in headers.items():
        if not _BREAKS.isdisjoint(name + value):
            raise ValueError(f"the header {name!r} contains a line break or NUL")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()).encode()
