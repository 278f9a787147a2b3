"""The address of a Redis and the login, parsed from a URL:

    redis://[[user]:password@]host[:6379][/db][?options]                 rediss:// with TLS
    unix:///path/of/the/socket[?db=0&username=...&password=...]
    redis+sentinel://[[user]:password@]host[:26379][,host...]/primary[/db][?options]
    redis+cluster://[[user]:password@]host[:6379][,host...][?options]
                                                      rediss+sentinel:// and rediss+cluster://, too

User and password are those of Redis. The login of Sentinels is in the options
``sentinel_username`` and ``sentinel_password``. The login and the options are percent-encoded, as
in any URL. An @ after the host is refused, because it indicates a password that is not encoded.
Options that would lift the limits of this package (timeouts, sizes, protocol) are refused.

Not here    connecting (clients), and all that needs redis-py: settings are checked even where it
            is not installed.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn
from urllib.parse import parse_qsl, unquote

Topology = Literal["single", "unix", "sentinel", "cluster"]

_SCHEMES: Final[Mapping[str, tuple[Topology, bool]]] = {
    "redis": ("single", False),
    "rediss": ("single", True),
    "unix": ("unix", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
#: options of all addresses, and of some kinds
_ALWAYS: Final = ("client_name",)
_UNIX: Final = ("db", "username", "password")
_SENTINEL: Final = ("sentinel_username", "sentinel_password")
_TLS: Final = (
    "ssl_ca_certs",
    "ssl_ca_path",
    "ssl_certfile",
    "ssl_keyfile",
    "ssl_password",
    "ssl_cert_reqs",
    "ssl_check_hostname",
)
#: a name or an address; other characters may belong to a password that is not encoded
_HOST: Final = re.compile(r"[\w.:%-]+")
_OPTION: Final = re.compile(r"[a-z_]+")
_WORDS: Final = {
    "ssl_cert_reqs": ("required", "optional", "none"),
    "ssl_check_hostname": ("true", "false"),
}


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A parsed URL.

    ``hosts`` are the server, its Sentinels, or some nodes of a cluster; a socket has a ``path``
    instead. ``primary`` is the name of the primary in the Sentinels' configuration.
    """

    kind: Topology
    tls: bool
    hosts: tuple[tuple[str, int], ...] = ()
    path: str = ""
    db: int = 0
    primary: str = ""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, url: str) -> "RedisAddress":
        """Parse a URL.

        Raises:
            ValueError: the URL is invalid. The message quotes neither user nor password.
        """
        kind, tls, rest = _scheme(url)
        if "@" in "".join(re.split("[/?#]", rest, maxsplit=1)[1:]):
            _refuse("there is an @ after the host: encode /, ? and # in user and password")
        rest, _, query = rest.partition("#")[0].partition("?")
        netloc, _, path = rest.partition("/")
        login, at, places = netloc.rpartition("@")
        options = _options(query, kind, tls)
        username, password = _login(login if at else None, options)
        if kind == "unix":
            db = _db(options.pop("db", "0"), kind)
            return cls(kind, tls, (), _path(places, path), db, "", username, password, options)
        hosts = _hosts(places, 26379 if kind == "sentinel" else 6379)
        primary, db = _names(path, kind)
        return cls(kind, tls, hosts, "", db, primary, username, password, options)

    def shown(self) -> str:
        """Return the URL for printing: without options, and with user and password masked."""
        scheme = next(name for name, held in _SCHEMES.items() if held == (self.kind, self.tls))
        login = "***@" if self.username or self.password else ""
        hosts = ",".join(_written(host, port) for host, port in self.hosts)
        parts = [self.path or f"{login}{hosts}", self.primary, str(self.db or "")]
        return f"{scheme}://{'/'.join(part for part in parts if part)}"


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _scheme(url: str) -> tuple[Topology, bool, str]:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() not in _SCHEMES:
        *most, last = (f"{known}://" for known in _SCHEMES)
        _refuse(f"a Redis URL begins with {', '.join(most)} or {last}")
    kind, tls = _SCHEMES[scheme.lower()]
    return kind, tls, rest


def _login(login: str | None, options: dict[str, str]) -> tuple[str | None, str | None]:
    """Return user and password from before the @, else from the options."""
    username, colon, password = (login or "").partition(":")
    if login is not None and not colon:
        _refuse("the part before the @ must be user:password or :password")
    return (
        unquote(username) or options.pop("username", None),
        unquote(password) or options.pop("password", None),
    )


def _path(places: str, path: str) -> str:
    if places or not path:
        _refuse("unix:// must be followed by the path of a socket: unix:///path")
    return f"/{unquote(path)}"


def _names(path: str, kind: Topology) -> tuple[str, int]:
    """Return the name of the primary, if any, and the database."""
    names = [unquote(part) for part in path.split("/") if part]
    if kind == "sentinel" and not names:
        _refuse("the name of the primary is missing: redis+sentinel://host:26379/name")
    primary = names.pop(0) if kind == "sentinel" else ""
    if len(names) > 1:
        _refuse(f"the path has {len(names)} parts, but only the database is allowed")
    return primary, _db(names[0] if names else "0", kind)


def _options(query: str, kind: Topology, tls: bool) -> dict[str, str]:
    known = list(_ALWAYS)
    known += _UNIX if kind == "unix" else ()
    known += _SENTINEL if kind == "sentinel" else ()
    known += _TLS if tls else ()
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known:
            shown = f"the option {name!r}" if _OPTION.fullmatch(name) else "an option"
            _refuse(f"{shown} is not one of {', '.join(known)}")
        if name in _WORDS and value.lower() not in _WORDS[name]:
            _refuse(f"the option {name!r} must be one of {', '.join(_WORDS[name])}")
        options[name] = value.lower() if name in _WORDS else value
    return options


def _hosts(places: str, usual_port: int) -> tuple[tuple[str, int], ...]:
    return tuple(_host(place, usual_port) for place in places.split(","))


def _host(place: str, usual_port: int) -> tuple[str, int]:
    """Parse ``host``, ``host:port``, ``[v6]`` or ``[v6]:port``."""
    bracket, closed, rest = place.partition("]")
    host = bracket[1:] if closed and place.startswith("[") else place.partition(":")[0]
    port = rest if closed else place.partition(":")[2]
    port, host = port.removeprefix(":"), unquote(host)
    if not host:
        _refuse("a host is missing")
    if not _HOST.fullmatch(host):
        _refuse("a host is neither a name nor an address: check its percent-encoding")
    if not port and place.endswith(":"):
        _refuse(f"a port is missing after {host}")
    number = int(port) if port.isascii() and port.isdigit() else 0
    if port and not 0 < number < 1 << 16:
        _refuse(f"the port of {host} must be a number from 1 to 65535")
    return host, number or usual_port


def _db(text: str, kind: Topology) -> int:
    if not (text.isascii() and text.isdigit()):
        _refuse("the database must be a number")
    if kind == "cluster" and int(text):
        _refuse(f"a cluster has database 0 only, not {int(text)}")
    return int(text)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
