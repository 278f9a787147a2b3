"""Trusted proxies: the peers whose X-Forwarded-For and X-Forwarded-Proto are believed.

Without any, a client's address is that of its connection: any client can send these headers.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network


class TrustedProxies:
    """A set of addresses and networks."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = tuple(networks)

    def trusts(self, host: str | None) -> bool:
        """Whether the peer with this address is a proxy; False for names and Unix sockets."""
        try:
            address = ip_address((host or "").partition("%")[0])
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)

    @property
    def listed(self) -> list[str]:
        """The networks for uvicorn, those of IPv4 also as sockets for both versions show them."""
        mapped = [
            ip_network(f"::ffff:{each.network_address}/{96 + each.prefixlen}")
            for each in self._networks
            if isinstance(each, IPv4Network)
        ]
        return [str(each) for each in (*self._networks, *mapped)]
