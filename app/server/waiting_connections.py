"""Connections that wait for their client: for a request, for the rest of a request, or for the
client to read.

When too many connections are open, the gateway closes one for each new one: of the address with the
most waiting connections, the connection that has waited longest. So neither idle nor slow clients
can keep others out, and no address loses a connection while another address has more. A fixed bound
per address would also hit proxies, whose clients share an address.

Cost         O(1) per change, O(addresses) per choice.
Threads      the event loop only.
"""

from typing import Generic, TypeVar

Held = TypeVar("Held")


class WaitingConnections(Generic[Held]):
    """See the file's header."""

    def __init__(self) -> None:
        # by address; each in the order in which they began to wait
        self._waiting: dict[str, dict[Held, None]] = {}

    def add(self, address: str, connection: Held) -> None:
        """Note that a connection begins to wait."""
        self._waiting.setdefault(address, {})[connection] = None

    def discard(self, address: str, connection: Held) -> None:
        """Note that a connection no longer waits, if it did."""
        held = self._waiting.get(address, {})
        held.pop(connection, None)
        if not held:
            self._waiting.pop(address, None)

    def first(self) -> Held | None:
        """Return the connection that gives way first; None: none waits."""
        most = max(self._waiting.values(), key=len, default=None)
        return None if most is None else next(iter(most))
