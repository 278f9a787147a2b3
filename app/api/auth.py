"""API keys: ``Authorization: Bearer KEY``, compared in constant time.

Representation   SHA-256 digests of the keys: every comparison has one length, and no key is kept.
Invariants       I1 each request is compared with every key: timing reveals neither which key fits
                 nor how much of it.
                 I2 without client keys no key is required; without operator keys every operator
                 request is refused.
"""

import hmac
from collections.abc import Iterable
from hashlib import sha256

from ..errors import ApiError

_HEADERS = {"WWW-Authenticate": "Bearer"}


class Keys:
    """The keys of clients."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = [sha256(key.encode()).digest() for key in keys]

    def client(self, authorization: str | None, address: str) -> str:
        """Identify the client of a checked request by its key, or without keys by its address."""
        if not self._digests:
            return address
        return sha256((authorization or "").partition(" ")[2].strip().encode()).hexdigest()

    def check(self, authorization: str | None) -> None:
        """Raise ApiError 401 unless the header carries one of the keys."""
        if not self._digests:
            return
        scheme, _, key = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise ApiError(
                401,
                "You didn't provide an API key. You need to provide your API key in an "
                "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
                code="invalid_api_key",
                headers=_HEADERS,
            )
        digest = sha256(key.strip().encode()).digest()
        known = False
        for other in self._digests:
            known |= hmac.compare_digest(digest, other)
        if not known:
            raise ApiError(
                401, "Incorrect API key provided.", code="invalid_api_key", headers=_HEADERS
            )


class AdminKeys:
    """The keys of operators; client keys do not count.

    Without any, the routes stay closed, on 127.0.0.1 too: behind a proxy on the same machine every
    client comes from there, and so do requests that a web page makes its reader's browser send.
    ``switchyard warm`` and ``switchyard cache stats`` need no key.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        given = tuple(keys)
        self._keys = Keys(given)
        self._is_open = bool(given)

    def check(self, authorization: str | None) -> None:
        """Raise ApiError 403 without operator keys, 401 unless the header carries one of them."""
        if not self._is_open:
            raise ApiError(
                403,
                "This endpoint is for operators only and has no keys: set SWITCHYARD_ADMIN_KEYS.",
                code="admin_keys_not_set",
            )
        self._keys.check(authorization)

    def fits(self, authorization: str | None) -> bool:
        """Whether ``check`` would pass."""
        try:
            self.check(authorization)
        except ApiError:
            return False
        return True
