"""Keys of operators: ``Authorization: Bearer KEY``. Client keys do not count here.

Representation   SHA-256 digests of the keys; no key is kept. The time of a look-up depends on the
                 digests, whose bits an attacker cannot choose, so it reveals no key.
Not here         keys of clients (access).
"""

from collections.abc import Iterable

from ..access.key_entry import digest_of
from ..access.keys import bearer, refused
from ..errors import ApiError


class AdminKeys:
    """The keys of operators.

    Without any, the routes stay closed, on 127.0.0.1 too: behind a proxy on the same machine every
    client comes from there, and so do requests that a web page makes its reader's browser send.
    ``switchyard warm`` and ``switchyard cache stats`` need no key.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._digests = frozenset(map(digest_of, keys))

    def check(self, authorization: str | None) -> None:
        """Raise ApiError 403 without operator keys, 401 unless the header carries one of them."""
        if not self._digests:
            raise ApiError(
                403,
                "This endpoint is for operators only and has no keys: set SWITCHYARD_ADMIN_KEYS.",
                code="admin_keys_not_set",
            )
        if digest_of(bearer(authorization)) not in self._digests:
            raise refused("Incorrect API key provided.")

    def fits(self, authorization: str | None) -> bool:
        """Whether ``check`` would pass."""
        try:
            self.check(authorization)
        except ApiError:
            return False
        return True
