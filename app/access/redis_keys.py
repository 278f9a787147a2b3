"""Keys in Redis: one hash of entries (key_entry) by name, and a counter of its changes.

Representation   "switchyard:{keys}" maps names to sealed entries; "switchyard:{keys}:version" is
                 incremented after each change. The braces keep both on one node of a cluster.
Invariants       I1 an entry counts only if it was sealed for its name with the cache key, so that
                    writing to Redis is not enough to add a key. A seal does not prevent that an
                    old entry is written again.
                 I2 one bad entry does not affect the others. Bad entries are not kept, and the
                    bounds are those of good ones.
                 I3 a version that is no number hides no change: the entries are then read at each
                    call, for a tenth of the time at most. The next command replaces it.
Cost             one GETRANGE per poll. After a change all entries are read, and the changed ones
                 parsed.
Threads          the event loop; entries are parsed in a thread, which gives up the GIL between two
                 entries. One load at a time.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeVar

from cache import NAMESPACE, RedisAddress, Seal, StoreUnusable, asking, connect_async

from .followed_file import KeysUnreadable, emptied
from .key_entry import MAX_BYTES as MAX_ENTRY_BYTES
from .key_entry import EntryRefused, KeyEntry, parse_entry

Result = TypeVar("Result")
#: entries by name, sealed and open
Known = dict[bytes, tuple[bytes, KeyEntry]]

_KEYS: Final = f"{NAMESPACE}:{{keys}}"
_VERSION: Final = f"{_KEYS}:version"
#: bytes of a version: a signed number of 64 bits
_VERSION_BYTES: Final = 20
#: seconds of one call, all its replies included; startup waits that long for a Redis that hangs
SECONDS: Final = 5.0
#: maximum good entries, bytes of all, fields of the hash, and fields of one reply
MAX_KEYS: Final = 100_000
MAX_BYTES: Final = 32 << 20
MAX_FIELDS: Final = 2 * MAX_KEYS
_AT_ONCE: Final = 200
#: bytes of a name, and of a sealed entry: larger fields are bad
_MAX_NAME: Final = 64
_MAX_SEALED: Final = MAX_ENTRY_BYTES + 128
#: seconds without a look after one of a second, while the version is bad
_REST: Final = 9
#: bad entries that a message names, and characters of each name
_NAMED, _NAME_CHARS = 3, 64

#: scans fields; ARGV: cursor, fields, bytes of a name and of a value. Values that are too large, or
#: have such a name, are empty: one of them could be larger than a reply may be
SCAN: Final = """
local reply = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local fields = reply[2]
for at = 1, #fields, 2 do
  if #fields[at] > tonumber(ARGV[3]) or #fields[at + 1] > tonumber(ARGV[4]) then
    fields[at] = string.sub(fields[at], 1, ARGV[3])
    fields[at + 1] = ''
  end
