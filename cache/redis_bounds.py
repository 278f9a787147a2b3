"""All bounds of a store in Redis, and what they come to for one of its connections."""

from dataclasses import dataclass, field
from typing import Final

from . import key_map
from .connecting import ConnectionBounds
from .seal import OVERHEAD
from .write_behind import WriteBounds

#: bytes of protocol around one reply: "$<length>\r\n...\r\n" takes 14, an error message up to some
#: hundreds
_REPLY_OVERHEAD: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisBounds:
    """Each with its unit and the reason for its default."""

    #: bytes of one value; all masks of a large rule of a 200,000-token vocabulary take a few
    #: hundred kilobytes
    value_bytes: int = 1 << 20
    #: bytes of one key without its namespace; ours are digests with a short prefix
    key_bytes: int = 512
    #: names that a group keeps of those used most
    hot_names: int = 10_000
    #: keys of one round trip; with value_bytes it bounds what a round trip can bring to 64 MiB
    batch_keys: int = 64
    #: seconds to connect; a Redis worth asking is in the same data centre
    connect_seconds: float = 0.25
    #: seconds for one write on the socket
    socket_seconds: float = 0.25
    #: seconds for all replies of one round trip of writes
    reply_seconds: float = 1.0
    #: seconds that ``get_many`` takes, and once more if it must connect: a compile is done without
    #: it in less
    read_seconds: float = 0.02
    #: seconds that a reading or a claim takes that no request waits for, and once more to connect;
    #: at least as many as for one that some request waits for
    patient_seconds: float = 0.25
    #: seconds for which it is believed what keys there are
    map_seconds: float = 5.0
    #: of the write-behind queue, and how long Redis is left alone
    writes: WriteBounds = field(default_factory=WriteBounds)

    def of_connections(self) -> ConnectionBounds:
        """Of each connection."""
        replies = self.batch_keys * (self.value_bytes + OVERHEAD + _REPLY_OVERHEAD)
        return ConnectionBounds(
            reply_bytes=replies + key_map.BYTES + _REPLY_OVERHEAD,
            reply_seconds=self.reply_seconds,
            socket_seconds=self.socket_seconds,
            connect_seconds=self.connect_seconds,
        )


#: what is good where nothing else is known
USUAL: Final = RedisBounds()
