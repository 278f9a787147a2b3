"""Keys of operators: ``Authorization: Bearer KEY``. Client keys do not count here, and tokens do
only if a setting names the scope of operators.

Representation   SHA-256 digests of the keys; no key is kept. The time of a look-up depends on the
                 digests, whose bits an attacker cannot choose, so it reveals no key.
Not here         keys of clients, and verifying tokens (access).
"""

from collections.abc import Iterable
from typing import Protocol

from starlette.requests import HTTPConnection

from ..access import bearer, digest_of, refused
from ..errors import ApiError


def credential(request: HTTPConnection) -> str | None:
    """Return the header with a client's key: ``Authorization``, or Anthropic's ``x-api-key``."""
    given, key = request.headers.get("authorization"), request.headers.get("x-api-key")
    return f"Bearer {key}" if given is None and key is not None else given


class OperatorTokens(Protocol):
    """Tokens that may be those of operators."""

    @property
    def has_operators(self) -> bool: ...
    def check_operator(self, token: str) -> None: ...


class AdminKeys:
    """The keys of operators.

    Without any, the routes stay closed, on 127.0.0.1 too: behind a proxy on the same machine every
    client comes from there, and so do requests that a web page makes its reader's browser send.
    ``switchyard warm`` and ``switchyard cache stats`` need no key.
    """

    def __init__(self, keys: Iterable[str], tokens: OperatorTokens | None = None) -> None:
        self._digests = frozenset(map(digest_of, keys))
        self._tokens = tokens if tokens is not None and tokens.has_operators else None

    def check(self, authorization: str | None) -> None:
        """Raise ApiError: 403, there are no keys of operators, or a token lacks their scope; 401,
        the header has no key, or no valid one.
        """
        if not self._digests and self._tokens is None:
            raise ApiError(
                403,
                "This endpoint is for operators only and has no keys: set SWITCHYARD_ADMIN_KEYS.",
                code="admin_keys_not_set",
            )
        key = bearer(authorization)
        if digest_of(key) in self._digests:
            return
        if self._tokens is None:
            raise refused("Incorrect API key provided.")
        self._tokens.check_operator(key)

    def fits(self, authorization: str | None) -> bool:
        """Whether ``check`` would pass."""
        try:
            self.check(authorization)
        except ApiError:
            return False
        return True
