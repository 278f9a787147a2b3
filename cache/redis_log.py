"""A log of artifacts in Redis: entries, their popularity, and announcements to other replicas.

Representation   all names begin with "<namespace>:". An entry is a string, sealed (seal.py), with a
                 time to live. "hot/<group>" is a sorted set of the names in a group, which is what
                 stands before the last "/" of a key, by popularity (popularity.py). "log" is a
                 stream, capped at ``LOG_MESSAGES``; a message names the keys that one replica wrote
                 ("keys", separated by newlines) and that replica ("by").
Invariants       I1 a value is handed out only if it was sealed for this namespace, key and secret.
                 I2 announcements and popularity carry no seal: a false one costs a reading.
                 I3 whatever Redis or the network does wrong is ``StoreUnusable``, whose text has
                    no address and nothing that was sent.
Cost             one round trip a call; two to publish.
Threads          any, but ``position`` and ``follow`` belong to one. All may block for
                 ``clients.SOCKET_SECONDS``: requests never call them.
Not here         which entries are shared, and when (engine.artifact_cache).
"""

from collections.abc import Callable, Sequence
from secrets import token_hex
from threading import Lock
from typing import Any, Final, TypeVar

from .address import RedisAddress
from .clients import SOCKET_SECONDS, connect
from .counters import Counters
from .namespace import Namespace
from .popularity import weight
from .seal import OVERHEAD, Seal
from .unusable import StoreUnusable

Result = TypeVar("Result")

#: bytes of a value: all masks of a large rule of a 200,000-token vocabulary take some hundred KB
MOST_VALUE_BYTES: Final = 1 << 20
#: bytes of a key without its namespace; ours are digests with a short prefix
MOST_KEY_BYTES: Final = 512
#: messages that the stream keeps, about: a replica that was away for longer loads popular entries
LOG_MESSAGES: Final = 10_000
#: messages of one reading, and keys of a message that are believed
MESSAGES_AT_ONCE, MOST_KEYS = 100, 1_000
#: names that a group keeps
MOST_NAMES: Final = 20_000


