"""Which keys a Redis may have, so that nobody asks for what is not there.

Most of what a compile needs is in no store, and asking takes longer than making most of it. So
beside the entries lies one bit for each, and who reads gets all of them with his other answers now
and then.

Representation   2^20 bits; a key's is the first bytes of its hash. In Redis a string, as SETBIT
                 numbers bits: bit 0 is the highest of the first byte.
Invariants       I1 a map is a hint: a bit too many costs a question, one too few a miss.
                 I2 a map older than ``seconds`` is no longer believed.
Cost             128 KB a reading; of 100,000 keys a tenth is taken to be there and is not.
Threads          any; what two write at once is lost for one of them until the next reading.
Not here         asking (redis_store).
"""

from collections.abc import Callable
from hashlib import blake2b
from time import monotonic
from typing import Final

#: bits, a power of two
BITS: Final = 1 << 20
BYTES: Final = BITS // 8


def bit_of(key: bytes) -> int:
    """The number of a key's bit."""
    return int.from_bytes(blake2b(key, digest_size=4).digest()) % BITS


class KeyMap:
    """See the file's header.

    Args:
        seconds: how long a reading is believed.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._bits = bytearray()
        self._until = float("-inf")

    def is_old(self) -> bool:
        """Whether it must be read again before it tells anything."""
        return self._clock() >= self._until

    def read(self, data: bytes) -> None:
        """What Redis has; shorter than the map where the last bits are 0."""
        self._bits = bytearray(data[:BYTES].ljust(BYTES, b"\0"))
        self._until = self._clock() + self._seconds

    def may_have(self, key: bytes) -> bool:
        """False if the key was not there when the map was read, nor written here since."""
        number = bit_of(key)
        return bool(self._bits[number >> 3] & 0x80 >> (number & 7))

    def add(self, number: int) -> None:
        """A bit that was set in Redis."""
        if self._bits:
            self._bits[number >> 3] |= 0x80 >> (number & 7)
