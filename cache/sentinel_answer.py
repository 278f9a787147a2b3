"""Which primaries a Sentinel watches, as it tells them.

Representation   for redis-py, which asks: by name the fields that it reads of each.
Invariants       I1 as of a cluster: a host is a name or an address, a port one of 1..65535, and
                    nothing else that a Sentinel says is ever connected to.
Not here         asking, and which Sentinel is asked next (redis-py).
"""

from contextlib import suppress
from typing import Any, Final

from redis.exceptions import ConnectionError, InvalidResponse

from .cluster_layout import checked_host, checked_port

#: primaries that one Sentinel watches; a site has some
MOST_PRIMARIES: Final = 10_000


def primaries_named(reply: Any, **_options: Any) -> dict[str, dict[str, Any]]:
    """Of SENTINEL MASTERS, a list of names and values by turns for each. One that is told in
    another way is left out: it may be another one than ours.

    Raises:
        ConnectionError: it is no answer; then the next Sentinel is asked.
    """
    if not isinstance(reply, list) or len(reply) > MOST_PRIMARIES:
        raise ConnectionError(f"an answer is an array of at most {MOST_PRIMARIES:,} primaries")
    found = {}
    for told in reply:
        with suppress(InvalidResponse):
            name, fields = _primary(told)
            found[name] = fields
    return found


def _primary(told: Any) -> tuple[str, dict[str, Any]]:
    if not isinstance(told, list) or not all(isinstance(each, bytes) for each in told):
        raise InvalidResponse("a primary is no array of texts")
    fields = dict(zip(told[::2], told[1::2], strict=False))
    flags = fields.get(b"flags", b"").split(b",")
    port = fields.get(b"port", b"")
    return fields.get(b"name", b"").decode("utf-8", "replace"), {
        "ip": checked_host(fields.get(b"ip")),
        "port": checked_port(int(port) if port.isdigit() and len(port) < 6 else None),
        "is_master": b"master" in flags,
        "is_sdown": b"s_down" in flags,
        "is_odown": b"o_down" in flags,
        "num-other-sentinels": 0,  # none need be known to this one
    }
