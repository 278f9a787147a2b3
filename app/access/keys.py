"""Client keys of all sources: a table from digests to clients, refreshed in the background.

Sources          SWITCHYARD_API_KEYS, a file, Redis. The first source that has a key decides.
Representation   one dict by SHA-256 digest. No key is kept or logged. The time of a look-up depends
                 on digests, whose bits an attacker cannot choose, so it reveals no key.
Invariants       I1 requests never wait for a source: a look-up reads the table only.
                 I2 a source that cannot be read keeps its previous keys, and the reason is logged
                    once. Until a source was read for the first time, unknown keys get 503.
                 I3 a change takes effect within POLL_SECONDS, plus the time to read the source.
Threads          the event loop only.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from ..errors import ApiError, unavailable
from ..observability.logs import Logger
from ..server.event_stream import cancel
from .client import Client
from .followed_file import KeysUnreadable
from .key_entry import KeyEntry, client_id, digest_of

#: seconds between two looks at the sources
POLL_SECONDS: Final = 1.0

CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


class KeySource(Protocol):
    """A place of keys. ``load`` returns None if nothing has changed, and raises KeysUnreadable."""

    name: str
    may_be_down: bool

    async def load(self) -> list[KeyEntry] | None: ...
    async def aclose(self) -> None: ...


class Keys:
    """The keys of clients. Without any source, no key is required.

    Args:
        given: keys without limits.
        reserved: digests of operators' keys, which never identify a client.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        given: Iterable[str] = (),
        sources: Sequence[KeySource] = (),
        *,
        reserved: Iterable[bytes] = (),
        logger: Logger | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        digests = [digest_of(key) for key in given]
        self._given = {digest: (_unlimited(digest), None) for digest in digests}
        self._sources = sources
        self._reserved = frozenset(reserved)
        self._logger = logger
        self._clock = clock
        self._entries: dict[str, list[KeyEntry]] = {}
        self._failures: dict[str, str] = {}
        self._table: dict[bytes, tuple[Client, KeyEntry | None]] = dict(self._given)
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def are_required(self) -> bool:
        return bool(self._given or self._sources)

    def identify(self, authorization: str | None, address: str) -> Client:
        """Return the client of a request by its key, or without keys by its address.

        Raises:
            ApiError: 401, no key, an unknown or an expired one; 503, no source was read yet.
        """
        if not self.are_required:
            return Client(id=address)
        client, entry = self._find(bearer(authorization))
        if entry is not None and entry.has_expired(self._clock()):
            raise refused("This API key has expired.")
        return client

    def _find(self, key: str) -> tuple[Client, KeyEntry | None]:
        known = self._table.get(digest_of(key))
        if known is not None:
            return known
        if len(self._entries) < len(self._sources):
            raise unavailable(
                "API keys cannot be checked at the moment. Please try again.", "keys_unavailable"
            )
        raise refused("Incorrect API key provided.")

    # -- refreshing --------------------------------------------------------------------------------
    async def start(self) -> None:
        """Read all sources, then look for changes in the background.

        Raises:
            KeysUnreadable: a file cannot be read. Redis may become reachable later.
        """
        for source in self._sources:
            await self._load(source)
            if source.name not in self._entries and not source.may_be_down:
                raise KeysUnreadable(self._failures[source.name])
        if self._sources:
            self._refreshing = asyncio.create_task(self._refresh())

    async def aclose(self) -> None:
        if self._refreshing is not None:
            await cancel(self._refreshing)
        for source in self._sources:
            await source.aclose()

    def stats(self) -> dict[str, int]:
        """Return the number of keys, and of sources that could not be read the last time."""
        return {"known": len(self._table), "unreadable_sources": len(self._failures)}

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await asyncio.gather(*map(self._load, self._sources))

    async def _load(self, source: KeySource) -> None:
        try:
            entries = await source.load()
        except KeysUnreadable as error:
            self._failed(source, str(error))
            return
        self._failures.pop(source.name, None)
        if entries is None:
            return
        self._entries[source.name] = entries
        self._rebuild()
        if self._logger is not None:
            self._logger.info("keys read", source=source.name, keys=len(entries))

    def _failed(self, source: KeySource, reason: str) -> None:
        if self._failures.get(source.name) == reason:
            return
        self._failures[source.name] = reason
        if self._logger is not None:
            self._logger.error("keys not read; earlier ones stay valid", reason=reason)

    def _rebuild(self) -> None:
        table: dict[bytes, tuple[Client, KeyEntry | None]] = dict(self._given)
        for source in self._sources:
            for entry in self._entries.get(source.name, ()):
                if entry.digest not in self._reserved:
                    table.setdefault(entry.digest, (entry.client(), entry))
        self._table = table


def bearer(authorization: str | None) -> str:
    """Return the key of an Authorization header. Raises ApiError 401 without one."""
    scheme, _, key = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise refused(
            "You didn't provide an API key. You need to provide your API key in an "
            "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
        )
    return key.strip()


def refused(message: str) -> ApiError:
    """Return a 401."""
    return ApiError(401, message, code="invalid_api_key", headers=CHALLENGE)


def _unlimited(digest: bytes) -> Client:
    """Return the client of a key without an entry; its name shows the digest's beginning."""
    return Client(id=client_id(digest), name=f"api-key-{digest.hex()[:8]}")
