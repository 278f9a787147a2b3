"""Client keys of all sources: a table from digests to clients, refreshed in the background.

Sources          SWITCHYARD_API_KEYS, a file, Redis. The first source that has a key decides. A text
                 that is no known key may be a token, which a verifier judges (token_verifier).
Representation   one dict by SHA-256 digest. No key is kept or logged. The time of a look-up depends
                 on digests, whose bits an attacker cannot choose, so it reveals no key.
Invariants       I1 requests never wait for a source: a look-up reads the table only.
                 I2 a source that cannot be read keeps its previous keys, and the reason is logged
                    once. Until a source was read for the first time, unknown keys get 503.
                 I3 a change takes effect within POLL_SECONDS, plus the time to read the source.
Threads          the event loop; a thread makes each table, which then replaces the old one at once.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, Protocol

from ..concurrency import cancel
from ..errors import ApiError, unavailable
from ..observability import Logger
from .client import Client
from .followed_file import KeysUnreadable, emptied
from .key_entry import KeyEntry, client_id, digest_of

#: seconds between two looks at the sources
POLL_SECONDS: Final = 1.0
#: addresses whose clients are kept; others are made anew
MAX_ADDRESSES: Final = 1024

CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


class Followed(Protocol):
    """A place of keys. ``load`` returns None if nothing has changed, and raises KeysUnreadable."""

    name: str
    #: the setting that names the place, without its prefix
    setting: str
    may_be_down: bool

    async def load(self) -> Sequence[Any] | None: ...


class KeySource(Followed, Protocol):
    """A place of clients' keys; ``load`` returns entries."""

    async def aclose(self) -> None: ...


class Tokens(Followed, Protocol):
    """A verifier of tokens; ``load`` returns its keys. ``client`` returns None for a text that is
    no token.
    """

    def client(self, token: str) -> Client | None: ...


class Keys:
    """The keys of clients. Without any source, no key is required.

    Args:
        given: keys without limits.
        tokens: verifies tokens; None: there are none.
        reserved: digests of operators' keys, which never identify a client.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        given: Iterable[str] = (),
        sources: Sequence[KeySource] = (),
        *,
        tokens: Tokens | None = None,
        reserved: Iterable[bytes] = (),
        logger: Logger | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        digests = [digest_of(key) for key in given]
        self._given = {digest: (_unlimited(digest), None) for digest in digests}
        self._sources = sources
        self._tokens = tokens
        self._reserved = frozenset(reserved)
        self._logger = logger
        self._clock = clock
        # a frozen object takes 2 us to make
        self._of_address = lru_cache(MAX_ADDRESSES)(Client)
        self._followed: Sequence[Followed] = [*sources, *([] if tokens is None else [tokens])]
        self._loaded: dict[str, Sequence[Any]] = {}
        self._failures: dict[str, str] = {}
        self._table: dict[bytes, tuple[Client, KeyEntry | None]] = dict(self._given)
        #: whether a source has changed since the table was made
        self._is_stale = False
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def are_required(self) -> bool:
        return bool(self._given or self._sources or self._tokens)

    def identify(self, authorization: str | None, address: str) -> Client:
        """Return the client of a request by its key or token, or without keys by its address.

        Raises:
            ApiError: 401, no key, an unknown or an expired one; 403, a token without the scope;
                503, no source was read yet.
        """
        if not self.are_required:
            return self._of_address(address)
        client, entry = self._find(bearer(authorization))
        if entry is not None and entry.has_expired(self._clock()):
            raise refused("This API key has expired.")
        return client

    def _find(self, key: str) -> tuple[Client, KeyEntry | None]:
        row = self._table.get(digest_of(key))
        if row is not None:
            return row
        holder = None if self._tokens is None else self._tokens.client(key)
        if holder is not None:
            return holder, None
        if any(source.name not in self._loaded for source in self._sources):
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
        for place in self._followed:
            await self._load(place)
            await self._rebuild()
            if place.name in self._failures and not place.may_be_down:
                raise KeysUnreadable(self._failures[place.name], place.setting)
        if self._followed:
            self._refreshing = asyncio.create_task(self._refresh())

    async def aclose(self) -> None:
        await cancel(self._refreshing)
        for source in self._sources:
            await source.aclose()

    def stats(self) -> dict[str, int]:
        """Return the number of keys, and of sources that could not be read the last time."""
        return {"known": len(self._table), "unreadable_sources": len(self._failures)}

    async def _refresh(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            await asyncio.gather(*map(self._load, self._followed))
            await self._rebuild()

    async def _load(self, place: Followed) -> None:
        try:
            keys = await place.load()
        except KeysUnreadable as error:
            reason = str(error)
            if self._failures.get(place.name) != reason and self._logger is not None:
                self._logger.error("keys not read; earlier ones stay valid", reason=reason)
            self._failures[place.name] = reason
            return
        self._failures.pop(place.name, None)
        if keys is None:
            return
        self._loaded[place.name] = keys
        self._is_stale = True
        if self._logger is not None:
            self._logger.info("keys read", source=place.name, keys=len(keys))

    async def _rebuild(self) -> None:
        """Make a new table, if a source has changed."""
        if self._is_stale:
            self._is_stale = False
            self._table, old = await asyncio.to_thread(self._new_table), self._table
            await asyncio.to_thread(emptied, old)

    def _new_table(self) -> dict[bytes, tuple[Client, KeyEntry | None]]:
        table: dict[bytes, tuple[Client, KeyEntry | None]] = dict(self._given)
        for source in self._sources:
            for entry in self._loaded.get(source.name, ()):
                if entry.digest not in self._reserved:
                    table.setdefault(entry.digest, (entry.client(), entry))
        return table


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
