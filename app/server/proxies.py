"""Trusted proxies: the peers whose X-Forwarded-For and X-Forwarded-Proto are believed.

Without any, a client's address is that of its connection: any client can send these headers.
"""

from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network


def listed(networks: Sequence[Network]) -> list[str]:
    """Return networks for uvicorn, those of IPv4 also as sockets for both versions show them."""
    mapped = [
        ip_network(f"::ffff:{each.network_address}/{96 + each.prefixlen}")
        for each in networks
        if isinstance(each, IPv4Network)
    ]
    return [str(each) for each in (*networks, *mapped)]
