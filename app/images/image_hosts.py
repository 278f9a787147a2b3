"""Which URLs of images may be fetched, and which addresses may be connected to.

Invariants   I1 a host is allowed by its name, as the setting IMAGE_HOSTS spells it; addresses never
                are, in none of their spellings.
             I2 a name leads to the public Internet: if one of its addresses does not, none is used.
Not here     connecting to no other address than those that were checked (fetching).
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address, ip_network

from yarl import URL

from .unreadable import ImageError, shortened

#: characters of a URL; servers take about 8,000
MAX_URL = 8_192
#: ports of hosts whose entry names none
WEB_PORTS = (80, 443)
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
#: translated, tunnelled and anycast relays: `is_global` leaves some of them open
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            *("100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "240.0.0.0/4"),
            *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        ),
    )
)
#: all public IPv6 addresses; NAT64, IPv4-mapped and site-local ones are outside
_PUBLIC_V6 = ip_network("2000::/3")


def is_public(address: str) -> bool:
    """Return whether an address belongs to the public Internet."""
    try:
        each = ip_address(address)
    except ValueError:
        return False
    if isinstance(each, IPv6Address) and (each.scope_id or each not in _PUBLIC_V6):
        return False
    is_special = each.is_multicast or each.is_private or each.is_reserved or not each.is_global
    return not is_special and not any(each in network for network in _NOT_PUBLIC)


def check_addresses(host: str, addresses: Sequence[str]) -> None:
    """Raise ImageError unless all addresses of a host are public, and there is one.

    The error names no address: those of an internal network are no business of clients.
    """
    if not addresses or not all(map(is_public, addresses)):
        got = "one that is not public" if addresses else "none"
        raise ImageError(
            "image_host_not_allowed", f"the host {host} must have public addresses, got {got}"
        )


class ImageHosts:
    """The hosts of IMAGE_HOSTS.

    Args:
        entries: names in lower case, such as ``images.example.org`` or ``*.example.org`` (names
            below it), each with a port (``:8443``) or without (80 and 443).
    """

    def __init__(self, entries: Iterable[str]) -> None:
        self._entries = [
            (name, (int(port),) if port else WEB_PORTS)
            for name, _, port in (entry.partition(":") for entry in entries)
        ]

    def check(self, url: str) -> URL:
        """Return a URL that may be fetched, parsed once: what is checked is what is requested.

        Raises:
            ImageError: no http or https URL, a user name, or a host or port that is not allowed.
        """
        if len(url) > MAX_URL:
            raise _bad_url(f"may have at most {MAX_URL:,} characters, got {len(url):,}")
        if _UNSAFE.search(url):
            raise _bad_url("must have no white space, control character or backslash", url)
        try:
            parsed = URL(url)
            host, port = parsed.raw_host, parsed.port
        except ValueError as error:
            raise _bad_url(f"is not valid ({str(error)[:100]})", url) from None
        if parsed.scheme not in ("http", "https") or not host or not port:
            raise _bad_url("must be an http or https URL with a host", url)
        if "@" in parsed.raw_authority or "@" in url.split("/")[2]:
            raise _bad_url("must have no user name or password", url)
        if not any(_matches(host, name) and port in ports for name, ports in self._entries):
            shown = host if parsed.explicit_port is None else f"{host}:{port}"
            raise ImageError(
                "image_host_not_allowed",
                f"the host {shortened(shown, 100)} is not one of those from which this server "
                "fetches images (SWITCHYARD_IMAGE_HOSTS); send the image as a data URL",
            )
        return parsed.with_fragment(None)


def _matches(host: str, name: str) -> bool:
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


def _bad_url(text: str, url: str = "") -> ImageError:
    got = f", got {shortened(url)}" if url else ""
    return ImageError("invalid_image_url", f"its URL {text}{got}")
