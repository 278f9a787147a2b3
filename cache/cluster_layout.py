"""Which node of a Redis Cluster has which slots, as one of the nodes tells it.

Representation   ranges of slots in ascending order, and for each the host of its primary.
Invariants       I1 ranges lie in 0..16383, and none overlaps another.
                 I2 a host is a name or an address, a port one of 1..65535: nothing else that a node
                    says is ever connected to.
Cost             a key: its CRC and a bisection.
Threads          immutable.
Not here         asking (cluster).
"""

import re
from bisect import bisect_right
from typing import Any, Final

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import InvalidResponse

Host = tuple[str, int]

#: ranges of a layout: each slot may be one
MOST_RANGES: Final = REDIS_CLUSTER_HASH_SLOTS
#: primaries of a layout; Redis itself advises against more nodes
MOST_PRIMARIES: Final = 1_000
#: bytes of a layout: 16,384 ranges of a primary and four replicas, of 100 bytes each
MOST_BYTES: Final = 8 << 20

_HOST: Final = re.compile(rb"[0-9A-Za-z._:%-]{1,255}")


class ClusterLayout:
    """What CLUSTER SLOTS answered.

    Args:
        reply: the answer as it came, of any shape.
        asked: whom; a node that does not know its own host leaves it out.

    Raises:
        InvalidResponse: it is no layout.
    """

    def __init__(self, reply: Any, asked: Host) -> None:
        if not isinstance(reply, list) or not 0 < len(reply) <= MOST_RANGES:
            raise InvalidResponse("a layout is an array of 1 to 16,384 ranges")
        ranges = sorted(_range(each, asked) for each in reply)
        self._starts = [start for start, _, _ in ranges]
        self._ends = [end for _, end, _ in ranges]
        self._hosts = [host for _, _, host in ranges]
        if any(start <= end for start, end in zip(self._starts[1:], self._ends, strict=False)):
            raise InvalidResponse("two ranges of a layout overlap")
        self.primaries = tuple(dict.fromkeys(self._hosts))
        if len(self.primaries) > MOST_PRIMARIES:
            raise InvalidResponse(
                f"a layout of {len(self.primaries):,} primaries, and at most {MOST_PRIMARIES:,} "
                "are taken"
            )

    def host_of(self, key: bytes) -> Host | None:
        """The node that has the key's slot, if one has it."""
        slot = key_slot(key)
        place = bisect_right(self._starts, slot) - 1
        return self._hosts[place] if place >= 0 and slot <= self._ends[place] else None


def _range(told: Any, asked: Host) -> tuple[int, int, Host]:
    """First slot, last slot and primary; replicas stand behind it, and are not asked."""
    if not isinstance(told, list) or len(told) < 3:
        raise InvalidResponse("a range of a layout is no array of slots and nodes")
    start, end, primary = told[:3]
    if not (_is_number(start) and _is_number(end) and 0 <= start <= end < MOST_RANGES):
        raise InvalidResponse("a range of a layout is not within slots 0..16383")
    return start, end, _host(primary, asked)


def _host(told: Any, asked: Host) -> Host:
    if not isinstance(told, list) or len(told) < 2:
        raise InvalidResponse("a node of a layout is no array of host and port")
    host, port = told[:2]
    is_its_own = host is None or host == b""
    return asked[0] if is_its_own else checked_host(host), checked_port(port)


def checked_host(told: Any) -> str:
    """What a server says of another. Raises InvalidResponse."""
    if not isinstance(told, bytes) or not _HOST.fullmatch(told):
        raise InvalidResponse("the host of a node is no name and no address")
    return told.decode("ascii")


def checked_port(told: Any) -> int:
    """As ``checked_host``."""
    if not (_is_number(told) and 0 < told < 1 << 16):
        raise InvalidResponse("the port of a node is not within 1..65535")
    return int(told)


def _is_number(told: Any) -> bool:
    return type(told) is int
