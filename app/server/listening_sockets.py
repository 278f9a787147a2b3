"""Sockets of several processes that listen on one port.

Each process listens on sockets of its own with SO_REUSEPORT, and the kernel spreads connections by
a hash of their addresses. With one socket in two processes, the process that woke first accepted
152 to 199 of 200 connections that came together; with two sockets, 102 to 107.

A bound socket that does not listen reserves the port, but gets no connections. The parent of the
processes holds such sockets: a free port is chosen once, and a process that restarts finds it.
"""

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

#: family and address of a socket
Address = tuple[socket.AddressFamily, tuple[str, int]]


@contextmanager
def reserved(host: str, port: int) -> Iterator[list[Address]]:
    """Reserve the port on all addresses of the host; yield them. Port 0: any free port.

    Raises:
        OSError: the host does not resolve, or the port is in use.
    """
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    with ExitStack() as stack:
        addresses: list[Address] = []
        for family, *_, address in dict.fromkeys(infos):
            place = (str(address[0]), port)
            if port:
                # with SO_REUSEPORT a second gateway of this user would share the port
                _bound(family, place, shared=False).close()
            bound = stack.enter_context(_bound(family, place, shared=True))
            port = bound.getsockname()[1]
            addresses.append((family, (place[0], port)))
        yield addresses


def bind_all(addresses: Sequence[Address]) -> list[socket.socket]:
    """Return a socket for each reserved address. Raises OSError."""
    return [_bound(family, address, shared=True) for family, address in addresses]


def _bound(
    family: socket.AddressFamily, address: tuple[str, int], *, shared: bool
) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            # as asyncio does: the IPv4 address has a socket of its own
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound
