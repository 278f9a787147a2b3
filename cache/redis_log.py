"""A log of artifacts in Redis: entries, their popularity, and announcements to other replicas.

Representation   all names begin with "<namespace>:". An entry is a string, sealed (seal.py), with a
                 time to live. "hot/<group>" is a sorted set of the names in a group, the part of a
                 key before its last "/", by popularity (entries.py). "log" is a stream; a message
                 has the keys that one process wrote ("keys", separated by newlines) and the id of
                 that process ("by"). Stream and sorted sets are bounded in length, and live as long
                 as an entry after the last one was written.
Invariants       I1 a value is handed out only if it was sealed for this namespace, key and secret.
                 I2 announcements and popularity carry no seal: a false one costs a read.
                 I3 every failure of Redis or the network raises ``StoreUnusable``, whose message
                    contains no address and no data.
                 I4 a server that rejects writes, because it is full or read-only, is still read
                    and followed.
Cost             one round trip per call, two to publish; more for more than ``AT_ONCE`` entries.
Threads          any, but only one thread may use ``position`` and ``follow``. All calls may block
                 for as long as clients.py allows, so requests never make them.
Not here         which entries are shared, and when (engine.sharing.artifact_cache).
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from secrets import token_hex
from threading import Lock
from typing import Any, Final, TypeVar

from .address import RedisAddress
from .clients import SOCKET_SECONDS, StoreUnusable, asking, connect, is_refused
from .entries import AT_ONCE, MAX_KEY_BYTES, MAX_VALUE_BYTES, batches, place_of_use, weight
from .namespace import Namespace
from .seal import OVERHEAD, Seal

Result = TypeVar("Result")

#: approximate length of the stream; a replica that falls behind further misses announcements
LOG_MESSAGES: Final = 10_000
#: maximum messages per read, and keys per message
MESSAGES_AT_ONCE: Final = 100
MAX_KEYS: Final = 100
#: number of silent calls of ``follow`` after which the position is compared with the end of the
#: stream: a client may have written a large id, or deleted the stream
MAX_SILENT: Final = 240
#: maximum names of a group
MAX_NAMES: Final = 20_000

_COUNTERS: Final = (
    "read", "missing", "invalid", "read_bytes", "written", "refused", "written_bytes",
    "announced", "failures",
)  # fmt: skip


class RedisLog:
    """One replica's view of the log. Satisfies ``engine.ArtifactLog``.

    Args:
        address: the address of Redis; the first call connects.
        namespace: separates deployments that share one Redis; the MAC covers it.
        seal: seals and opens the values.
        ttl_s: time to live of unused entries, in seconds.

    Raises (every method that calls Redis):
        StoreUnusable: Redis cannot be reached, rejects a command, or sends an invalid reply.
    """

    def __init__(self, address: RedisAddress, *, namespace: str, seal: Seal, ttl_s: int) -> None:
        if ttl_s < 1:
            raise ValueError(f"ttl_s must be at least 1, got {ttl_s}")
        self._address = address
        self._prefix = namespace.encode() + b":"
        self._log = self._prefix + b"log"
        self._seal = seal
        self._ttl_s = ttl_s
        self._token = token_hex(8)
        self._at = b"0-0"
        self._silent = 0
        self._client: Any = None
        self._guard = Lock()
        self._counts = dict.fromkeys(_COUNTERS, 0)

    # -- following ---------------------------------------------------------------------------------
    def position(self) -> None:
        """Start following at the end of the stream."""
        self._at = self._ask(lambda client: _last_id(client.xrevrange(self._log, count=1)))

    def follow(self, seconds: float) -> list[bytes]:
        """Return the keys that other replicas announced since the last call. If there are none,
        wait up to ``seconds``, at most half of ``SOCKET_SECONDS``.
        """
        block = max(1, int(1000 * min(seconds, SOCKET_SECONDS / 2)))

        def read(client: Any) -> tuple[bytes, list[bytes]]:
            found = client.xread({self._log: self._at}, count=MESSAGES_AT_ONCE, block=block)
            return self._announced(found)

        at, keys = self._ask(read)
        self._silent = self._silent + 1 if at == self._at else 0
        self._at = at
        if self._silent == MAX_SILENT:
            self._silent = 0
            self._at = self._ask(partial(self._not_behind, at))
        self._count(announced=len(keys))
        return keys

    def _not_behind(self, at: bytes, client: Any) -> bytes:
        """A position, or the stream's end if that lies before it."""
        return min(at, _last_id(client.xrevrange(self._log, count=1)), key=_order)

    def _announced(self, reply: Any) -> tuple[bytes, list[bytes]]:
        """Return the last id of a reply, and the keys announced by other processes."""
        at, keys, me = self._at, [], self._me()
        for _, messages in reply or ():
            for number, fields in messages:
                at = number
                if fields[b"by"] != me:
                    keys += fields[b"keys"].split(b"\n")[:MAX_KEYS]
        if not isinstance(at, bytes):
            raise TypeError
        return at, [key for key in keys if 0 < len(key) <= MAX_KEY_BYTES]

    def _me(self) -> bytes:
        """Return the id of this process. A fork has its own id, so it also follows its parent."""
        return f"{self._token}-{os.getpid()}".encode()

    # -- reading -----------------------------------------------------------------------------------
    def hottest(self, prefix: bytes, most: int) -> list[bytes]:
        """Return keys that begin with ``prefix``, which ends with "/", the most popular first."""
        hot = place_of_use(self._prefix, prefix)[0]

        def read(client: Any) -> list[bytes]:
            names = client.zrevrange(hot, 0, most - 1)[:most]
            return [prefix + name for name in names if 0 < len(name) <= MAX_KEY_BYTES]

        return self._ask(read)

    def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values in order, ``None`` for a missing one and for an invalid seal."""
        values: list[bytes | None] = []
        for batch in batches(keys, AT_ONCE):
            values += self._ask(partial(self._read, batch))
        return values

    def _read(self, keys: Sequence[bytes], client: Any) -> list[bytes | None]:
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            # a longer value is truncated, so its seal is invalid
            pipeline.getrange(self._prefix + key, 0, MAX_VALUE_BYTES + OVERHEAD - 1)
        replies = pipeline.execute(raise_on_error=False)
        return [self._opened(key, reply) for key, reply in zip(keys, replies, strict=True)]

    def _opened(self, key: bytes, reply: Any) -> bytes | None:
        if is_refused(reply) or not isinstance(reply, bytes) or reply == b"":
            self._count(missing=1)
            return None
        value = self._seal.unwrap(self._prefix + key, reply)
        if value is None:
            self._count(invalid=1)
        else:
            self._count(read=1, read_bytes=len(value))
        return value

    # -- writing -----------------------------------------------------------------------------------
    def publish(self, entries: Sequence[tuple[bytes, bytes]]) -> int:
        """Write the entries and announce those that Redis accepted. Return their number: 0 if Redis
        is full or read-only.
        """
        taken = 0
        for batch in batches(entries, AT_ONCE):
            taken += self._ask(partial(self._publish, batch))
        return taken

    def _publish(self, entries: Sequence[tuple[bytes, bytes]], client: Any) -> int:
        pipeline = client.pipeline(transaction=False)
        fit = [
            (key, value)
            for key, value in entries
            if len(key) <= MAX_KEY_BYTES and len(value) <= MAX_VALUE_BYTES
        ]
        for key, value in fit:
            name = self._prefix + key
            pipeline.set(name, self._seal.wrap(name, value), ex=self._ttl_s)
        replies = pipeline.execute(raise_on_error=False)
        taken = [entry for entry, reply in zip(fit, replies, strict=True) if reply is True]
        self._count(
            written=len(taken),
            refused=len(entries) - len(taken),
            written_bytes=sum(len(value) for _, value in taken),
        )
        if taken:
            self._announce(client, [key for key, _ in taken])
        elif fit:
            # if the primary became a replica, its name may now resolve to another server
            self.close()
        for reply in replies:
            is_refused(reply)
        return len(taken)

    def _announce(self, client: Any, keys: Sequence[bytes]) -> None:
        pipeline = client.pipeline(transaction=False)
        now = weight()
        for key in keys:
            hot, name = place_of_use(self._prefix, key)
            pipeline.zincrby(hot, now, name)
        for hot in {place_of_use(self._prefix, key)[0] for key in keys}:
            pipeline.zremrangebyrank(hot, 0, -MAX_NAMES - 1)
            pipeline.expire(hot, self._ttl_s)
        message = {b"by": self._me(), b"keys": b"\n".join(keys)}
        pipeline.xadd(self._log, message, maxlen=LOG_MESSAGES, approximate=True)
        pipeline.expire(self._log, self._ttl_s)
        _check(pipeline)

    def used(self, keys: Sequence[bytes]) -> None:
        """Count one use of each existing entry, and renew its time to live."""

        def note(client: Any) -> None:
            pipeline = client.pipeline(transaction=False)
            now = weight()
            for key in keys:
                hot, name = place_of_use(self._prefix, key)
                # XX: existing names only
                pipeline.zadd(hot, {name: now}, xx=True, incr=True)
                pipeline.expire(hot, self._ttl_s)
                pipeline.expire(self._prefix + key, self._ttl_s)
            _check(pipeline)

        self._ask(note)

    # -- the client --------------------------------------------------------------------------------
    def _ask(self, call: Callable[[Any], Result]) -> Result:
        """Call Redis. After a failure, the next call makes new connections."""
        try:
            with asking():
                return call(self._connected())
        except StoreUnusable:
            self._count(failures=1)
            self.close()
            raise

    def _connected(self) -> Any:
        with self._guard:
            if self._client is None:
                self._client = connect(self._address)
            return self._client

    def namespace(self) -> Namespace:
        """Return the log's namespace, for operators."""
        return self._ask(lambda client: Namespace(client, self._prefix, self._seal))

    def stats(self) -> dict[str, int]:
        """Return the counters since startup."""
        with self._guard:
            return dict(self._counts)

    def _count(self, **amounts: int) -> None:
        with self._guard:
            for name, amount in amounts.items():
                self._counts[name] += amount

    def close(self) -> None:
        """Disconnect. A later call connects again."""
        with self._guard:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def _check(pipeline: Any) -> None:
    """Raise the server's errors, except for rejected hints."""
    for reply in pipeline.execute(raise_on_error=False):
        is_refused(reply)


def _last_id(reply: Any) -> bytes:
    """Return the id of the newest message in a reply of XREVRANGE."""
    number = reply[0][0] if reply else b"0-0"
    if not isinstance(number, bytes):
        raise TypeError
    return number


def _order(number: bytes) -> tuple[int, ...]:
    """By which the ids of a stream are ordered. Raises ValueError: it is none."""
    return tuple(int(part) for part in number.split(b"-"))
