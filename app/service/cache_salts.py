"""Salts of KV caches: prompts with different salts share no keys and values in a worker.

A shared cache tells by its speed, and by the cached tokens in ``usage``, whether another client has
sent a prompt before. With a salt for each key, no client can measure that.

Representation   a MAC of the client's id and the salts of the request, in hex. The key is the
                 gateway's secret, if it has one, so that a salt in a worker's log names no client;
                 replicas with equal settings make equal salts.
Invariants       I1 a client's own salt only separates further: with ``is_separate``, no salt of one
                 client equals one of another.
                 I2 without ``is_separate``, requests of all clients with equal salts share, and
                 none of these salts equals one that was made with it.
Cost             2 us; nothing for a request without any salt.
Not here         whether a worker keeps salts apart (adapters.workers.sglang_scheduling), grammars
                 of clients (constraints.tenant_caches).
"""

from collections.abc import Sequence
from hashlib import blake2b, sha256

#: bytes of a salt: no two meet by chance
SALT_BYTES = 16


class CacheSalts:
    """See the file's header.

    Args:
        is_separate: whether each client has a salt of its own.
        secret: the key of the MAC, of any length.
    """

    def __init__(self, *, is_separate: bool = False, secret: bytes = b"") -> None:
        self._is_separate = is_separate
        self._key = sha256(b"switchyard cache salt\0" + secret).digest()

    def of(self, client: str, asked: Sequence[str] = ()) -> str | None:
        """Return the salt of a client's request; None: it needs none.

        ``asked``: the salts that it names; an empty one is none.
        """
        owner = (client,) if self._is_separate else ()
        if not owner and not any(asked):
            return None
        mac = blake2b(key=self._key, digest_size=SALT_BYTES, person=b"owned" if owner else b"open")
        for part in (*owner, *asked):
            data = part.encode("utf-8", "surrogatepass")
            mac.update(len(data).to_bytes(8) + data)
        return mac.hexdigest()
