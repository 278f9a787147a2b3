"""Keys in Redis: one hash of entries (key_entry) by name, and a counter of its changes.

Representation   "switchyard:{keys}" maps names to sealed entries; "switchyard:{keys}:version" is
                 incremented after each change. The braces keep both on one node of a cluster.
Invariants       I1 an entry counts only if it was sealed for its name with the cache key, so that
                    writing to Redis is not enough to add a key. A seal does not prevent that an
                    old entry is written again.
                 I2 one bad entry does not affect the others.
Cost             one GET per poll. After a change all entries are read, and the changed ones parsed.
Threads          the event loop; entries are parsed in a thread, which gives up the GIL between two
                 entries. One load at a time.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

from cache import NAMESPACE, RedisAddress, Seal, StoreUnusable, asking, connect_async

from .followed_file import KeysUnreadable, emptied
from .key_entry import EntryRefused, KeyEntry, parse_entry

Result = TypeVar("Result")

_KEYS: Final = f"{NAMESPACE}:{{keys}}"
_VERSION: Final = f"{_KEYS}:version"
#: seconds of one call, all its replies included; startup waits that long for a Redis that hangs
SECONDS: Final = 5.0
#: maximum entries, bytes of all, and entries of one reply
MOST_KEYS: Final = 100_000
MOST_BYTES: Final = 32 << 20
_AT_ONCE: Final = 500
#: bad entries that a message names, and characters of each name
_NAMED, _NAME_CHARS = 3, 64


class RedisKeys:
    """The keys in one Redis. ``on_bad_entries`` is called with one message about all entries
    that do not count, at each look that finds any.

    Raises (every method that calls Redis):
        KeysUnreadable: Redis cannot be reached, rejects a command, or has too many entries.
    """

    name = "Redis"
    setting = "KEYS_REDIS"
    #: the gateway starts without it, and reads the keys as soon as it answers
    may_be_down = True

    def __init__(
        self,
        address: RedisAddress,
        seal: Seal,
        *,
        on_bad_entries: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._address = address
        self._seal = seal
        self._on_bad_entries = on_bad_entries
        self._client: Any = None
        self._loaded = False
        self._version: bytes | None = None
        #: by name: the sealed entries of the last look, and what they are, or why they are bad
        self._known: dict[bytes, tuple[bytes, KeyEntry | str]] = {}

    async def load(self) -> list[KeyEntry] | None:
        """Return the entries; None if none was changed since the last call."""
        # before the entries: a change in between is loaded by the next call
        version = await self._ask(lambda client: client.get(_VERSION))
        if self._loaded and version == self._version:
            return None
        entries = await self.entries()
        self._loaded, self._version = True, version
        return entries

    async def entries(self) -> list[KeyEntry]:
        """Return the entries now."""
        found = await self._found()
        self._known, old = await asyncio.to_thread(self._opened, found), self._known
        await asyncio.to_thread(emptied, old)
        entries, bad = await asyncio.to_thread(_sorted_out, self._known)
        if bad:
            self._on_bad_entries(bad)
        return entries

    async def add(self, entry: KeyEntry) -> None:
        """Add an entry. Raises KeysUnreadable also if the name is in use."""
        sealed = self._seal.wrap(_sealed_as(entry.name.encode()), entry.as_json().encode())
        if not await self._ask(lambda client: client.hsetnx(_KEYS, entry.name, sealed)):
            raise KeysUnreadable(f"Redis: the name {entry.name!r} is in use")
        await self._ask(lambda client: client.incr(_VERSION))

    async def remove(self, name: str) -> bool:
        """Remove an entry; return whether there was one."""
        found = await self._ask(lambda client: client.hdel(_KEYS, name))
        await self._ask(lambda client: client.incr(_VERSION))
        return bool(found)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def _found(self) -> dict[bytes, bytes]:
        """Return the sealed entries by name."""
        found: dict[bytes, bytes] = {}
        cursor = size = 0
        while True:
            cursor, some = await self._ask(partial(_scan, cursor))
            found.update(some)
            size += sum(len(name) + len(value) for name, value in some.items())
            if len(found) > MOST_KEYS:
                raise KeysUnreadable(f"Redis has more than {MOST_KEYS:,} keys")
            if size > MOST_BYTES:
                raise KeysUnreadable(f"Redis has more than {MOST_BYTES:,} bytes of keys")
            if not cursor:
                return found

    # -- in a thread -------------------------------------------------------------------------------
    def _opened(self, found: dict[bytes, bytes]) -> dict[bytes, tuple[bytes, KeyEntry | str]]:
        """Return all entries; those that were seen before are not parsed again."""
        opened = {}
        for name, sealed in found.items():
            known = self._known.get(name)
            if known is None or known[0] != sealed:
                known = (sealed, self._open(name, sealed))
            opened[name] = known
        return opened

    def _open(self, name: bytes, sealed: bytes) -> KeyEntry | str:
        value = self._seal.unwrap(_sealed_as(name), sealed)
        if value is None:
            return "not sealed with this cache key"
        try:
            return parse_entry(value)
        except EntryRefused as error:
            return str(error)

    async def _ask(self, request: Callable[[Any], Awaitable[Result]]) -> Result:
        try:
            with asking():
                async with asyncio.timeout(SECONDS):
                    if self._client is None:
                        self._client = connect_async(self._address)
                    return await request(self._client)
        except StoreUnusable as error:
            raise KeysUnreadable(str(error)) from None


def _sorted_out(
    opened: dict[bytes, tuple[bytes, KeyEntry | str]],
) -> tuple[list[KeyEntry], str]:
    """Return the good entries, and a message about the others."""
    good: list[KeyEntry] = []
    named: list[str] = []
    for name, (_, entry) in opened.items():
        if isinstance(entry, KeyEntry):
            good.append(entry)
        elif len(named) < _NAMED:
            # escaped: the names are those of anyone who may write to Redis
            named.append(f"{ascii(name[:_NAME_CHARS])[2:-1]}: {entry}")
    if not named:
        return good, ""
    return good, f"Redis: {len(opened) - len(good):,} entries do not count, {'; '.join(named)}"


def _sealed_as(name: bytes) -> bytes:
    """Return the key of the MAC: other values of Redis never pass as an entry."""
    return b"keys/" + name


def _scan(cursor: int, client: Any) -> Awaitable[tuple[int, dict[bytes, bytes]]]:
    reply: Awaitable[tuple[int, dict[bytes, bytes]]] = client.hscan(_KEYS, cursor, None, _AT_ONCE)
    return reply
