"""All bounds of a store in Redis, and what they come to for one of its connections."""

from dataclasses import dataclass
from typing import Final

from . import key_map
from .bounds import StoreBounds
from .connecting import ConnectionBounds
from .seal import OVERHEAD

#: bytes of protocol around one reply: "$<length>\r\n...\r\n" takes 14, an error message up to some
#: hundreds
_REPLY_OVERHEAD: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisBounds(StoreBounds):
    """``read_seconds`` is what ``get_many`` takes, and once more if it must connect."""

    #: names that a group keeps of those used most
    hot_names: int = 10_000
    #: seconds to connect; a Redis worth asking is in the same data centre
    connect_seconds: float = 0.25
    #: seconds for one write on the socket
    socket_seconds: float = 0.25
    #: seconds for all replies of one round trip of writes
    reply_seconds: float = 1.0
    #: seconds that a reading or a claim takes that no request waits for, and once more to connect;
    #: at least as many as for one that some request waits for
    patient_seconds: float = 0.25
    #: seconds for which it is believed what keys there are
    map_seconds: float = 5.0

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
