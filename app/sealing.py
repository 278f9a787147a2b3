"""Texts that a client keeps for this server: encrypted, and recognised when they come back.

A seal is AES-256-GCM with a random nonce; its associated data is the client and the kind of text,
so that no client can use another's, and no text passes for one of another kind. Reasoning travels
this way, and so do compacted conversations: clients send them back with each turn.

Not here   the key's setting: that of the cache, which replicas share.
"""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12

#: what a sealed text is
SealedKind = Literal["thought", "compaction"]


class Seal:
    """Seals texts with a key of any length; None: with a random one, which no other process has."""

    def __init__(self, key: bytes | None) -> None:
        self._key = sha256(b"switchyard seal\0" + (key or os.urandom(32))).digest()

    @cached_property
    def _cipher(self) -> "AESGCM":
        # gateways whose clients seal nothing do not load the package
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self._key)

    def seal(self, client: str, text: str, kind: SealedKind = "thought") -> str:
        """Return the text, readable by this key and for this client only; URL-safe base64."""
        nonce = os.urandom(_NONCE_BYTES)
        data = self._cipher.encrypt(nonce, text.encode(), _owner(client, kind))
        return urlsafe_b64encode(nonce + data).decode()

    def open(self, client: str, sealed: str, kind: SealedKind = "thought") -> str | None:
        """Return the text; None: not sealed here, altered, or of another client or kind."""
        from cryptography.exceptions import InvalidTag

        try:
            data = urlsafe_b64decode(sealed.encode("ascii"))
            nonce, data = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
            return self._cipher.decrypt(nonce, data, _owner(client, kind)).decode()
        except (ValueError, InvalidTag):
            return None


def _owner(client: str, kind: SealedKind) -> bytes:
    return f"{kind}\0{client}".encode()