class RedisLog:
    """One replica's view of the log. Satisfies ``engine.ArtifactLog``.

    Args:
        address: of the Redis; nothing is connected yet.
        namespace: what separates deployments that share one Redis; part of what the MAC covers.
        seal: of the values.
        ttl_s: seconds after which an entry that no replica used is gone.

    Raises (every method that asks Redis):
        StoreUnusable: Redis can't be reached, refuses, or answers nonsense.
    """

    def __init__(self, address: RedisAddress, *, namespace: str, seal: Seal, ttl_s: int) -> None:
        if ttl_s < 1:
            raise ValueError(f"ttl_s must be at least 1, got {ttl_s}")
        self._address = address
        self._prefix = namespace.encode() + b":"
        self._log = self._prefix + b"log"
        self._seal = seal
        self._ttl_s = ttl_s
        self._me = token_hex(8).encode()
        self._at = b"0-0"
        self._client: Any = None
        self._guard = Lock()
        self._counts = Counters(
            "read", "missing", "invalid", "read_bytes", "written", "refused", "written_bytes",
            "announced", "failures",
        )  # fmt: skip

    # -- following ---------------------------------------------------------------------------------
    def position(self) -> None:
        """Begin to follow at the end of the stream."""
        self._at = self._ask(lambda client: _last_id(client.xrevrange(self._log, count=1)))

    def follow(self, seconds: float) -> list[bytes]:
        """The keys that other replicas announced since the last call; waits for one so long, at
        most half of ``SOCKET_SECONDS``.
        """
        block = max(1, int(1000 * min(seconds, SOCKET_SECONDS / 2)))

        def read(client: Any) -> tuple[bytes, list[bytes]]:
            found = client.xread({self._log: self._at}, count=MESSAGES_AT_ONCE, block=block)
            return self._announced(found)

        self._at, keys = self._ask(read)
        self._counts.add(announced=len(keys))
        return keys

    def _announced(self, reply: Any) -> tuple[bytes, list[bytes]]:
        """The last id of a reply, and the keys of others."""
        at, keys = self._at, []
        for _, messages in reply or ():
            for number, fields in messages:
                at = number
                if fields[b"by"] != self._me:
                    keys += fields[b"keys"].split(b"\n")[:MOST_KEYS]
        if not isinstance(at, bytes):
            raise TypeError
        return at, [key for key in keys if 0 < len(key) <= MOST_KEY_BYTES]

    # -- reading -----------------------------------------------------------------------------------
    def hottest(self, prefix: bytes, most: int) -> list[bytes]:
        """Keys that begin with ``prefix``, which ends with "/": the most popular first."""
        names = self._ask(lambda client: client.zrevrange(self._hot(prefix), 0, most - 1))
        return [prefix + name for name in names if 0 < len(name) <= MOST_KEY_BYTES]

    def read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values in order, ``None`` for each missing one and each not sealed for its key."""

        def read(client: Any) -> list[Any]:
            pipeline = client.pipeline(transaction=False)
            for key in keys:
                # a longer value is cut off, and its seal broken
                pipeline.getrange(self._prefix + key, 0, MOST_VALUE_BYTES + OVERHEAD - 1)
            found: list[Any] = pipeline.execute(raise_on_error=False)
            return found

        replies = self._ask(read)
        if len(replies) != len(keys):
            raise StoreUnusable("Redis left replies out")
        return [self._opened(key, reply) for key, reply in zip(keys, replies, strict=True)]

    def _opened(self, key: bytes, reply: Any) -> bytes | None:
        if isinstance(reply, Exception) and not str(reply).startswith("WRONGTYPE"):
            # not about this entry: loading, no permission, a moved slot
            raise self._failed(reply)
        if not isinstance(reply, bytes) or reply == b"":
            self._counts.add(missing=1)
            return None
        value = self._seal.unwrap(self._prefix + key, reply)
        if value is None:
            self._counts.add(invalid=1)
        else:
            self._counts.add(read=1, read_bytes=len(value))
        return value

    # -- writing -----------------------------------------------------------------------------------
    def publish(self, entries: Sequence[tuple[bytes, bytes]]) -> int:
        """Write the entries, and announce those that Redis took. Returns how many these are."""
        fits = [
            (key, value)
            for key, value in entries
            if len(key) <= MOST_KEY_BYTES and len(value) <= MOST_VALUE_BYTES
        ]
        if not fits:
            return 0

        def write(client: Any) -> list[Any]:
            pipeline = client.pipeline(transaction=False)
            for key, value in fits:
                name = self._prefix + key
                pipeline.set(name, self._seal.wrap(name, value), ex=self._ttl_s)
            found: list[Any] = pipeline.execute(raise_on_error=False)
            return found

        replies = self._ask(write)
        taken = [entry for entry, reply in zip(fits, replies, strict=False) if reply is True]
        self._counts.add(
            written=len(taken),
            refused=len(entries) - len(taken),
            written_bytes=sum(len(value) for _, value in taken),
        )
        if taken:
            self._ask(lambda client: self._announce(client, [key for key, _ in taken]))
        return len(taken)

    def _announce(self, client: Any, keys: Sequence[bytes]) -> None:
        pipeline = client.pipeline(transaction=False)
        now = weight()
        for key in keys:
            pipeline.zincrby(self._hot(key), now, key.rpartition(b"/")[2])
        for group in {self._hot(key) for key in keys}:
            pipeline.zremrangebyrank(group, 0, -MOST_NAMES - 1)
        message = {b"by": self._me, b"keys": b"\n".join(keys)}
        pipeline.xadd(self._log, message, maxlen=LOG_MESSAGES, approximate=True)
        _check_hints(pipeline.execute(raise_on_error=False))

    def used(self, keys: Sequence[bytes]) -> None:
        """Count one use of each entry that is in the log, and renew its time to live."""

        def note(client: Any) -> None:
            pipeline = client.pipeline(transaction=False)
            now = weight()
            for key in keys:
                # only names that are there already: XX
                name = key.rpartition(b"/")[2]
                pipeline.zadd(self._hot(key), {name: now}, xx=True, incr=True)
                pipeline.expire(self._prefix + key, self._ttl_s)
            _check_hints(pipeline.execute(raise_on_error=False))

        self._ask(note)

    def _hot(self, key: bytes) -> bytes:
        """The sorted set of a key's group."""
        return self._prefix + b"hot/" + key.rpartition(b"/")[0]

    # -- the client --------------------------------------------------------------------------------
    def _ask(self, call: Callable[[Any], Result]) -> Result:
        try:
            return call(self._connected())
        except StoreUnusable:
            raise
        except Exception as error:
            # also a reply of another shape, which raises anything
            raise self._failed(error) from None

    def _connected(self) -> Any:
        with self._guard:
            if self._client is None:
                self._client = connect(self._address)
            return self._client

    def _failed(self, error: Exception) -> StoreUnusable:
        """Drops the connections: the next call begins with new ones."""
        self._counts.add(failures=1)
        self.close()
        return StoreUnusable(f"Redis failed ({type(error).__name__})")

    def namespace(self) -> Namespace:
        """Everything in this log's namespace, for operators."""
        try:
            return Namespace(self._connected(), self._prefix, self._seal, MOST_VALUE_BYTES)
        except Exception as error:
            raise self._failed(error) from None

    def stats(self) -> dict[str, int]:
        """Counters since start."""
        return self._counts.snapshot()

    def close(self) -> None:
        """Disconnect. A later call connects again."""
        with self._guard:
            client, self._client = self._client, None
        if client is not None:
            client.close()


def _check_hints(replies: Sequence[Any]) -> None:
    """Raises what Redis refused, unless somebody put a value of another type in a hint's place."""
    for reply in replies:
        if isinstance(reply, Exception) and not str(reply).startswith("WRONGTYPE"):
            raise reply


def _last_id(reply: Any) -> bytes:
    """Of XREVRANGE: the id of the newest message."""
    number = reply[0][0] if reply else b"0-0"
    if not isinstance(number, bytes):
        raise TypeError
    return number
