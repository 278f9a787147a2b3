"""Who makes a value just now, so that others wait for it instead of making it too.

A lease is a hint and no lock. Whoever can't tell whether somebody else has one makes the value
himself: a fault costs work, and never an answer.

Representation   of one process's threads (``ThreadLeases``): a dict from key to thread and end.
                 In Redis (``RedisLeases``): one string per key, "<namespace>:lease/<key>", with a
                 time to live; sealed (seal.py), 16 random bytes that name the holding process, and
                 8 bytes, big-endian, milliseconds since 1970 when it runs out.
Invariants       I1 a lease runs out after the seconds that it was claimed for, at most
                    ``MOST_SECONDS``, whatever became of its holder.
                 I2 who holds a lease may claim it again; a thread then has it for longer.
                 I3 only a sealed lease that has not run out denies anything: who can write to Redis
                    and has not the key can't make others wait, nor with a lease that he kept. Where
                    clocks differ by more than a lease is long, it denies nothing.
                 I4 who gives back a lease that is not his does nothing.
Cost             one round trip for all keys of a claim; giving back is the write-behind thread's.
Threads          any; ``RedisLeases`` knows processes only, the memory in front tells threads apart.
Not here         what those do that were denied (the engine), time-outs and failures (redis_store).

Giving back is GET, compare, DEL and not a script: scripts want rights of their own and one slot of
a cluster. Between GET and DEL a lease may run out and be another's, who then is not alone; so may
he be for other reasons. It is queued behind the values of the same keys, so that whoever is granted
a lease next finds them.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from struct import Struct
from threading import Lock, get_ident
from time import monotonic, time
from typing import Any, Final

from .replies import is_of_another_type
from .seal import OVERHEAD, Seal

#: seconds that a lease may be claimed for; the costliest rule takes some seconds
MOST_SECONDS: Final = 60.0
#: leases of a process's threads at once; beyond these everybody may make everything
MOST_LEASES: Final = 10_000
#: what the names of leases begin with; no entry's key may
PREFIX: Final = b"lease/"

_BODY: Final = Struct(">16sQ")


class ThreadLeases:
    """Leases among the threads of this process."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._held: dict[bytes, tuple[int, float]] = {}

    def claim(self, keys: Sequence[bytes], seconds: float) -> list[bool]:
        """True for each key that this thread may make."""
        me, now = get_ident(), self._clock()
        with self._lock:
            return [self._claim(key, me, now, now + bounded(seconds)) for key in keys]

    def _claim(self, key: bytes, me: int, now: float, until: float) -> bool:
        holder, end = self._held.get(key, (me, now))
        if holder != me and now < end:
            return False
        if key not in self._held and len(self._held) >= MOST_LEASES:
            self._held = {key: held for key, held in self._held.items() if now < held[1]}
        if key in self._held or len(self._held) < MOST_LEASES:
            self._held[key] = (me, until)
        return True

    def release(self, keys: Iterable[bytes]) -> None:
        """Give back those that this thread has."""
        me = get_ident()
        with self._lock:
            for key in keys:
                if self._held.get(key, (None, 0.0))[0] == me:
                    del self._held[key]


class RedisLeases:
    """Leases among the processes of a namespace.

    Args:
        reader, writer: Redis clients; the writer is the write-behind thread's.
        prefix: what all names of the namespace begin with.
        refused: told how many commands of one round trip Redis refused.
    """

    def __init__(
        self,
        reader: Any,
        writer: Any,
        seal: Seal,
        prefix: bytes,
        refused: Callable[[int], None],
        clock: Callable[[], float] = time,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._seal = seal
        self._prefix = prefix + PREFIX
        self._refused = refused
        self._clock = clock
        self._process = Process()

    def claim(self, keys: Sequence[bytes], seconds: float) -> list[bool]:
        """One round trip; raises what the client raises.

        The second command of each key tells who has the lease, whatever came of the first.
        """
        milliseconds = int(1000 * bounded(seconds))
        pipeline = self._reader.pipeline(transaction=False)
        for key in keys:
            name = self._prefix + key
            pipeline.set(name, self._wrap(name, milliseconds), nx=True, px=milliseconds)
            pipeline.getrange(name, 0, OVERHEAD + _BODY.size)
        replies = self._replies(pipeline)
        return [
            self._holder(self._prefix + key, reply) in (None, self._process.name)
            for key, reply in zip(keys, replies[1::2], strict=True)
        ]

    def release(self, keys: Sequence[bytes]) -> None:
        """Give back those that this process has; two round trips, raises what the client raises."""
        pipeline = self._writer.pipeline(transaction=False)
        names = [self._prefix + key for key in keys]
        for name in names:
            pipeline.getrange(name, 0, OVERHEAD + _BODY.size)
        replies = self._replies(pipeline)
        pipeline = self._writer.pipeline(transaction=False)
        for name, reply in zip(names, replies, strict=True):
            if self._holder(name, reply) == self._process.name:
                pipeline.delete(name)
        self._replies(pipeline)

    def _replies(self, pipeline: Any) -> list[Any]:
        """Of one round trip. A value of another type in a lease's place was not refused."""
        replies: list[Any] = pipeline.execute(raise_on_error=False)
        failed = [reply for reply in replies if isinstance(reply, Exception)]
        self._refused(sum(not is_of_another_type(reply) for reply in failed))
        return replies

    def _wrap(self, name: bytes, milliseconds: int) -> bytes:
        until = int(1000 * self._clock()) + milliseconds
        return self._seal.wrap(name, _BODY.pack(self._process.name, until))

    def _holder(self, name: bytes, reply: object) -> bytes | None:
        """Whose lease a reply is, or None if it is none that has not run out."""
        body = self._seal.unwrap(name, reply) if isinstance(reply, bytes) else None
        if body is None or len(body) != _BODY.size:
            return None
        holder, until = _BODY.unpack(body)
        left = until - 1000 * self._clock()
        return holder if 0 < left <= 1000 * MOST_SECONDS else None


class Process:
    """A random name for this process; a fork has another."""

    def __init__(self) -> None:
        self._made = (0, b"")

    @property
    def name(self) -> bytes:
        """16 bytes."""
        if self._made[0] != os.getpid():
            self._made = (os.getpid(), os.urandom(16))
        return self._made[1]


def is_lease(key: bytes) -> bool:
    """Whether a name of a store's is that of a lease and not an entry's key."""
    return key.startswith(PREFIX)


def bounded(seconds: float) -> float:
    """The seconds of a lease: at least a millisecond, at most ``MOST_SECONDS``."""
    return min(max(seconds, 0.001), MOST_SECONDS)
