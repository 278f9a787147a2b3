"""Authenticated values for a store that others can write to: a header, a MAC, the value.

    4 bytes   magic "SWYC"
    1 byte    version of this layout
    1 byte    0 = sealed without a secret (detects accidental damage only), 1 = sealed with one
    4 bytes   length of the value, big-endian
    32 bytes  HMAC-SHA256 over these ten bytes, the key's length (4 bytes), the key, and the value
    the value

The MAC covers the key, so a sealed value under another key does not verify. A seal with a secret
rejects values that were sealed without one, and vice versa.

Cost        0.5-2 ms per megabyte for the MAC; only the value is copied.
Threads     immutable; any thread.
Not here    the content of values, their compression and version (the engine's artifacts).
"""

import hmac
from struct import Struct
from typing import Final

_HEADER: Final = Struct(">4sBBI")
_LENGTH: Final = Struct(">I")
_MAGIC: Final = b"SWYC"
_VERSION: Final = 1
_MAC_BYTES: Final = 32

#: bytes that a seal adds to a value
OVERHEAD: Final = _HEADER.size + _MAC_BYTES

#: minimum bytes of a secret, so that it cannot be found by trying all
MIN_SECRET_BYTES: Final = 16


class Seal:
    """Seals and opens values. With ``secret`` None it detects accidental damage only."""

    def __init__(self, secret: bytes | None) -> None:
        if secret is not None and len(secret) < MIN_SECRET_BYTES:
            raise ValueError(
                f"the cache key must have at least {MIN_SECRET_BYTES} bytes, got {len(secret)}"
            )
        self._kind = 0 if secret is None else 1
        self._mac = hmac.new(secret or b"accidents only", digestmod="sha256")

    def wrap(self, key: bytes, value: bytes) -> bytes:
        """Return ``value`` sealed for ``key``; it is ``OVERHEAD`` bytes longer."""
        header = self._header(len(value))
        return b"".join((header, self._sign(header, key, value), value))

    def unwrap(self, key: bytes, sealed: bytes) -> bytes | None:
        """Return the value, or None if ``wrap`` did not make it for this key and secret."""
        if len(sealed) < OVERHEAD:
            return None
        value = sealed[OVERHEAD:]
        header = sealed[: _HEADER.size]
        if header != self._header(len(value)):
            return None
        mac = sealed[_HEADER.size : OVERHEAD]
        return value if hmac.compare_digest(mac, self._sign(header, key, value)) else None

    def stream(self) -> tuple[int, "hmac.HMAC"]:
        """Return the kind of this seal, and a MAC to update, for data too long for one value. The
        data must begin with another magic than values, so that neither verifies as the other.
        """
        return self._kind, self._mac.copy()

    def _header(self, length: int) -> bytes:
        return _HEADER.pack(_MAGIC, _VERSION, self._kind, length)

    def _sign(self, header: bytes, key: bytes, value: bytes) -> bytes:
        mac = self._mac.copy()
        mac.update(header)
        mac.update(_LENGTH.pack(len(key)))
        mac.update(key)
        mac.update(value)
        return mac.digest()
