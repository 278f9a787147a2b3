"""A guard against web pages of other sites, which act through a reader's browser.

A browser sends requests of any page to loopback addresses and to private networks. A gateway that
asks for no key would answer them, and a page whose own name resolves to such an address (DNS
rebinding) could read the answers.

Origin    only the gateway's own, or one of CORS_ORIGINS; programs other than browsers send none.
Host      on a loopback address: a loopback name, HOST, or one of ALLOWED_HOSTS. Names without a
          dot pass: no page of the internet has one. On other addresses only ALLOWED_HOSTS counts.
Not here  the type of bodies (body), which holds with keys, too; CORS answers (Starlette's).
"""

import re
from collections.abc import Awaitable, Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from ..errors import ApiError
from ..settings import GatewaySettings, is_loopback

#: monitors and load balancers ask for these by any name; they tell nothing about clients
_OPEN_PATHS = ("/health", "/health/live", "/health/ready", "/metrics")
_PORT = re.compile(r":\d*\Z")
_USUAL_PORTS = {"http": ":80", "https": ":443"}


class BrowserGuard:
    """An ASGI middleware for a gateway without keys; see the file's header."""

    def __init__(self, app: ASGIApp, *, settings: GatewaySettings) -> None:
        self._app = app
        self._origins = frozenset(settings.cors_origins)
        self._hosts = frozenset(settings.allowed_hosts)
        self._own = settings.host.strip("[]").lower()
        self._is_loopback = is_loopback(settings.host)
        #: the last host that has passed
        self._passed: str | None = None

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Raise ApiError 403 for a foreign Host or Origin."""
        if scope["type"] in ("http", "websocket") and scope["path"] not in _OPEN_PATHS:
            # the first of several counts
            headers = dict(reversed(scope["headers"]))
            host = headers.get(b"host", b"").decode("latin-1")
            # clients repeat the name
            if host != self._passed and b"host" in headers:
                self._check_host(host)
                self._passed = host
            if b"origin" in headers:
                self._check_origin(headers[b"origin"].decode("latin-1"), host)
        return self._app(scope, receive, send)

    def _check_host(self, host: str) -> None:
        if not (self._is_loopback or self._hosts) or "*" in self._hosts:
            return
        name = _PORT.sub("", host.strip().lower()).strip("[]").rstrip(".")
        known: Collection[str] = (self._own, *self._hosts)
        is_dotless = name.isascii() and not set(name) & set(".:")
        if name in known or is_dotless or is_loopback(name) or name.endswith(".localhost"):
            return
        raise ApiError(
            403,
            f"This gateway asks for no key and does not answer to the host name {name[:200]!r}. "
            "Name it in SWITCHYARD_ALLOWED_HOSTS, or set SWITCHYARD_API_KEYS.",
            code="host_not_allowed",
        )

    def _check_origin(self, origin: str, host: str) -> None:
        if "*" in self._origins or origin in self._origins:
            return
        scheme, _, place = origin.lower().partition("://")
        port = _USUAL_PORTS.get(scheme)
        own = host.strip().lower()
        if port and _with_port(place, port) == _with_port(own, port):
            return
        raise ApiError(
            403,
            "This gateway asks for no key and answers no web pages of other origins, such as "
            f"{origin[:200]!r}. Name the origin in SWITCHYARD_CORS_ORIGINS.",
            code="origin_not_allowed",
        )


def _with_port(place: str, port: str) -> str:
    return place if _PORT.search(place) else place + port
