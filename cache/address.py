"""Where a Redis is and who asks it, as a URL says it:

    redis://[[user]:password@]host[:6379][/db][?options]                 rediss:// with TLS
    unix:///path/of/the/socket[?db=0&username=...&password=...]
    redis+sentinel://[[user]:password@]host[:26379][,host...]/primary[/db][?options]
    redis+cluster://[[user]:password@]host[:6379][,host...][?options]
                                                      rediss+sentinel:// and rediss+cluster://, too

User and password are Redis' own; a Sentinel has others, in the options ``sentinel_username`` and
``sentinel_password``. What stands before the @ and in options is percent-encoded as in any URL.
Options that would take our bounds away (time-outs, sizes, protocol) are not among those taken.

Not here    connecting (connecting), and anything that redis-py would have to be there for: a
            setting is checked before it is known whether there is one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NoReturn
from urllib.parse import parse_qsl, unquote

Kind = Literal["single", "unix", "sentinel", "cluster"]

_SCHEMES: Final[Mapping[str, tuple[Kind, bool]]] = {
    "redis": ("single", False),
    "rediss": ("single", True),
    "unix": ("unix", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
#: options by what they need
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
_WORDS: Final = {
    "ssl_cert_reqs": ("required", "optional", "none"),
    "ssl_check_hostname": ("true", "false"),
}


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """``hosts`` are the server, its Sentinels, or some nodes of a cluster; a socket has a ``path``
    instead. ``primary`` is the name that Sentinels know it by.
    """

    kind: Kind
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
        """
        Raises:
            ValueError: the URL means nothing. The message quotes neither user nor password.
        """
        scheme, found, rest = url.partition("://")
        if not found or scheme.lower() not in _SCHEMES:
            *most, last = (f"{known}://" for known in _SCHEMES)
            raise ValueError(f"a Redis URL begins with {', '.join(most)} or {last}")
        kind, tls = _SCHEMES[scheme.lower()]
        rest, _, query = rest.partition("#")[0].partition("?")
        netloc, _, path = rest.partition("/")
        login, at, places = netloc.rpartition("@")
        options = _options(query, kind, tls)
        username, colon, password = login.partition(":")
        names = [unquote(part) for part in path.split("/") if part]
        if at and not colon:
            _refuse("what stands before the @ is user:password or :password")
        parts: dict[str, Any] = {
            "username": unquote(username) or options.pop("username", None),
            "password": unquote(password) or options.pop("password", None),
        }
        if kind == "unix":
            parts |= {"path": f"/{unquote(path)}" if path else _refuse("unix:///path is missing")}
            if places:
                _refuse("unix:// is followed by the path of a socket: unix:///path")
            names = [options.pop("db", "0")]
        else:
            parts |= {"hosts": _hosts(places, 26379 if kind == "sentinel" else 6379)}
        if kind == "sentinel":
            parts |= {"primary": names.pop(0) if names else _refuse(_NO_PRIMARY)}
        if len(names) > 1:
            _refuse(
                f"of a path of {len(names)} parts only the first, the database, means something"
            )
        return cls(kind, tls, db=_db(names, kind), options=options, **parts)

    def shown(self) -> str:
        """The URL as it may be printed: who asks is masked, and options are left out."""
        scheme = next(name for name, held in _SCHEMES.items() if held == (self.kind, self.tls))
        login = "***@" if self.username or self.password else ""
        hosts = ",".join(_written(host, port) for host, port in self.hosts)
        parts = [self.path or f"{login}{hosts}", self.primary, str(self.db or "")]
        return f"{scheme}://{'/'.join(part for part in parts if part)}"


_NO_PRIMARY: Final = "the name of the primary is missing: redis+sentinel://host:26379/name"


def _refuse(message: str) -> NoReturn:
    raise ValueError(message)


def _options(query: str, kind: Kind, tls: bool) -> dict[str, str]:
    known = list(_ALWAYS)
    known += _UNIX if kind == "unix" else ()
    known += _SENTINEL if kind == "sentinel" else ()
    known += _TLS if tls else ()
    found: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in known:
            _refuse(f"the option {name!r} is not one of {', '.join(known)}")
        if name in _WORDS and value.lower() not in _WORDS[name]:
            _refuse(f"the option {name!r} is one of {', '.join(_WORDS[name])}")
        found[name] = value.lower() if name in _WORDS else value
    return found


def _hosts(places: str, usual_port: int) -> tuple[tuple[str, int], ...]:
    return tuple(_host(place, usual_port) for place in places.split(","))


def _host(place: str, usual_port: int) -> tuple[str, int]:
    """``host``, ``host:port``, ``[v6]`` or ``[v6]:port``."""
    bracket, closed, rest = place.partition("]")
    host = bracket[1:] if closed and place.startswith("[") else place.partition(":")[0]
    port = rest if closed else place.partition(":")[2]
    port = port.removeprefix(":")
    if not host:
        _refuse("a host is missing")
    if not port and place.endswith(":"):
        _refuse(f"a port is missing after {host}")
    number = int(port) if port.isascii() and port.isdigit() else 0
    if port and not 0 < number < 1 << 16:
        _refuse(f"the port of {host} must be a number from 1 to 65535")
    return unquote(host), number or usual_port


def _db(names: list[str], kind: Kind) -> int:
    text = names[0] if names else "0"
    if not (text.isascii() and text.isdigit()):
        _refuse("the database must be a number")
    if kind == "cluster" and int(text):
        _refuse(f"a cluster has database 0 only, not {int(text)}")
    return int(text)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