end
return reply
"""


class RedisKeys:
    """The keys in one Redis. ``on_bad_entries`` is called with a message about all entries that do
    not count, or about the version, when that changes.

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
        #: of the last look; None: it was bad
        self._version: bytes | None = b""
        self._is_version_bad = False
        #: while the version is bad: the time of the next look
        self._rest_until = 0.0
        #: the good entries of the last look, and what it found bad
        self._known: Known = {}
        self._bad = _BadEntries()

    async def load(self) -> list[KeyEntry] | None:
        """Return the entries; None if none was changed since the last call."""
        # before the entries: a change in between is loaded by the next call
        version = await self._current_version()
        start = time.monotonic()
        is_current = version is not None or start < self._rest_until
        if self._loaded and version == self._version and is_current:
            return None
        has_changed = await self._look()
        now = time.monotonic()
        self._rest_until = now + _REST * (now - start)
        is_first, self._loaded, self._version = not self._loaded, True, version
        return self._entries() if has_changed or is_first else None

    async def entries(self) -> list[KeyEntry]:
        """Return the entries now."""
        await self._look()
        return self._entries()

    async def add(self, entry: KeyEntry) -> None:
        """Add an entry. Raises KeysUnreadable also if the name is in use."""
        sealed = self._sealed(entry)
        if not await self._ask(lambda client: client.hsetnx(_KEYS, entry.name, sealed)):
            raise KeysUnreadable(f"Redis: the name {entry.name!r} is in use")
        await self._announce()

    async def remove(self, name: str) -> bool:
        """Remove an entry; return whether there was one."""
        count = await self._ask(lambda client: client.hdel(_KEYS, name))
        await self._announce()
        return bool(count)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def stats(self) -> dict[str, int]:
        """Return the number of bad entries, and 1 if the version is bad."""
        return {"bad_entries": self._bad.number, "bad_version": int(self._is_version_bad)}

    async def _current_version(self) -> bytes | None:
        """Return the version; None: it is bad. Report a version that becomes bad."""
        version = await self._reply(lambda pipe: pipe.getrange(_VERSION, 0, _VERSION_BYTES))
        was_bad, self._is_version_bad = self._is_version_bad, not _is_version(version)
        if self._is_version_bad and not was_bad:
            self._on_bad_entries(
                "Redis: the version of the keys is not a number, so the keys are read at each look"
            )
        return None if self._is_version_bad else version

    async def _announce(self) -> None:
        """Change the version."""
        reply = await self._reply(lambda pipe: pipe.incr(_VERSION))
        if isinstance(reply, Exception):
            # no number, or the largest one; no counter reaches this one
            now = time.time_ns() // 1_000_000
            await self._ask(lambda client: client.set(_VERSION, now))

    async def _look(self) -> bool:
        """Read the entries; return whether the good ones have changed."""
        known, bad = await self._read_all()
        has_changed = await asyncio.to_thread(known.__ne__, self._known)
        self._known, old = known, self._known
        await asyncio.to_thread(emptied, old)
        self._bad, before = bad, self._bad
        if bad.number and bad != before:
            self._on_bad_entries(bad.message())
        return bool(has_changed)

    def _entries(self) -> list[KeyEntry]:
        return [entry for _, entry in self._known.values()]

    async def _read_all(self) -> tuple[Known, "_BadEntries"]:
        known: Known = {}
        bad = _BadEntries()
        cursor: bytes | int = 0
        size = fields = 0
        while True:
            reply = await self._reply(partial(_scan, cursor))
            if isinstance(reply, Exception):
                raise KeysUnreadable(_reason(reply))
            cursor, part = reply
            fields += len(part) // 2
            some = await asyncio.to_thread(self._opened, part, bad)
            size += sum(len(name) + len(sealed) for name, (sealed, _) in some.items())
            known |= some
            if len(known) > MAX_KEYS:
                raise KeysUnreadable(f"Redis has more than {MAX_KEYS:,} keys")
            if size > MAX_BYTES:
                raise KeysUnreadable(f"Redis has more than {MAX_BYTES:,} bytes of keys")
            if fields > MAX_FIELDS:
                raise KeysUnreadable(f"Redis has more than {MAX_FIELDS:,} fields of keys")
            if not int(cursor):
                return known, bad

    # -- in a thread -------------------------------------------------------------------------------
    def _opened(self, fields: list[bytes], bad: "_BadEntries") -> Known:
        """Return the good entries; those that were seen before are not parsed again."""
        opened: Known = {}
        for name, sealed in zip(fields[::2], fields[1::2], strict=True):
            known = self._known.get(name)
            if known is None or known[0] != sealed:
                entry = self._open(name, sealed)
                if isinstance(entry, str):
                    bad.add(name, entry)
                    continue
                known = (sealed, entry)
            opened[name] = known
        return opened

    def _open(self, name: bytes, sealed: bytes) -> KeyEntry | str:
        """Return an entry, or why it is bad."""
        if not sealed:
            return f"empty, or larger than {_MAX_SEALED:,} bytes"
        value = self._seal.unwrap(_sealed_as(name), sealed)
        if value is None:
            return "not sealed with this cache key"
        try:
            return parse_entry(value)
        except EntryRefused as error:
            return str(error)

    def _sealed(self, entry: KeyEntry) -> bytes:
        return self._seal.wrap(_sealed_as(entry.name.encode()), entry.as_json().encode())

    async def _reply(self, add: Callable[[Any], object]) -> Any:
        """Return the reply to the command that ``add`` adds; an exception: Redis rejects it."""

        async def run(client: Any) -> Any:
            pipe = client.pipeline(transaction=False)
            add(pipe)
            (reply,) = await pipe.execute(raise_on_error=False)
            return reply

        return await self._ask(run)

    async def _ask(self, request: Callable[[Any], Awaitable[Result]]) -> Result:
        try:
            with asking():
                async with asyncio.timeout(SECONDS):
                    if self._client is None:
                        self._client = connect_async(self._address)
                    return await request(self._client)
        except StoreUnusable as error:
            raise KeysUnreadable(str(error)) from None


class _BadEntries:
    """The number of bad entries, and the first ones by name."""

    def __init__(self) -> None:
        self.number = 0
        self._named: list[str] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _BadEntries) and self.message() == other.message()

    def add(self, name: bytes, reason: str) -> None:
        self.number += 1
        if len(self._named) < _NAMED:
            # escaped: the names are those of anyone who may write to Redis
            self._named.append(f"{ascii(name[:_NAME_CHARS])[2:-1]}: {reason}")

    def message(self) -> str:
        return f"Redis: {self.number:,} entries do not count, {'; '.join(self._named)}"


def _sealed_as(name: bytes) -> bytes:
    """Return the key of the MAC: other values of Redis never pass as an entry."""
    return b"keys/" + name


def _is_version(reply: Any) -> bool:
    """Whether a reply is a version; an empty one is missing."""
    if not isinstance(reply, bytes) or len(reply) > _VERSION_BYTES:
        return False
    return not reply or reply.removeprefix(b"-").isdigit()


def _reason(error: Exception) -> str:
    if "WRONGTYPE" in str(error):
        return "Redis: the keys are not a hash"
    # the type only: a message may quote data of the server
    return f"Redis failed ({type(error).__name__})"


def _scan(cursor: bytes | int, pipe: Any) -> None:
    pipe.eval(SCAN, 1, _KEYS, cursor, _AT_ONCE, _MAX_NAME, _MAX_SEALED)
